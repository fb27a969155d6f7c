"""The error tree and its statuses: one table, and what several come to."""

from __future__ import annotations

import inspect
import itertools
import pickle
import re

import pytest

from idemctl import errors
from idemctl.errors import ExitStatus, IdemctlError, worst

CLASSES = [
    one
    for _, one in inspect.getmembers(errors, inspect.isclass)
    if issubclass(one, IdemctlError) and one is not IdemctlError
]


def test_statuses_are_the_documented_numbers() -> None:
    assert {status.label: int(status) for status in ExitStatus} == {
        "ok": 0,
        "bug": 1,
        "usage": 2,
        "findings": 3,
        "partial": 4,
        "refused": 5,
        "declined": 6,
        "waiting": 7,
        "not recovered": 8,
        "unreachable": 10,
        "locked": 11,
        "denied": 12,
        "config": 78,
        "interrupted": 130,
        "terminated": 143,
    }


@pytest.mark.parametrize("status", ExitStatus)
def test_every_status_says_what_it_means_in_a_line(status: ExitStatus) -> None:
    assert re.fullmatch(r"[^\n]{4,72}", status.meaning)


def test_every_error_has_a_status_of_its_own_kind() -> None:
    assert {one.__name__: one.status.label for one in CLASSES} == {
        "ConfigError": "config",
        "Declined": "declined",
        "Denied": "denied",
        "Frozen": "refused",
        "Locked": "locked",
        "Refused": "refused",
        "Unreachable": "unreachable",
        "Unsupported": "refused",
        "UsageError": "usage",
    }


def test_the_tree_in_the_docstring_is_the_tree() -> None:
    drawn = dict(re.findall(r"── (\w+) +(\d+)", errors.__doc__ or ""))
    assert drawn == {one.__name__: str(int(one.status)) for one in CLASSES}


@pytest.mark.parametrize("kind", CLASSES)
def test_an_error_travels_to_another_process_whole(kind: type[IdemctlError]) -> None:
    back = pickle.loads(pickle.dumps(kind("what", hint="how")))  # noqa: S301 (our own bytes)
    assert (type(back), str(back), back.message, back.hint) == (kind, "what", "what", "how")


def test_of_several_statuses_the_first_of_the_order_counts() -> None:
    order = (1, 130, 143, 12, 10, 11, 78, 5, 8, 4, 3, 0)
    for first, second in itertools.combinations(order, 2):
        pair = [ExitStatus(second), ExitStatus(first)]
        assert worst(pair) == first
        assert worst(reversed(pair)) == first


def test_of_no_status_comes_ok() -> None:
    assert worst([]) is ExitStatus.OK
    assert worst([ExitStatus.DECLINED, ExitStatus.OK]) is ExitStatus.DECLINED

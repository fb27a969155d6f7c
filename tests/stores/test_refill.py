"""Refilling tells of everything that was written, however it ends."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

from idemctl.domain.differences import Terms
from idemctl.domain.sweeps import Suspects
from idemctl.errors import IdemctlError, Unreachable
from idemctl.layouts.transcript import Transcript
from idemctl.stores.answers import Held, Written
from idemctl.stores.clock import Clock
from idemctl.stores.pair import OpenPair
from tests.domain.batches import NOW, batch
from tests.run.twins import record

if TYPE_CHECKING:
    from collections.abc import Iterator


GONE = Unreachable("the backend is gone")
SILENT = Unreachable("no answer in time")


def held(*keys: bytes) -> Held:
    return Held(batch=batch(*map(record, keys)), values=[b"{}"] * len(keys), part="t")


@dataclass
class Rows:
    """A table that lets go of its rows with an error, at the second step or at the first."""

    lets_go_badly_at: int
    steps: list[Held] = field(default_factory=lambda: [held(b"a", b"b"), held(b"c")])

    def hold(self, *_: Any, **__: Any) -> Iterator[Held | None]:
        for number, step in enumerate(self.steps):
            yield step
            if number == self.lets_go_badly_at:
                raise GONE
            yield None

    @contextmanager
    def hold_keys(self, *_: Any) -> Iterator[Held]:
        yield self.steps[0]
        if self.lets_go_badly_at == 0:
            raise GONE


@dataclass
class Keyspace:
    """A keyspace that takes all that it is given; or falls silent over it."""

    is_silent: bool = False

    def fill(self, _: Any, values: list[bytes], *__: Any, **___: Any) -> Written:
        if self.is_silent and values:
            return Written(
                flags=np.zeros(len(values), np.bool_), failure=SILENT, unknown_count=len(values)
            )
        return Written(flags=np.ones(len(values), np.bool_))


def pair(rows: Rows, keyspace: Keyspace) -> OpenPair:
    return OpenPair(
        postgres=cast("Any", rows),
        redis=cast("Any", keyspace),
        terms=Terms(),
        clock=Clock(read_at=NOW),
    )


def walked(both: OpenPair) -> tuple[list[tuple[int, int]], IdemctlError | None]:
    """Walk; give what each step filled, and what may be filled, and how it ended."""
    steps = []
    walk = both.refill(Transcript())
    try:
        while True:
            step = next(walk)
            steps.append((step.filled, step.unknown))
    except StopIteration:
        return steps, None
    except IdemctlError as error:
        return steps, error


@pytest.mark.parametrize(("at", "filled"), [(0, [2]), (1, [2, 1]), (9, [2, 1])])
def test_what_was_written_before_an_error_is_told_before_it(at: int, filled: list[int]) -> None:
    steps, error = walked(pair(Rows(at), Keyspace()))
    assert steps == [(count, 0) for count in filled]
    assert error is (None if at == 9 else GONE)


def test_what_may_be_written_is_told_as_unknown() -> None:
    assert walked(pair(Rows(9), Keyspace(is_silent=True))) == ([(0, 2)], SILENT)


@pytest.mark.parametrize("at", [0, 9])
def test_filling_some_keys_tells_the_same(at: int) -> None:
    some = Suspects(
        keys=[b"a", b"b"], scopes=[b""] * 2, difference=np.ones(2, np.uint8),
        versions=np.zeros(2, np.uint64),
    )  # fmt: skip
    told = pair(Rows(at), Keyspace()).fill(Transcript(), some)
    assert (told.filled_count, told.held_count, told.unknown_count) == (2, 2, 0)
    assert told.failure is (None if at == 9 else GONE)
    told = pair(Rows(at), Keyspace(is_silent=True)).fill(Transcript(), some)
    assert (told.filled_count, told.unknown_count, told.failure) == (0, 2, SILENT)

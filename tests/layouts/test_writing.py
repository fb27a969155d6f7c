"""Twins made of rows: what was written, read back, is the row, and what the application writes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from idemctl.domain.instants import FOREVER, LONG_PAST, MISSING
from idemctl.domain.records import Flaw, Status
from idemctl.layouts.columns import missing
from idemctl.layouts.instants import Unit
from idemctl.layouts.reading import KeyspaceReader
from idemctl.layouts.transcript import FLAG_VALUE, Instant, Member, Transcript, Value, transcript
from idemctl.layouts.writing import written
from idemctl.sandbox.seed.payments import payments
from idemctl.sandbox.seed.writer import _name, _twin_value
from tests.domain.batches import at, batch
from tests.layouts.test_transcript import keyspace, table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from idemctl.domain.batch import Batch
    from idemctl.sandbox.seed.rows import Payment

REFERENCE = transcript(table(), keyspace())
PREFIX = keyspace().prefix.encode()
STATUSES = {"in_progress": 1, "completed": 2, "failed": 3}
TEXTS = ("scope", "endpoint", "client", "fingerprint", "response_body")
NUMBERS = ("fence", "epoch", "response_status")
INSTANTS = ("lease_until", "counted_from", "completed_at", "expires_at")
HOSTILE = [
    "",
    "'",
    '"',
    "\\",
    '\\"',
    "\\u0041",
    "\n\r\t\x01\x7f",
    "{}",
    '{"status":"failed"}',
    "%s %(key)s {0}",
    "</script>",
    "\u202e\ufeff\u2028\U0001f511",
    "null",
    "a:b",
    "x" * 100_000,
]


def columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Give the columns that a twin is made of, as they come out of Postgres."""
    names = {"idempotency_key": "key", "response_headers": "headers"}
    names |= {name: name for name in (*TEXTS, *NUMBERS)}
    return {column: [row.get(name) for row in rows] for column, name in names.items()}


def batch_of(rows: Sequence[Mapping[str, Any]]) -> Batch:
    """Give the same rows as a batch."""
    texts = {
        "keys": "key",
        "scopes": "scope",
        "endpoints": "endpoint",
        "fingerprints": "fingerprint",
    }
    return batch(
        *(
            {column: (row.get(name) or "").encode() for column, name in texts.items()}
            | {name: MISSING if row.get(name) is None else row[name] for name in NUMBERS}
            | {name: row.get(name, MISSING) for name in INSTANTS}
            | {"status": row.get("status", Status.COMPLETED)}
            for row in rows
        )
    )


def write(rows: Sequence[Mapping[str, Any]]) -> list[bytes]:
    return written(REFERENCE, batch_of(rows), columns(rows))


def read(rows: Sequence[Mapping[str, Any]], values: Sequence[bytes]) -> Batch:
    names = [f"{row['scope']}:{row['key']}" if row.get("scope") else row["key"] for row in rows]
    return KeyspaceReader(keyspace(), PREFIX).read(
        [PREFIX + name.encode() for name in names],
        list(values),
        missing(len(rows)),
        sizes=missing(len(rows)),
    )


written_down = st.sampled_from(HOSTILE[:-1]) | st.text(max_size=9)
texts = st.none() | written_down
instants = st.sampled_from([MISSING, FOREVER, LONG_PAST, 0, -1]) | st.integers(
    at(-(10**7)), at(10**7)
)
rows = st.fixed_dictionaries(
    {
        "key": written_down.filter(bool),
        "status": st.sampled_from([Status.IN_PROGRESS, Status.COMPLETED, Status.FAILED]),
        "fence": st.integers(MISSING + 1, FOREVER - 1),
        "epoch": st.integers(MISSING + 1, FOREVER - 1),
        "response_status": st.none() | st.integers(100, 599),
    }
    | dict.fromkeys(TEXTS, texts)
    | dict.fromkeys(INSTANTS, instants)
    | {"scope": written_down}  # NULLs are not unique, so no scope is one.
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(rows, max_size=5))
def test_what_was_written_is_read_back_as_the_record(some: list[dict[str, Any]]) -> None:
    values = write(some)
    ours, theirs = batch_of(some), read(some, values)
    for name in ("keys", "scopes", "endpoints", "fingerprints"):
        assert list(getattr(theirs, name)) == list(getattr(ours, name))
    for name in ("status", "fence", "epoch", "response_status"):
        assert getattr(theirs, name).tolist() == getattr(ours, name).tolist()
    for name in INSTANTS:
        # The twin's unit is the millisecond, and what is infinite has no number.
        micros = getattr(ours, name)
        rounded = -(-micros // 1000) if name == "lease_until" else micros // 1000
        kept = np.where((micros == MISSING) | (micros == FOREVER), MISSING, rounded * 1000)
        assert getattr(theirs, name).tolist() == kept.tolist()
    assert theirs.flaw.tolist() == [Flaw.NONE] * len(some)


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:20]))
def test_a_hostile_text_is_one_value_of_one_member(text: str) -> None:
    row = {"key": text or "k", **dict.fromkeys(TEXTS, text), "fence": 1, "epoch": 1}
    (value,) = write([row])
    document = msgspec.json.decode(value)
    assert set(document) == {member.name for member in REFERENCE.members}
    assert document["key"] == (text or "k")
    assert [document[name] for name in TEXTS] == [text] * len(TEXTS)
    assert document["status"] == "completed"
    # Said once, and not by the text: of two members of one name the last would win.
    assert value.count(b'"status":') == 1


def test_what_is_null_is_null_and_no_member_is_left_out() -> None:
    (value,) = write([{"key": "k", "scope": ""}])
    assert msgspec.json.decode(value) == dict.fromkeys(
        [member.name for member in REFERENCE.members]
    ) | {
        "key": "k",
        "scope": "",
        "status": "completed",
    }


@pytest.mark.parametrize(
    ("micros", "number", "lease"),
    [
        (MISSING, None, None),
        (FOREVER, None, None),
        (at(1), at(1) // 1000, at(1) // 1000),
        # An instant is rounded down, also before 1970; a lease up.
        (1_001, 1, 2),
        (1_999, 1, 2),
        (-1, -1, 0),
        (0, 0, 0),
        (LONG_PAST, LONG_PAST // 1000, LONG_PAST // 1000),
    ],
)
def test_an_instant_is_a_number_of_milliseconds(
    micros: int, number: int | None, lease: int | None
) -> None:
    (value,) = write([{"key": "k", **dict.fromkeys(INSTANTS, micros)}])
    document = msgspec.json.decode(value)
    names = ("created_at", "completed_at", "expires_at")
    assert [document[name] for name in names] == [number] * 3
    assert document["lease_until"] == lease


@pytest.mark.parametrize(
    ("unit", "number"),
    [
        (Unit.SECONDS, 7),
        (Unit.MILLISECONDS, 7_000),
        (Unit.MICROSECONDS, 7_000_999),
        (Unit.TICKS, 621_355_968_070_009_990),
    ],
)
def test_an_instant_is_written_in_the_twin_s_unit(unit: Unit, number: int) -> None:
    only = Transcript(members=(Member(name="at", source=Instant("expires_at", unit)),))
    assert written(only, batch({"expires_at": 7_000_999}), {}) == [b'{"at":%d}' % number]


def test_a_lease_in_seconds_is_never_shorter_than_the_row_s() -> None:
    lease = Member(name="at", source=Instant("lease_until", Unit.SECONDS))
    only = Transcript(members=(lease,))
    assert written(only, batch({"lease_until": 7_000_001}), {}) == [b'{"at":8}']


def test_json_of_the_row_is_json_in_the_twin() -> None:
    headers = msgspec.Raw('{"a": [1, null, "\\u00e9\\"\\\\"], "b": {"c": 1e2}}')
    (value,) = write([{"key": "k", "headers": headers}])
    assert msgspec.json.decode(value)["response_headers"] == {
        "a": [1, None, 'é"\\'],
        "b": {"c": 100.0},
    }


def test_a_status_is_said_in_the_twin_s_words_and_a_malformed_one_in_none() -> None:
    words = Transcript(
        members=(Member(name="s", source=None), Member(name="v", source=Value("v"))),
        words={Status.IN_PROGRESS: 0, Status.COMPLETED: True, Status.FAILED: "broken"},
    )
    order = [Status.FAILED, Status.IN_PROGRESS, Status.COMPLETED, Status.MALFORMED]
    some = batch(*({"status": status} for status in order))
    assert written(words, some, {"v": [1, 2, 3, 4]}) == [
        b'{"s":"broken","v":1}', b'{"s":0,"v":2}', b'{"s":true,"v":3}', b'{"s":null,"v":4}',
    ]  # fmt: skip


def test_a_flag_is_written_once_a_row() -> None:
    assert written(Transcript(), batch({}, {}, {}), {}) == [FLAG_VALUE] * 3
    assert written(Transcript(), batch(), {}) == []
    assert FLAG_VALUE == b"1"


def test_no_rows_make_no_twins() -> None:
    assert written(REFERENCE, batch(), {name: [] for name in REFERENCE.columns}) == []


# What the application writes.


def as_row(payment: Payment) -> dict[str, Any]:
    """Give a payment of the sandbox as its row says it."""
    values = payment._asdict()
    headers = values.pop("response_headers")
    instants = {
        "lease_until": values["lease_until"],
        "counted_from": values["created_at"],
        "completed_at": values["completed_at"],
        "expires_at": values["expires_at"],
    }
    return (
        values
        | {name: MISSING if at is None else at for name, at in instants.items()}
        | {
            "key": payment.idempotency_key,
            "status": STATUSES[payment.status],
            "headers": None if headers is None else msgspec.Raw(headers),
        }
    )


def test_a_twin_is_what_the_application_writes_member_by_member() -> None:
    now = at(0)
    (some,) = payments(2_000, seed=3, now=now)
    values = write([as_row(payment) for payment in some])
    for payment, value in zip(some, values, strict=True):
        assert msgspec.json.decode(value) == msgspec.json.decode(_twin_value(payment))
    # All that differs between payments was among them.
    assert {payment.status for payment in some} == set(STATUSES)
    assert {bool(payment.scope) for payment in some} == {True, False}


def test_a_twin_of_the_application_and_one_of_ours_read_alike() -> None:
    (some,) = payments(500, seed=4, now=at(0))
    rows = [as_row(payment) for payment in some]
    ours, theirs = read(rows, write(rows)), read(rows, [_twin_value(one) for one in some])
    for name in ours.__slots__:
        assert list(getattr(ours, name)) == list(getattr(theirs, name)), name
    assert [_name(one) for one in some] == [
        b":".join(filter(None, pair)) for pair in zip(ours.scopes, ours.keys, strict=True)
    ]


def test_a_member_may_have_any_name() -> None:
    names = ['"', "\\", "\n", "class", "lease-until", "zo\u00eb", ""]
    for some in (names, names[3:6]):
        members = tuple(Member(name=name, source=Value("key")) for name in some)
        (value,) = written(Transcript(members=members), batch({"keys": b"k"}), {"key": ["k"]})
        assert json.loads(value) == dict.fromkeys(some, "k")

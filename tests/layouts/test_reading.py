"""What a store returned, as columns."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from idemctl.domain.instants import FOREVER, MISSING, to_micros
from idemctl.domain.records import Flaw, Status
from idemctl.layouts.columns import as_bytes, missing
from idemctl.layouts.instants import At, Unit
from idemctl.layouts.model import RedisLayout
from idemctl.layouts.reading import KeyspaceReader
from idemctl.layouts.rows import RowReader
from tests.stores.worlds import CATALOGUE, LAYOUTS

if TYPE_CHECKING:
    from idemctl.domain.batch import Batch

AT = datetime(2026, 1, 1, 12, 0, 0, 1, tzinfo=UTC)


def keyspace(name: str) -> RedisLayout:
    layout = CATALOGUE[name].redis
    assert layout is not None
    return layout


def read(name: str, *pairs: tuple[bytes, bytes | Flaw], expiry: int = MISSING) -> Batch:
    layout = keyspace(name)
    keys = [layout.prefix.encode() + key for key, _ in pairs]
    return KeyspaceReader(layout, layout.prefix.encode()).read(
        keys,
        [value for _, value in pairs],
        np.full(len(pairs), expiry, np.int64),
        sizes=missing(len(pairs)),
    )


def value(**members: Any) -> bytes:
    return msgspec.json.encode({"status": "completed", **members})


@pytest.mark.parametrize(
    ("written", "unit", "micros"),
    [
        (None, Unit.SECONDS, MISSING),
        (1, Unit.SECONDS, 1_000_000),
        (1, Unit.MILLISECONDS, 1_000),
        (1, Unit.MICROSECONDS, 1),
        (0, Unit.SECONDS, 0),
        (-1, Unit.SECONDS, -1_000_000),
        (AT, Unit.SECONDS, to_micros(AT)),
        (AT, Unit.MICROSECONDS, to_micros(AT)),
        # What is no instant is never taken for one that is over.
        (True, Unit.SECONDS, MISSING),
        ("2026-01-01", Unit.SECONDS, MISSING),
        (1.5, Unit.SECONDS, 1_500_000),
        (1.0004, Unit.MILLISECONDS, 1_000),
        (float("nan"), Unit.SECONDS, MISSING),
        (float("inf"), Unit.SECONDS, MISSING),
        (1e300, Unit.SECONDS, FOREVER),
        ("7", Unit.SECONDS, 7_000_000),
        (b"-7", Unit.MILLISECONDS, -7_000),
        ("7.25", Unit.SECONDS, 7_250_000),
        ("7 ", Unit.SECONDS, MISSING),
        ("\u0667", Unit.SECONDS, MISSING),
        (621_355_968_000_000_010, Unit.TICKS, 1),
        (621_355_968_000_000_000, Unit.TICKS, 0),
        ("1970-01-01T00:00:01Z", Unit.ISO, 1_000_000),
        ("1970-01-01T01:00:01+01:00", Unit.ISO, 1_000_000),
        ("1970-01-01T00:00:01.5", Unit.ISO, 1_500_000),
        ("soon", Unit.ISO, MISSING),
        (1, Unit.ISO, MISSING),
        ([], Unit.SECONDS, MISSING),
        (10**30, Unit.SECONDS, FOREVER),
        (-(10**30), Unit.SECONDS, FOREVER),
        (2**63, Unit.MICROSECONDS, FOREVER),
    ],
)
def test_an_instant_is_read_in_its_unit(written: object, unit: Unit, micros: int) -> None:
    columns = RowReader(LAYOUTS["reference"], unit, "at").columns([{"at": written}, {}])
    assert columns.instants(At(field="at"), unit).tolist() == [micros, MISSING]
    # What is said of one instant goes before what is said of all.
    assert columns.instants(At(field="at", unit=unit), Unit.ISO).tolist() == [micros, MISSING]
    assert columns.instants(None, unit).tolist() == [MISSING, MISSING]


@pytest.mark.parametrize(
    ("written", "number"),
    [
        (0, 0),
        (7, 7),
        (-7, -7),
        (None, MISSING),
        (True, MISSING),
        ("7", MISSING),
        (1.0, MISSING),
        (2**70, MISSING),
    ],
)
def test_a_number_is_read_exactly_or_not_at_all(written: object, number: int) -> None:
    columns = RowReader(LAYOUTS["reference"], Unit.SECONDS).columns([{"fence": written}])
    assert columns.numbers("fence").tolist() == [number]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (None, b""),
        ("", b""),
        ("zo\u00eb", "zo\u00eb".encode()),
        ("\udcff", b"\xff"),
        (b"\x00\xff", b"\x00\xff"),
        (7, b"7"),
        (True, b"true"),
    ],
)
def test_a_text_is_read_as_bytes(written: object, expected: bytes) -> None:
    assert as_bytes(written) == expected


def test_a_table_s_row_becomes_a_record() -> None:
    row = {
        "idempotency_key": "k",
        "scope": "tenant",
        "endpoint": None,
        "status": "in_progress",
        "created_at": AT,
        "expires_at": None,
        "fence": 9,
    }
    reader = RowReader(LAYOUTS["reference"], Unit.MICROSECONDS)
    batch = reader.read(
        [row],
        keys=reader.texts([row], "idempotency_key"),
        scopes=reader.texts([row], "scope"),
        endpoints=reader.texts([row], "endpoint"),
        key_expires_at=missing(1),
        sizes=missing(1),
    )
    record = batch.record(0)
    assert (record.key, record.scope, record.status) == (b"k", b"tenant", Status.IN_PROGRESS)
    assert (record.created_at, record.expires_at, record.fence) == (AT, None, 9)
    assert (record.endpoint, record.epoch, record.lease_until) == (None, None, None)


def test_a_redis_record_is_read_from_key_and_value() -> None:
    batch = read(
        "reference",
        (b"k1", value(scope="", expires_at=2_000, created_at=1_000, fence=3)),
        (b"tenant:k:2", value(status="in_progress", scope="tenant", endpoint="POST /x")),
        expiry=5_000_000,
    )
    assert list(batch.keys) == [b"k1", b"k:2"]
    assert list(batch.scopes) == [b"", b"tenant"]
    assert list(batch.endpoints) == [b"", b"POST /x"]
    assert batch.status.tolist() == [Status.COMPLETED, Status.IN_PROGRESS]
    # What stores no expiry of its own was promised the key's.
    assert batch.expires_at.tolist() == [2_000_000, 5_000_000]
    assert batch.key_expires_at.tolist() == [5_000_000] * 2
    assert batch.fence.tolist() == [3, MISSING]


@pytest.mark.parametrize(
    "odd",
    [b"", b"{", b"1", b"[]", b"null", b'"completed"', b"\xff\xfe", b'{"status": "done"}',
     b'{"status": null}', b"{}", b'{"status": ["completed"]}', Flaw.OTHER_TYPE],
)  # fmt: skip
def test_a_value_that_is_no_record_is_malformed_and_keeps_its_key(odd: bytes | Flaw) -> None:
    batch = read("reference", (b"good", value()), (b"odd", odd))
    assert batch.status.tolist() == [Status.COMPLETED, Status.MALFORMED]
    assert list(batch.keys) == [b"good", b"odd"]


def test_a_key_that_fits_no_expression_is_malformed_and_shown_whole() -> None:
    batch = read("body-hash", (b"1700000000:" + b"a" * 64, b"1"), (b"not-a-hash", b"1"))
    assert batch.status.tolist() == [Status.UNKNOWN, Status.MALFORMED]
    assert list(batch.keys) == [b"a" * 64, b"not-a-hash"]
    assert list(batch.scopes) == [b"1700000000", b""]


def test_of_a_flag_only_presence_is_known_whatever_it_holds() -> None:
    batch = read("bare", (b"a", b"1"), (b"b", b""), (b"c", b"\x00\xff"), (b"d", Flaw.OTHER_TYPE))
    assert batch.status.tolist() == [Status.UNKNOWN] * 3 + [Status.MALFORMED]


def test_a_key_in_the_url_path_is_cut_out_with_its_endpoint() -> None:
    batch = read("url-path", (b"POST:/api/messages/idem-123", value(created_at=1)))
    assert list(batch.keys) == [b"123"]
    assert list(batch.endpoints) == [b"POST:/api/messages"]
    assert batch.status.tolist() == [Status.COMPLETED]


def test_nothing_becomes_an_empty_batch() -> None:
    assert len(read("reference")) == 0


@given(
    st.lists(
        st.tuples(st.binary(max_size=20), st.sampled_from(Flaw) | st.binary(max_size=40)),
        max_size=8,
    )
)
def test_no_key_and_no_value_of_a_stranger_is_an_error(
    pairs: list[tuple[bytes, bytes | Flaw]],
) -> None:
    for name in ("reference", "bare", "url-path", "body-hash"):
        batch = read(name, *pairs)
        assert len(batch) == len(pairs)
        for row in range(len(batch)):
            batch.record(row)


PLAIN = msgspec.json.encode(
    dict.fromkeys(
        (
            "key", "scope", "endpoint", "fingerprint", "lease_until", "fence", "epoch",
            "response_status", "created_at", "completed_at", "expires_at",
        )
    )
    | {"status": "completed"}
)  # fmt: skip
ODD = {
    "a number beyond all": PLAIN[:-1] + b', "x": 1e400}',
    "cut off": PLAIN[:-1],
    "a member less": value(),
}


@pytest.mark.parametrize("name", ODD)
def test_a_record_is_read_the_same_whatever_lies_beside_it(name: str) -> None:
    odd = (b"odd", ODD[name])
    alone = read("reference", odd)
    beside: list[list[bytes | Flaw]] = [[PLAIN] * 9, [b"[]"], [Flaw.TOO_LONG], [PLAIN, b"\xff"] * 5]
    for others in beside:
        pairs = [(b"k%d" % at, other) for at, other in enumerate(others)]
        among = read("reference", *pairs, odd, *pairs)
        assert among.record(len(pairs)) == alone.record(0)
        # And so are they.
        assert among.record(0) == read("reference", pairs[0]).record(0)


def test_an_endpoint_in_pieces_is_joined_and_missing_where_one_is() -> None:
    layout = RedisLayout.model_validate(
        {
            "pattern": "redis-setnx",
            "prefix": "p:",
            "key": "(?P<key>.+)",
            "codec": "json",
            "endpoint": {"join": ["method", ["request", "path"]]},
            "status": {"completed": "always"},
        }
    )
    values = [
        b'{"method": "POST", "request": {"path": "/v1/charges"}}',
        b'{"method": "POST"}',
        b'{"method": "", "request": {"path": "/x"}}',
    ]
    names = [b"p:%d" % at for at in range(3)]
    batch = KeyspaceReader(layout, b"p:").read(names, values, missing(3), sizes=missing(3))
    assert list(batch.endpoints) == [b"POST /v1/charges", b"", b""]

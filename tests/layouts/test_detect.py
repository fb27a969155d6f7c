"""Which layout writes so: claims on tables and keys, and what they come to."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from idemctl.bootstrap.layouts import preset, preset_files
from idemctl.domain.records import Flaw
from idemctl.layouts.containers import Container
from idemctl.layouts.detect import (
    SeenKey,
    SeenTable,
    claims_on_keys,
    claims_on_table,
    settled,
)
from tests.layouts.test_libraries import RECORDS, keyspace

if TYPE_CHECKING:
    from idemctl.layouts.detect import Settled

LAYOUTS = [preset(name) for name in sorted(preset_files())]
TOLD_BY_NAME = {"camel-redis-string", "laravel-algoyounes"}
"""One writes the key again, the other a lock of sixteen letters: what anybody may write."""


def seen(name: str, raw: str | bytes, value: Any, prefix: bytes | None = None) -> SeenKey:
    raw = raw.encode() if isinstance(raw, str) else raw
    before = keyspace(name).prefix.encode() if prefix is None else prefix
    return SeenKey(
        name=before + raw, kind="hash" if isinstance(value, dict) else "string", value=value
    )


def records_of(name: str, prefix: bytes | None = None) -> list[SeenKey]:
    return [seen(*record[:3], prefix=prefix) for record in RECORDS if record[0] == name]


def settle(keys: list[SeenKey]) -> list[Settled]:
    return settled(claims_on_keys(keys, LAYOUTS))


def told(one: Settled) -> tuple[bytes, str, dict[str, int]]:
    counts = {claim.layout.layout: count for claim, count in one.claims}
    return one.prefix, one.verdict.value, counts


ALONE = {one[0] for one in RECORDS if keyspace(one[0]).container is Container.KEY}


@pytest.mark.parametrize("name", sorted(ALONE - TOLD_BY_NAME))
def test_keys_of_a_library_are_told_by_what_they_hold(name: str) -> None:
    keys = records_of(name)
    expected = (keyspace(name).prefix.encode(), "found", {name: len(keys)})
    assert list(map(told, settle(keys))) == [expected]


@pytest.mark.parametrize("name", sorted(TOLD_BY_NAME))
def test_keys_that_anybody_may_have_written_are_nobody_s(name: str) -> None:
    assert settle(records_of(name)) == []


@pytest.mark.parametrize(
    ("name", "kind", "held", "layout"),
    [
        (b"idempotency-key-keys", "set", {"k": b"", "\udcff": b""}, "asgi-idempotency-header"),
        (b"MetaData", "hash", {"k": b"1764500000000"}, "spring-metadata"),
        (b"MetaData", "hash", Flaw.TOO_LONG, "spring-metadata"),
    ],
)
def test_a_key_that_holds_many_records_is_told_by_type_and_name(
    name: bytes, kind: str, held: Any, layout: str
) -> None:
    assert list(map(told, settle([SeenKey(name=name, kind=kind, value=held)]))) == [
        (name, "found", {layout: 1})
    ]
    assert settle([SeenKey(name=name, kind="list", value=Flaw.OTHER_TYPE)]) == []
    assert settle([SeenKey(name=name + b"2", kind=kind, value=held)]) == []


def test_what_a_cache_puts_before_a_prefix_belongs_to_it() -> None:
    keys = records_of("laravel-square1", prefix=b"app_database_app_cache_:idempotency:")
    [one] = settle(keys)
    assert told(one) == (
        b"app_database_app_cache_:idempotency:",
        "found",
        {"laravel-square1": len(keys)},
    )


def test_records_under_another_prefix_are_found_with_it() -> None:
    record = next(one for one in RECORDS if one[0] == "idemkit")
    letters = random.Random(7)
    keys = [
        seen("idemkit", letters.randbytes(32).hex(), record[2], prefix=b"shop:v2:")
        for _ in range(20)
    ]
    assert list(map(told, settle(keys))) == [(b"shop:v2:", "found", {"idemkit": 20})]


def test_libraries_that_share_a_prefix_are_counted_each() -> None:
    sharing = ("drf-idempotency", "idempot-js", "laravel-square1", "midaz")
    keys = [key for name in sharing for key in records_of(name)]
    counts = {name: len(records_of(name)) for name in sharing}
    assert list(map(told, settle(keys))) == [(b"idempotency:", "shared", counts)]


def test_two_layouts_that_read_the_same_records_are_ambiguous() -> None:
    twin = preset("idemkit").model_copy(update={"layout": "another"})
    [one] = settled(claims_on_keys(records_of("idemkit"), [*LAYOUTS, twin]))
    assert told(one) == (b"", "ambiguous", {"idemkit": 2, "another": 2})


@pytest.mark.parametrize(
    "value",
    [b"1", b"{}", b'{"user": 7, "cart": []}', b'{"status": "open", "a": 1, "b": 2}', b"\x80\x04N."],
)
def test_what_is_no_record_is_claimed_by_nobody(value: bytes) -> None:
    keys = [SeenKey(name=b"session:%d" % at, kind="string", value=value) for at in range(9)]
    assert settle(keys) == []


def test_a_name_alone_proves_nothing() -> None:
    for kind, value in (("string", b'{"sum": 7}'), ("hash", {"sum": b"7"}), ("list", b"")):
        keys = [SeenKey(name=b"idempotency:k-1", kind=kind, value=value)]
        assert settle(keys) == []
    orders = SeenTable(
        schema="public", name="idempotency_keys", columns={"id": "int8", "sum": "numeric"}
    )
    assert claims_on_table(orders, LAYOUTS, ()) == []


def test_a_table_of_orders_with_a_unique_key_is_no_store() -> None:
    columns = dict.fromkeys(("id", "customer", "total", "currency", "state"), "text")
    columns |= {"idempotency_key": "text", "created_at": "timestamptz"}
    unique = frozenset({frozenset({"idempotency_key"})})
    table = SeenTable(schema="public", name="orders", columns=columns, unique=unique)
    assert claims_on_table(table, LAYOUTS, ()) == []


def test_the_layout_that_knows_more_of_the_columns_is_preferred() -> None:
    names = ("id", "idempotency_key", "request_method", "request_path", "recovery_point")
    columns = dict.fromkeys(names, "text") | {"request_params": "jsonb", "response_body": "jsonb"}
    columns |= {"response_code": "int4"}
    columns |= dict.fromkeys(("created_at", "locked_at"), "timestamptz")
    medusa = SeenTable(schema="public", name="idempotency_key", columns=columns)
    assert [one.layout.layout for one in claims_on_table(medusa, LAYOUTS, ())] == ["medusa"]
    more = columns | {"user_id": "int8", "last_run_at": "timestamptz"}
    brandur = SeenTable(schema="public", name="anything", columns=more)
    [claim] = claims_on_table(brandur, LAYOUTS, ())
    assert (claim.layout.layout, claim.share, claim.has_its_name) == ("brandur", 1.0, False)


def test_a_column_of_another_type_is_another_one_s() -> None:
    columns = {"event_id": "text", "processed_at": "timestamptz"}
    fits = SeenTable(schema="s", name="processed_events", columns=columns)
    assert [one.layout.layout for one in claims_on_table(fits, LAYOUTS, ())] == ["processed-events"]
    naive = SeenTable(
        schema="s", name="processed_events", columns=columns | {"processed_at": "timestamp"}
    )
    assert claims_on_table(naive, LAYOUTS, ()) == []


def test_a_child_table_must_be_there() -> None:
    side = preset("workflow").postgres
    assert side is not None
    assert side.child is not None
    columns = dict.fromkeys(("run_id", "key", "status"), "text")
    columns |= dict.fromkeys(("created_at", "finished_at"), "timestamptz")
    runs = SeenTable(schema="public", name="workflow_runs", columns=columns)
    assert claims_on_table(runs, LAYOUTS, ()) == []
    [claim] = claims_on_table(runs, LAYOUTS, {side.child.table})
    assert claim.layout.layout == "workflow"

"""What the twins of held rows would hold, and holding the rows of given keys."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pytest
from psycopg.pq import TransactionStatus

from idemctl.domain.differences import Terms, expected_until
from idemctl.domain.records import Status
from idemctl.errors import Unsupported
from idemctl.layouts.transcript import Member, Transcript, Value
from idemctl.sandbox.seed import postgres as seed_postgres
from idemctl.sandbox.seed.payments import payments
from idemctl.sandbox.seed.writer import _twin_value
from idemctl.stores.answers import Written
from idemctl.stores.clock import Clock
from idemctl.stores.pair import OpenPair
from tests.domain.batches import NOW, at
from tests.run.twins import Side
from tests.stores.postgres.holding import (
    EVENTS,
    LONG_AGO,
    digest,
    first,
    held_keys,
    holding,
    is_free,
    locked_keys,
    reference,
    steps,
)
from tests.stores.postgres.tables import LONG, fill, mutated, names, open_table
from tests.stores.postgres.test_look_up import HOSTILE, NO_TEXT
from tests.stores.worlds import LAYOUTS

if TYPE_CHECKING:
    from idemctl.stores.answers import Wanted
    from tests.stores.postgres.tables import Session

BARE = LAYOUTS["bare"]
THAT_ROW = "WHERE idempotency_key = 'live-7'"


def by_key(dsn: str) -> dict[tuple[bytes, bytes], Any]:
    """Hold all rows, and give what their twins would say."""
    with holding(dsn) as held:
        return {
            (key, scope): msgspec.json.decode(value)
            for step in steps(held)
            for key, scope, value in zip(
                step.batch.keys, step.batch.scopes, step.values, strict=True
            )
        }


# What twins hold.


def test_a_twin_is_what_the_application_writes_member_by_member(
    database: str, application: Session
) -> None:
    (some,) = payments(3_000, seed=5, now=at(0))
    seed_postgres.copy_rows(application, seed_postgres.PAYMENTS, some)
    twins = by_key(database)
    assert len(twins) == 3_000
    for payment in some:
        name = (payment.idempotency_key.encode(), payment.scope.encode())
        assert twins[name] == msgspec.json.decode(_twin_value(payment))


def test_hostile_texts_are_values_and_nothing_more(database: str, application: Session) -> None:
    texts = [text.decode() for text in HOSTILE if text]
    with application.cursor() as cursor:
        cursor.executemany(
            f"INSERT INTO {EVENTS} (idempotency_key, scope, endpoint, client, response_headers,"
            " response_body, status, expires_at) VALUES"
            " (%(t)s, %(t)s, %(t)s, %(t)s, jsonb_build_object(%(t)s::text, %(t)s::text), %(t)s,"
            " 'completed', 'infinity')",
            [{"t": text} for text in texts],
        )
    twins = by_key(database)
    assert {key.decode() for key, _ in twins} == set(texts)
    for (key, scope), twin in twins.items():
        text = key.decode()
        assert scope == key
        assert {twin[name] for name in ("key", "scope", "endpoint", "client")} == {text}
        assert twin["response_body"] == text
        assert twin["response_headers"] == {text: text}
        assert (twin["status"], twin["expires_at"]) == ("completed", None)
        assert len(twin) == 15


KINDS = {
    "boolean": ("true", True),
    "smallint": ("7", 7),
    "bigint": ("9223372036854775807", 9223372036854775807),
    "numeric": ("1.50", 1.5),
    "double precision": ("'NaN'", "NaN"),
    "uuid": ("'00000000-0000-0000-0000-00000000000A'", "00000000-0000-0000-0000-00000000000a"),
    "char(4)": ("'a\"'", 'a"'),  # What it is padded with is no part of it.
    "varchar": ("'{}'", "{}"),
    "jsonb": ("""'{"a": [1, null, "\\u00e9\\""]}'""", {"a": [1, None, 'é"']}),
    "json": ("""' {"a" : "%s" } '""", {"a": "%s"}),
    "text[]": ("""ARRAY['a', NULL, '"']""", ["a", None, '"']),
    "date": ("'2026-11-29'", "2026-11-29"),
    "timestamptz": ("'infinity'", "infinity"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_column_is_written_as_json_writes_its_type_and_null_as_null(
    database: str, application: Session, schema: str, kind: str
) -> None:
    text, expected = KINDS[kind]
    table = f"{schema}.t"
    application.execute(
        f"CREATE TABLE {table} (idempotency_key text, created_at timestamptz, v {kind})"
    )
    application.execute(f"INSERT INTO {table} VALUES ('k', now(), {text}), ('j', now(), NULL)")
    twins = Transcript(
        members=(
            Member(name="k", source=Value("idempotency_key")),
            Member(name="v", source=Value("v")),
        )
    )
    with holding(database, table=table, layout=BARE, twins=twins) as held:
        values = [msgspec.json.decode(value) for value in first(held).values]
    assert values == [{"k": "k", "v": expected}, {"k": "j", "v": None}]


@pytest.mark.parametrize(("column", "kind"), [("v", "bytea"), ("gone", "no column")])
def test_what_json_cannot_hold_is_refused_by_name(
    database: str, application: Session, schema: str, column: str, kind: str
) -> None:
    application.execute(
        f"CREATE TABLE {schema}.t (idempotency_key text, created_at timestamptz, v bytea)"
    )
    twins = Transcript(members=(Member(name="m", source=Value(column)),))
    with (
        holding(database, table=f"{schema}.t", layout=BARE, twins=twins) as held,
        pytest.raises(Unsupported) as caught,
    ):
        next(held)
    assert caught.value.message == f"postgres {schema}.t: JSON cannot hold {column}: {kind}"


def test_a_flag_is_made_of_no_column(database: str, application: Session) -> None:
    application.execute("INSERT INTO seen_events SELECT 'k' || n FROM generate_series(1, 3) n")
    with holding(database, table="seen_events", layout=BARE, twins=Transcript()) as held:
        assert first(held).values == [b"1"] * 3


def test_what_is_held_says_all_that_is_asked_of_a_row(database: str, application: Session) -> None:
    application.execute(
        f"INSERT INTO {EVENTS} (idempotency_key, scope, endpoint, status, lease_until, created_at,"
        " completed_at, expires_at) VALUES"
        " ('claim', 's', 'POST /x', 'in_progress', %(t)s + '60 s'::interval, %(t)s, NULL,"
        "  %(t)s + '1000 s'::interval),"
        " ('done', '', 'POST /x', 'completed', NULL, %(t)s, %(t)s + '10 s'::interval, 'infinity')",
        {"t": NOW},
    )
    policies = {b"POST /x": LONG}
    stored = LAYOUTS["reference"]
    unstored = stored.model_copy(update={"expires": None})
    for layout, terms in (
        (stored, Terms()),
        (unstored, Terms(has_stored_expiry=False, policy_ttls=policies)),
    ):
        with closing(open_table(database, layout=layout)) as store:
            (scanned,) = store.scan()
            (held,) = steps(store.hold(reference(), written_after=LONG_AGO))
        assert held.batch.status.tolist() == [Status.IN_PROGRESS, Status.COMPLETED]
        until = expected_until(scanned, terms, NOW).tolist()
        assert expected_until(held.batch, terms, NOW).tolist() == until


# The rows of given keys.


def wanted(*keys: bytes) -> Wanted:
    return keys, [b""] * len(keys)


@pytest.fixture
def other(connection_to_database: Session, application: Session) -> Session:
    """Another session of an application with forty rows."""
    fill(application, expired=0, live=40)
    return connection_to_database


CHANGE = f"UPDATE {EVENTS} SET status = 'completed', response_status = 200 {THAT_ROW}"


def test_the_rows_of_given_keys_are_held_and_no_other(
    database: str, application: Session, other: Session
) -> None:
    before = digest(application)
    with closing(open_table(database)) as store:
        asked = wanted(b"live-7", b"nobody", b"live-3", *NO_TEXT, *HOSTILE)
        with store.hold_keys(reference(), asked) as held:
            assert held_keys(held) == {"live-7", "live-3"}
            assert locked_keys(other) == {"live-7", "live-3"}
            assert not is_free(other, CHANGE)
            assert not is_free(other, f"DELETE FROM {EVENTS} {THAT_ROW}")
            assert is_free(other, f"DELETE FROM {EVENTS} WHERE idempotency_key = 'live-8'")
            said = [msgspec.json.decode(value)["key"].encode() for value in held.values]
            assert said == list(held.batch.keys)
        assert locked_keys(other) == set()
        assert is_free(other, CHANGE)
    assert digest(application) == before


def test_without_the_lock_the_change_would_get_through(database: str, other: Session) -> None:
    with (
        mutated(("hold_keys", "FOR SHARE OF leaf SKIP LOCKED", "")),
        closing(open_table(database)) as store,
        store.hold_keys(reference(), wanted(b"live-7")) as held,
    ):
        assert held_keys(held) == {"live-7"}
        assert is_free(other, CHANGE)


def test_an_error_in_the_block_gives_the_rows_back(database: str, other: Session) -> None:
    with closing(open_table(database)) as store:
        with (
            pytest.raises(ZeroDivisionError),
            store.hold_keys(reference(), wanted(b"live-7")),
        ):
            raise ZeroDivisionError
        assert locked_keys(other) == set()
        assert store._connection.info.transaction_status is TransactionStatus.IDLE


def test_a_wanted_row_in_somebody_s_hands_is_left_out_and_not_waited_for(
    database: str, other: Session
) -> None:
    with other.transaction():
        other.execute(CHANGE.encode())
        with (
            closing(open_table(database)) as store,
            store.hold_keys(reference(), wanted(b"live-7", b"live-8")) as held,
        ):
            assert held_keys(held) == {"live-8"}


def test_the_row_as_it_was_committed_last_is_held(database: str, other: Session) -> None:
    with closing(open_table(database)) as store:
        other.execute(CHANGE.encode())
        with store.hold_keys(reference(), wanted(b"live-7")) as held:
            assert msgspec.json.decode(held.values[0])["response_status"] == 200


def test_a_thousand_wanted_rows_are_held_at_once(
    database: str, application: Session, connection_to_database: Session
) -> None:
    fill(application, expired=0, live=2000)
    keys = [b"live-%d" % number for number in range(1000)]
    with (
        closing(open_table(database)) as store,
        store.hold_keys(reference(), wanted(*keys)) as held,
    ):
        assert held_keys(held) == names("live", 1000)
        assert locked_keys(connection_to_database) == names("live", 1000)


# Between two steps.


class Filled(Side):
    def fill(self, wanted: Any, values: Any, until: Any, *, now: int) -> Written:
        return Written(flags=np.ones(len(values), np.bool_))


def test_rows_are_free_while_a_refill_rests(
    database: str, application: Session, connection_to_database: Session
) -> None:
    fill(application, expired=0, live=40)
    with closing(open_table(database)) as store:
        both: Any = OpenPair(
            postgres=store,
            redis=Filled(),  # type: ignore[arg-type]
            terms=Terms(redis_ttl=timedelta(days=1)),
            clock=Clock(read_at=store.clock()),
        )
        with closing(both.refill(reference())) as steps:
            for step in steps:
                assert step.filled == 40
                # Here `go_through` hears the step, and rests: up to five seconds.
                assert locked_keys(connection_to_database) == set()

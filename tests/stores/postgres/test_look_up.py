"""Finding the rows of given keys: exactly those, by the index, whatever the keys are."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from idemctl.errors import Unsupported
from tests.stores.postgres.tables import fill, make, open_table
from tests.stores.worlds import LAYOUTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from idemctl.stores.answers import Wanted
    from tests.stores.postgres.tables import Session

EVENTS = "public.processed_events"
BARE = LAYOUTS["bare"]
HOSTILE = [
    b"", b" ", b"'", b"''", b'"', b'""', b"\\", b"\\\\", b'\\"', b"\\'", b"\\x41", b"\\0",
    b"{", b"}", b"{}", b'{"a"}', b",", b'","', b"%", b"%s", b"%(key)s", b"%%", b"$1", b"{fields}",
    b"NULL", b"null", b"\n", b"\r\n", b"\t", b"\x01\x7f", b"--", b"/*", b";", b"E'", b"a:b",
    "zo\u00eb".encode(), "\u202e\U0001f511".encode(), b"k" * 2000,
]  # fmt: skip
NO_TEXT = [b"\xff", b"a\x00b", b"\x00", b"\xc3", b"\xed\xa0\x80", b"\xff\x00'\"\\"]


def asked(
    dsn: str, wanted: Iterable[Wanted], table: str = EVENTS, layout: Any = LAYOUTS["reference"]
) -> list[list[tuple[bytes, bytes, int]]]:
    """Give key, scope and place of what was found, in the order of the places."""
    with closing(open_table(dsn, table, layout, writable=False)) as store:
        return [
            sorted(
                zip(found.batch.keys, found.batch.scopes, found.at.tolist(), strict=True),
                key=lambda one: one[2],
            )
            for found in store.look_up(wanted)
        ]


def plain(keys: Sequence[bytes]) -> Wanted:
    return keys, [b""] * len(keys)


def insert(session: Session, table: str, keys: Iterable[bytes | str]) -> None:
    """Insert keys, bytes into a `bytea` and text into the rest."""
    with session.cursor() as cursor:
        cursor.executemany(
            f"INSERT INTO {table} (idempotency_key) VALUES (%s)", [(key,) for key in keys]
        )


@pytest.fixture
def keyed(application: Session, schema: str, request: pytest.FixtureRequest) -> str:
    """A bare table whose key is of the type asked for, and which holds all that this can."""
    kind = request.param
    table = f"{schema}.keyed"
    application.execute(f"CREATE DOMAIN {schema}.a_key AS text")
    application.execute(
        f"CREATE TABLE {table} (idempotency_key {kind.format(schema)} UNIQUE,"
        " created_at timestamptz DEFAULT now())"
    )
    if kind == "bytea":
        insert(application, table, HOSTILE + NO_TEXT)
    else:
        insert(application, table, [key.decode() for key in HOSTILE])
    return table


TEXTS = ["text", "varchar", "varchar(4000)", "{}.a_key"]


@pytest.mark.parametrize("keyed", [*TEXTS, "bytea"], indirect=True)
def test_any_key_is_found_and_nothing_else(database: str, keyed: str) -> None:
    among = [name for key in HOSTILE for name in (key, key + b"?")]
    (found,) = asked(database, [plain(among)], keyed, BARE)
    assert found == [(key, b"", 2 * at) for at, key in enumerate(HOSTILE)]


@pytest.mark.parametrize("keyed", TEXTS, indirect=True)
def test_what_is_no_text_is_not_found_and_hides_no_other(database: str, keyed: str) -> None:
    (found,) = asked(database, [plain([*NO_TEXT, b"%s", *NO_TEXT, b"a"[:0]])], keyed, BARE)
    assert found == [(b"%s", b"", len(NO_TEXT)), (b"", b"", 2 * len(NO_TEXT) + 1)]


@pytest.mark.parametrize("keyed", ["bytea"], indirect=True)
def test_any_bytes_are_found_where_the_key_is_bytea(database: str, keyed: str) -> None:
    (found,) = asked(database, [plain(NO_TEXT)], keyed, BARE)
    assert found == [(key, b"", at) for at, key in enumerate(NO_TEXT)]


@pytest.mark.parametrize(
    "kinds",
    [
        ("uuid", "uuid"),
        ("bigint", "int8"),
        ("char(8)", "bpchar"),
        ("name", "name"),
        ("numeric", "numeric"),
        ("text[]", "_text"),
    ],
)
@pytest.mark.parametrize("column", ["idempotency_key", "scope"])
def test_a_column_of_another_type_is_refused_by_name(
    database: str, application: Session, schema: str, kinds: tuple[str, str], column: str
) -> None:
    kind, name = kinds
    both = {"idempotency_key": "text", "scope": "text"} | {column: kind}
    columns = ", ".join(f"{one} {of}" for one, of in both.items())
    application.execute(f"CREATE TABLE {schema}.t ({columns}, created_at timestamptz)")
    layout = BARE.model_copy(update={"scope": "scope"})
    with pytest.raises(Unsupported) as caught:
        asked(database, [plain([b"k"])], f"{schema}.t", layout)
    assert caught.value.message == (
        f"postgres {schema}.t: {column} is {name}, and keys are looked up only in columns that "
        "are text or bytea"
    )
    assert caught.value.hint == "idemctl gc works without looking keys up"


def test_a_key_that_no_column_holds_is_refused(
    database: str, application: Session, schema: str
) -> None:
    application.execute(f"CREATE TABLE {schema}.t (k text, created_at timestamptz)")
    with pytest.raises(Unsupported, match="idempotency_key is missing, and keys are looked up"):
        asked(database, [plain([b"k"])], f"{schema}.t", BARE)


def test_a_column_that_takes_case_for_nothing_is_refused(
    database: str, application: Session, superuser_inside: Session, schema: str
) -> None:
    # To `citext` two keys are one; to Redis, and to every client, they are two.
    superuser_inside.execute(f"CREATE EXTENSION citext SCHEMA {schema}")
    application.execute(
        f"CREATE TABLE {schema}.t (idempotency_key {schema}.citext, created_at timestamptz)"
    )
    with pytest.raises(Unsupported, match="idempotency_key is citext, and keys are looked up"):
        asked(database, [plain([b"k"])], f"{schema}.t", BARE)


# Scopes, places, partitions.


def test_one_key_in_two_scopes_is_two_records(database: str, application: Session) -> None:
    application.execute(
        f"INSERT INTO {EVENTS} (idempotency_key, scope, status, expires_at)"
        " SELECT k, s, 'completed', now() FROM unnest(ARRAY['k', 'j']) k,"
        " unnest(ARRAY['', 'a', '{\"\\,%s']) s WHERE (k, s) <> ('j', 'a')"
    )
    odd = b'{"\\,%s'
    wanted = ([b"k", b"j", b"j", b"k", b"k", b"k"], [b"a", b"a", odd, b"", odd, b"\xff"])
    assert asked(database, [wanted]) == [
        [(b"k", b"a", 0), (b"j", odd, 2), (b"k", b"", 3), (b"k", odd, 4)]
    ]


def test_where_no_column_keeps_a_scope_no_row_has_one(database: str, application: Session) -> None:
    insert(application, "seen_events", ["k", "j"])
    wanted = ([b"k", b"k", b"j", b"\xff"], [b"", b"a", b"\xff", b""])
    assert asked(database, [wanted], "seen_events", BARE) == [[(b"k", b"", 0)]]


def test_a_key_asked_for_twice_is_found_at_both_places(database: str, application: Session) -> None:
    fill(application, expired=0, live=2)
    wanted = plain([b"live-1", b"live-0", b"nobody", b"live-1"])
    (found,) = asked(database, [wanted])
    assert found == [(b"live-1", b"", 0), (b"live-0", b"", 1), (b"live-1", b"", 3)]


def test_requests_are_answered_one_by_one_also_those_for_nothing(
    database: str, application: Session
) -> None:
    fill(application, expired=0, live=3)
    requests = [plain([b"live-0"]), plain([]), plain([b"nobody"]), plain([b"\xff"])]
    answers = asked(database, [*requests, plain([b"live-2", b"live-1"])])
    assert answers == [
        [(b"live-0", b"", 0)],
        [],
        [],
        [],
        [(b"live-2", b"", 0), (b"live-1", b"", 1)],
    ]


def test_rows_are_found_whichever_partition_or_heir_they_lie_in(
    database: str, application: Session, schema: str
) -> None:
    parts = f"{schema}.parts"
    make(application, parts, "PARTITION BY HASH (scope, idempotency_key)")
    for number in range(3):
        application.execute(
            f"CREATE TABLE {schema}.p{number} PARTITION OF {parts}"
            f" FOR VALUES WITH (MODULUS 3, REMAINDER {number})"
        )
    fill(application, parts, expired=30, live=0)
    heirs = f"{schema}.heirs"
    make(application, heirs)
    make(application, f"{schema}.heir", f"INHERITS ({heirs})")
    fill(application, heirs, expired=10, live=0)
    application.execute(f"INSERT INTO {schema}.heir SELECT * FROM {parts} OFFSET 0")
    application.execute(f"DELETE FROM ONLY {heirs}")
    keys = [b"expired-%d" % number for number in range(30)]
    for table in (parts, heirs):
        (found,) = asked(database, [plain(keys)], table)
        assert found == [(key, b"", at) for at, key in enumerate(keys)]


def test_what_is_found_is_what_a_scan_sees(database: str, application: Session) -> None:
    application.execute(
        f"INSERT INTO {EVENTS} (idempotency_key, scope, endpoint, fingerprint, status,"
        " lease_until, fence, epoch, response_status, created_at, completed_at, expires_at)"
        " SELECT 'k' || n, 's', 'POST /x', 'f' || n, (ARRAY['in_progress', 'failed', 'odd'])[n],"
        " '2026-01-01', n, 7, 200 + n, '-infinity', '2026-02-02', 'infinity'"
        " FROM generate_series(1, 3) n"
    )
    with closing(open_table(database, writable=False)) as store:
        (scanned,) = store.scan()
        (found,) = store.look_up([(scanned.keys, scanned.scopes)])
    assert sorted(found.at.tolist()) == [0, 1, 2]
    for name in scanned.__slots__:
        ours = [getattr(scanned, name)[at] for at in found.at.tolist()]
        assert list(getattr(found.batch, name)) == ours, name


many = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@many
@given(st.lists(st.binary(max_size=12), unique=True, max_size=12), st.data())
def test_any_bytes_are_found_at_their_places(
    database: str, application: Session, keys: list[bytes], data: st.DataObject
) -> None:
    application.execute("DROP TABLE IF EXISTS bytes_seen")
    application.execute(
        "CREATE TABLE bytes_seen (idempotency_key bytea UNIQUE, created_at timestamptz)"
    )
    kept = data.draw(st.lists(st.sampled_from(keys), unique=True)) if keys else []
    insert(application, "bytes_seen", kept)
    (found,) = asked(database, [plain(keys)], "bytes_seen", BARE)
    application.execute("DROP TABLE bytes_seen")
    assert found == [(key, b"", at) for at, key in enumerate(keys) if key in kept]


def test_a_row_without_a_scope_is_found_by_the_scope_that_a_scan_gives_it(
    database: str, application: Session, schema: str
) -> None:
    application.execute(
        f"CREATE TABLE {schema}.t (idempotency_key text, scope text,"
        " created_at timestamptz DEFAULT now(), UNIQUE (scope, idempotency_key));"
        f"INSERT INTO {schema}.t VALUES ('k', NULL)"
    )
    layout = BARE.model_copy(update={"scope": "scope"})
    with closing(open_table(database, f"{schema}.t", layout, writable=False)) as store:
        (batch,) = store.scan()
    assert (batch.keys, batch.scopes) == ((b"k",), (b"",))
    assert asked(database, [plain([b"k"])], f"{schema}.t", layout) == [[(b"k", b"", 0)]]

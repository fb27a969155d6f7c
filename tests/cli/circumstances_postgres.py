"""What can be wrong with a table, done to a real server; and what is as near to it, and is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg

from idemctl.bootstrap.layouts import preset_files
from tests.cli.circumstances import Case

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.pairs import Pairs

REFERRING = "CREATE TABLE charges (scope text, key text, FOREIGN KEY (scope, key) REFERENCES"
UNIQUE = "ALTER TABLE processed_events ADD CONSTRAINT processed_events_key UNIQUE"
NOT_UNIQUE = "ALTER TABLE processed_events DROP CONSTRAINT processed_events_key"
TWICE = (
    "INSERT INTO processed_events (scope, idempotency_key, endpoint, status, completed_at,"
    " expires_at) SELECT {scope}, idempotency_key, endpoint, status, completed_at, expires_at"
    " FROM processed_events ORDER BY ctid LIMIT 3"
)
OTHERS = TWICE.format(scope="'other'")


def run(*statements: str) -> Callable[[Pairs], object]:
    return lambda pairs: [pairs.connection.execute(one.encode()) for one in statements]


def failing(statement: str, *before: str) -> Callable[[Pairs], object]:
    """Run what is refused, and leaves something behind all the same."""

    def act(pairs: Pairs) -> None:
        run(*before)(pairs)
        try:
            run(statement)(pairs)
        except psycopg.errors.UniqueViolation:
            return
        raise AssertionError(statement)

    return act


def partitioned(by: str, unique: str, *partitions: str) -> Callable[[Pairs], object]:
    """Lay the table out anew, with its rows."""
    return run(
        "ALTER SEQUENCE processed_events_fence OWNED BY NONE",
        f"CREATE TABLE fresh (LIKE processed_events INCLUDING DEFAULTS) PARTITION BY {by}",
        f"ALTER TABLE fresh ADD UNIQUE ({unique})",
        *(
            f"CREATE TABLE part_{len(unique)}_{number} PARTITION OF fresh {values}"
            for number, values in enumerate(partitions)
        ),
        "INSERT INTO fresh SELECT * FROM processed_events",
        "DROP TABLE processed_events",
        "ALTER TABLE fresh RENAME TO processed_events",
    )


def unscoped(clients: str) -> Callable[[Pairs], object]:
    """Let keys alone keep requests apart, and rows be of such clients."""

    def act(pairs: Pairs) -> None:
        run(
            "CREATE UNIQUE INDEX IF NOT EXISTS alone ON processed_events (idempotency_key)",
            f"UPDATE processed_events SET client = {clients}",
        )(pairs)
        text = preset_files()["reference"].read_text("utf-8")
        (pairs.place.folder / "unscoped.yaml").write_text(text.replace("  scope: scope\n", "", 1))
        said = "DATABASE_URL, layout: reference"
        pairs.configure((said, "DATABASE_URL, layout: ./unscoped.yaml"))

    return act


def zoneless(pairs: Pairs) -> None:
    """Make the expiry a timestamp without time zone, and a layout say which it means."""
    run(
        "ALTER TABLE processed_events ALTER expires_at TYPE timestamp"
        " USING expires_at AT TIME ZONE 'UTC'"
    )(pairs)
    text = preset_files()["reference"].read_text("utf-8")
    zoned = text.replace("expires: expires_at", "expires: {field: expires_at, zone: UTC}", 1)
    (pairs.place.folder / "zoned.yaml").write_text(zoned, "utf-8")
    pairs.configure(("DATABASE_URL, layout: reference", "DATABASE_URL, layout: ./zoned.yaml"))


POSTGRES: tuple[Case[Pairs], ...] = (
    Case(
        code="clients-share-keys",
        near=unscoped("'shop'"),
        sick=unscoped("CASE WHEN client = 'shop' AND fence % 2 = 0 THEN 'app' ELSE 'shop' END"),
        count=2,
        says="2 clients, and nothing but idempotency_key keeps their requests apart",
    ),
    Case(
        code="identity-not-unique",
        near=run(
            "CREATE UNIQUE INDEX turned ON processed_events (idempotency_key, scope)"
            " INCLUDE (status)",
            NOT_UNIQUE,
        ),
        sick=run(
            "DROP INDEX turned",
            "CREATE UNIQUE INDEX wide ON processed_events (scope, idempotency_key, fence)",
            "CREATE UNIQUE INDEX parted ON processed_events (scope, idempotency_key)"
            " WHERE status = 'completed'",
            "CREATE UNIQUE INDEX lowered ON processed_events (scope, lower(idempotency_key))",
        ),
        says="public.processed_events: no unique index on (scope, idempotency_key); unique are "
        "lowered (scope, an expression), parted (scope, idempotency_key) WHERE ..., "
        "wide (scope, idempotency_key, fence)",
    ),
    Case(
        code="unique-index-invalid",
        near=failing(
            "CREATE UNIQUE INDEX CONCURRENTLY half ON processed_events (idempotency_key)", OTHERS
        ),
        sick=run(NOT_UNIQUE),
        says="INVALID: half (idempotency_key)",
    ),
    Case(
        code="unique-within-partitions",
        near=partitioned(
            "HASH (idempotency_key)",
            "scope, idempotency_key",
            "FOR VALUES WITH (MODULUS 2, REMAINDER 0)",
            "FOR VALUES WITH (MODULUS 2, REMAINDER 1)",
        ),
        sick=partitioned(
            "RANGE (created_at)",
            "scope, idempotency_key, created_at",
            "FOR VALUES FROM ('2020-01-01') TO ('2021-01-01')",
            "DEFAULT",
        ),
        count=2,
        says="partitioned by created_at, in 2 tables",
    ),
    Case(
        code="unique-lets-nulls-repeat",
        near=run(
            "ALTER TABLE processed_events ALTER scope DROP NOT NULL",
            NOT_UNIQUE,
            f"{UNIQUE} NULLS NOT DISTINCT (scope, idempotency_key)",
        ),
        sick=run(NOT_UNIQUE, f"{UNIQUE} (scope, idempotency_key)"),
        says="scope may be NULL, and processed_events_key (scope, idempotency_key) takes NULLs",
    ),
    Case(
        code="unique-ignores-case",
        near=run(
            "CREATE EXTENSION citext", "ALTER TABLE processed_events ALTER client TYPE citext"
        ),
        sick=run("ALTER TABLE processed_events ALTER idempotency_key TYPE citext"),
        says="idempotency_key is citext, in processed_events_key",
    ),
    Case(
        code="collation-outdated",
        near=run(
            "CREATE COLLATION latest (provider = builtin, locale = 'C.UTF-8')",
            "ALTER TABLE processed_events ALTER idempotency_key TYPE text COLLATE latest",
        ),
        sick=run(
            "CREATE COLLATION old (provider = builtin, locale = 'C.UTF-8', version = '0.9')",
            "ALTER TABLE processed_events ALTER idempotency_key TYPE text COLLATE old",
        ),
        says="the collation old was of version 0.9, and is 1 on this server",
    ),
    Case(
        code="identity-repeated",
        near=run(OTHERS),
        sick=run(NOT_UNIQUE, OTHERS),
        count=3,
        says="6 rows of 3 identities",
        beside=frozenset({"identity-not-unique"}),
    ),
    Case(
        code="table-unlogged",
        near=run("CREATE UNLOGGED TABLE others (LIKE processed_events)"),
        sick=run("ALTER TABLE processed_events SET UNLOGGED"),
        says="UNLOGGED: public.processed_events",
    ),
    Case(
        code="expiry-without-index",
        near=run("DROP INDEX processed_events_expires_at"),
        sick=run(
            "INSERT INTO processed_events (idempotency_key, status, completed_at, expires_at)"
            " SELECT 'more' || n, 'completed', now(), now() + interval '1 day'"
            " FROM generate_series(1, 8000) AS n",
            "ANALYZE processed_events",
        ),
        says="no index leads with expires_at: public.processed_events, about 1",
    ),
    Case(
        code="timestamp-without-zone",
        near=run("ALTER TABLE processed_events ADD noted_at timestamp"),
        sick=zoneless,
        says="expires_at, which the layout takes for UTC",
    ),
    Case(
        code="deletion-drags-rows",
        near=run(
            f"{REFERRING} processed_events (scope, idempotency_key))",
            "CREATE INDEX ON charges (scope, key)",
        ),
        sick=run(
            "ALTER TABLE charges DROP CONSTRAINT charges_scope_key_fkey, ADD FOREIGN KEY"
            " (scope, key) REFERENCES processed_events (scope, idempotency_key) ON DELETE CASCADE"
        ),
        says="public.charges (charges_scope_key_fkey, ON DELETE CASCADE)",
    ),
    Case(
        code="reference-without-index",
        near=run(
            f"{REFERRING} processed_events (scope, idempotency_key))",
            "CREATE INDEX by_both ON charges (scope, key)",
        ),
        sick=run("DROP INDEX by_both"),
        says="no index on public.charges (scope, key)",
    ),
    Case(
        code="delete-trigger",
        near=run(
            "CREATE FUNCTION noted() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN OLD; END'",
            "CREATE TRIGGER at_once AFTER DELETE ON processed_events"
            " FOR EACH STATEMENT EXECUTE FUNCTION noted()",
            "CREATE TRIGGER news BEFORE INSERT OR UPDATE ON processed_events"
            " FOR EACH ROW EXECUTE FUNCTION noted()",
            "CREATE TRIGGER notes AFTER DELETE ON processed_events"
            " FOR EACH ROW EXECUTE FUNCTION noted()",
            "ALTER TABLE processed_events DISABLE TRIGGER notes",
        ),
        sick=run("ALTER TABLE processed_events ENABLE TRIGGER notes"),
        says="for each row: notes",
    ),
)

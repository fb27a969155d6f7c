"""Ways to fail, and what is said of each."""

from __future__ import annotations

from dataclasses import dataclass

from idemctl.errors import ExitStatus
from tests.cli.places import PAYMENTS, POSTGRES_ONLY

CANARY = "c4n4ry-hunter2"
REDIS = "version: 1\nstores:\n  cache:\n    redis: {layout: reference}\n"
OURS = "postgresql://idemctl:{password}@127.0.0.1:{port}/{database}"


@dataclass(frozen=True, kw_only=True)
class Case:
    """A way to fail."""

    words: tuple[str, ...]
    status: ExitStatus
    says: str
    """The message, after the name of the command."""
    hint: str
    config: str = PAYMENTS
    dsn: str = OURS
    redis: str = "redis://:{redis_password}@127.0.0.1:{redis_port}/0"


CASES = {
    "postgres-down": Case(
        words=("gc",),
        dsn="postgresql://idemctl:" + CANARY + "@127.0.0.1:{closed}/x",
        status=ExitStatus.UNREACHABLE,
        says="postgres public.processed_events: cannot reach Postgres: connection refused",
        hint="check that the server runs and the host and port are right",
    ),
    "wrong-password": Case(
        words=("gc", "--apply"),
        dsn="postgresql://idemctl:" + CANARY + "@127.0.0.1:{port}/{database}",
        status=ExitStatus.DENIED,
        says="postgres public.processed_events: Postgres refused these credentials",
        hint="check user and password in the connection string, .pgpass or the service file",
    ),
    "unreadable-dsn": Case(
        words=("gc",),
        dsn="postgresql://idemctl:" + CANARY + "%zz@127.0.0.1/x",
        status=ExitStatus.CONFIG,
        says="postgres public.processed_events: the Postgres connection string cannot be read",
        hint="write postgresql://user@host:5432/database or key=value pairs",
    ),
    "no-such-table": Case(
        words=("gc", "--apply"),
        config=PAYMENTS.replace("public.processed_events", "public.processed_event"),
        status=ExitStatus.CONFIG,
        says="postgres public.processed_event: there is no table public.processed_event in this "
        "database",
        hint="check table and dsn_env of this store in idemctl.yaml; idemctl doctor shows where it "
        "looked",
    ),
    "no-such-database": Case(
        words=("gc",),
        dsn="postgresql://idemctl:{password}@127.0.0.1:{port}/nowhere",
        status=ExitStatus.CONFIG,
        says="postgres public.processed_events: the database in the connection string does not "
        "exist",
        hint="check the connection string, and that it points to the right server",
    ),
    "no-right-to-delete": Case(
        words=("gc", "--apply"),
        dsn="postgresql://{reader}:" + CANARY + "@127.0.0.1:{port}/{database}",
        status=ExitStatus.DENIED,
        says="postgres public.processed_events: {reader} lacks DELETE on public.processed_events",
        hint="GRANT DELETE ON public.processed_events TO {reader};",
    ),
    "variable-not-set": Case(
        words=("gc",),
        dsn="",
        status=ExitStatus.CONFIG,
        says="{config}:4:16: store 'payments' needs the environment variable DATABASE_URL, which "
        "is not set",
        hint="export DATABASE_URL=postgresql://host/database",
    ),
    "redis-down": Case(
        words=("gc",),
        config=REDIS,
        redis="redis://:" + CANARY + "@127.0.0.1:{closed}/0",
        status=ExitStatus.UNREACHABLE,
        says="redis idem:*: cannot reach Redis: connection refused",
        hint="check that the server runs and the URL is right; idemctl doctor tells more",
    ),
    "redis-wrong-password": Case(
        words=("doctor",),
        config=REDIS,
        redis="redis://:" + CANARY + "@127.0.0.1:{redis_port}/0",
        status=ExitStatus.DENIED,
        says="",
        hint="",
    ),
    "unknown-option": Case(
        words=("gc", "--aply"),
        status=ExitStatus.USAGE,
        says="No such option: --aply (Possible options: --apply)",
        hint="see idemctl gc --help",
    ),
    "unknown-command": Case(
        words=("harmonise",),
        status=ExitStatus.USAGE,
        says="No such command 'harmonise'.",
        hint="see idemctl --help",
    ),
    "unknown-command-of-a-group": Case(
        words=("store", "shwo"),
        status=ExitStatus.USAGE,
        says="No such command 'shwo'. Did you mean 'show'?",
        hint="see idemctl store --help",
    ),
    "superfluous-word": Case(
        words=("gc", "payments"),
        status=ExitStatus.USAGE,
        says="Got unexpected extra argument(s) (payments)",
        hint="see idemctl gc --help",
    ),
    "bad-duration": Case(
        words=("gc", "--max-duration", "5x"),
        status=ExitStatus.USAGE,
        says="Invalid value for '--max-duration' (env var: 'IDEMCTL_MAX_DURATION'): '5x' is not a "
        "duration; write whole numbers with their units, such as 90s, 24h, 7d or 1h30m",
        hint="see idemctl gc --help",
    ),
    "bad-number": Case(
        words=("gc", "--workers", "0"),
        status=ExitStatus.USAGE,
        says="Invalid value for '--workers' (env var: 'IDEMCTL_WORKERS'): Input should be greater "
        "than or equal to 1",
        hint="see idemctl gc --help",
    ),
    "unknown-store": Case(
        words=("gc", "--store", "payment"),
        status=ExitStatus.USAGE,
        says="no store is named 'payment' (--store)",
        hint="did you mean payments? known stores: payments",
    ),
    "several-stores": Case(
        words=("gc", "--apply"),
        config=POSTGRES_ONLY,
        status=ExitStatus.USAGE,
        says="several stores are configured, and this command changes what it works on",
        hint="name them: --store payments --store webhooks --store workflows --store outbox",
    ),
    "bad-yaml": Case(
        words=("gc",),
        config=PAYMENTS.replace("ttl: 7d", "ttl: [7d"),
        status=ExitStatus.CONFIG,
        says="{config}:6:1: ",
        hint="",
    ),
    "unknown-key": Case(
        words=("gc",),
        config=PAYMENTS.replace("ttl:", "tll:"),
        status=ExitStatus.CONFIG,
        says="{config}:5:5: ",
        hint="",
    ),
    "unknown-layout": Case(
        words=("gc",),
        config=PAYMENTS.replace("layout: reference", "layout: refrence"),
        status=ExitStatus.CONFIG,
        says="{config}:4:39: there is no layout refrence; did you mean reference?",
        hint="idemctl layout list shows them all; or write the path of a file",
    ),
}
# In doctor, what is wrong with a store is a line of the report.
IN_REPORT = {"redis-wrong-password"}

"""The roles that doctor --grants prints: enough for what they are for, and for nothing else."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import psycopg
import pytest
import redis

from idemctl.domain import witness
from idemctl.sandbox.configuration import CONFIGURATION
from idemctl.sandbox.seed import seed
from tests.stores.redis.servers import say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.places import Done, Place

PAYMENTS = ("--store", "payments")
WORD = "hunter2"
ROLES = ("idemctl_reading", "idemctl_gc", "idemctl_reconcile", "idemctl_store")
FREEZE = "idemctl:{payments}:freeze"
WITNESS = "idemctl:{payments}:witness"
OTHERS = {
    "~seen:*", "~path:*", "~body:*",
    *(f"~idemctl:{{{one}}}:*" for one in ("webhooks", "messages", "deliveries")),
}  # fmt: skip
"""Keys of stores that are not asked about."""


@dataclass(kw_only=True)
class Staff:
    """A sandbox in which the roles were made as a pipe makes them, and nobody else has rights."""

    place: Place
    dsn: str
    redis_url: str
    inside: psycopg.Connection[Any]
    """A superuser's."""
    client: redis.Redis
    sql: list[str]
    acl: list[str]
    has_witness: bool
    """Whether state.schema is configured."""
    stack: ExitStack

    def lead(self, role: str, *, in_redis: str | None = None) -> None:
        """Go on as one of the roles, in Redis as another if need be."""
        dsn, url = urlsplit(self.dsn), urlsplit(self.redis_url)
        self.place.lead(
            DATABASE_URL=dsn._replace(netloc=f"{role}:{WORD}@{dsn.hostname}:{dsn.port}").geturl(),
            REDIS_URL=url._replace(
                netloc=f"{in_redis or role}:{WORD}@{url.hostname}:{url.port}"
            ).geturl(),
        )

    def run(self, *words: str) -> Done:
        return self.place.main(*words, "-o", "json", "--pace", "full")

    def role(self) -> psycopg.Connection[Any]:
        """Connect as the role, past idemctl."""
        return self.stack.enter_context(
            psycopg.connect(self.place.environ["DATABASE_URL"], autocommit=True)
        )

    def user(self) -> redis.Redis:
        client = redis.Redis.from_url(self.place.environ["REDIS_URL"])
        self.stack.callback(client.close)
        return client

    def a_name(self) -> str:
        """Give the name of a record in Redis."""
        name: bytes = next(iter(say(self.client, "KEYS", "idem:*")))
        return name.decode()

    def doctor(self, role: str) -> int:
        return self.run("doctor", "--role", role, *PAYMENTS, "--store", "workflows").status

    def freezes(self, word: str) -> int:
        words = ("--for", "1h", "--reason", "a test") if word == "freeze" else ()
        return self.run("store", word, *words, "--apply", *PAYMENTS).status


@pytest.fixture(params=[True, False], ids=["schema", "no schema"])
def staff(
    request: pytest.FixtureRequest,
    place: Place,
    dsn: str,
    redis_url: str,
    admin: psycopg.Connection[Any],
) -> Iterator[Staff]:
    seed(dsn=dsn, redis_url=redis_url, records=500, seed=5, faults=False)
    line = "state: {schema: idemctl}\n"
    place.configure(CONFIGURATION if request.param else CONFIGURATION.replace(line, ""))
    place.lead(DATABASE_URL=dsn, REDIS_URL=redis_url)
    printed = place.main("doctor", "--grants")
    assert (printed.status, printed.err) == (0, "")
    first, _, rest = printed.out.partition("\\q\n")
    sql = [line for line in first.splitlines() if not line.startswith("--")]
    acl = [line for line in rest.splitlines() if line.startswith("ACL ")]
    # What everybody has by default helps nobody here.
    database = urlsplit(dsn).path[1:]
    admin.execute(f"REVOKE ALL ON DATABASE {database} FROM PUBLIC".encode())
    # Without tables of idemctl's own nothing is frozen in Postgres.
    roles = ROLES if request.param else ROLES[:-1]
    with ExitStack() as stack:
        inside = stack.enter_context(
            psycopg.connect(f"{admin.info.dsn} dbname={database}", password=admin.info.password,
                            autocommit=True)
        )  # fmt: skip
        client = stack.enter_context(redis.Redis.from_url(redis_url))
        inside.execute("REVOKE ALL ON SCHEMA public FROM PUBLIC")
        for statement in sql:
            inside.execute(statement.encode())
        for line in acl:
            say(client, *line.split())
        for role in roles:
            inside.execute(f"ALTER ROLE {role} PASSWORD '{WORD}'".encode())
        for user in ROLES:
            say(client, "ACL", "SETUSER", user, f">{WORD}")
        yield Staff(
            place=place, dsn=dsn, redis_url=redis_url, inside=inside, client=client, sql=sql,
            acl=acl, has_witness=request.param, stack=stack,
        )  # fmt: skip
        for user in ROLES:
            client.acl_deluser(user)
        for role in roles:
            inside.execute(f"DROP OWNED BY {role}; DROP ROLE {role}".encode())


def refuses(connection: psycopg.Connection[Any], *statements: str) -> None:
    for statement in statements:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(statement.encode())


def forbids(client: redis.Redis, *commands: str) -> None:
    for command in commands:
        with pytest.raises((redis.exceptions.NoPermissionError, redis.ResponseError)) as error:
            say(client, *command.split())
        assert "permission" in str(error.value), command


def test_printing_them_again_changes_nothing(staff: Staff) -> None:
    for statement in staff.sql:
        staff.inside.execute(statement.encode())
    for line in staff.acl:
        say(staff.client, *line.split())
    staff.lead("idemctl_reading")
    # The passwords are still there.
    assert staff.doctor("reading") == 0


@pytest.mark.usefixtures("durable")
def test_who_reads_reads_all_and_changes_nothing(staff: Staff) -> None:
    whole = staff.run("audit")
    looks = (("diagnose",), ("gc",), ("store", "show"), ("reconcile",))
    as_owner = {words: staff.run(*words).status for words in looks}
    staff.lead("idemctl_reading")
    for words, status in as_owner.items():
        done = staff.run(*words)
        assert (done.status, words) == (status, words), done.err
    audited = staff.run("audit")
    assert audited.status in {0, 3}, audited.err
    assert audited.summary["records"] == whole.summary["records"]
    codes = {item["code"] for item in audited.document["items"]}
    # What takes CONFIG cannot be judged, and nothing is found instead.
    assert codes <= {item["code"] for item in whole.document["items"]}
    assert staff.run("doctor", "--role", "reading").status == 0
    assert staff.run("layout", "check", "reference", "--live", *PAYMENTS).status == 0
    # The control: this is not all that there is to do.
    assert staff.run("doctor").status == 12
    assert staff.run("gc", "--apply", *PAYMENTS).status == 12

    refuses(
        staff.role(),
        "DELETE FROM processed_events",
        "UPDATE processed_events SET expires_at = now()",
        "INSERT INTO processed_events (idempotency_key) VALUES ('k')",
        "SELECT FROM processed_events FOR SHARE",
        "UPDATE idemctl_epoch SET epoch = 7" if staff.has_witness else "SELECT FROM idemctl_epoch",
        "SELECT nextval('processed_events_fence')",
        "INSERT INTO idemctl.idemctl_witness (store) VALUES ('payments')",
        "DELETE FROM idemctl.idemctl_freeze",
        "CREATE TABLE mine ()",
        "CREATE SCHEMA mine",
    )
    name = staff.a_name()
    staff.client.set("mine", "1")
    forbids(
        staff.user(), f"SET {name} x", f"DEL {name}", f"GETDEL {name}", f"PEXPIRE {name} 1",
        "GETRANGE mine 0 -1", "CONFIG GET requirepass", "EVAL return 0", "FLUSHALL", "KEYS *",
        "ACL LIST", "SELECT 1", "MEMORY DOCTOR", f"SET {FREEZE} x", f"DEL {FREEZE}",
    )  # fmt: skip
    # The control: the same user may do this.
    assert say(staff.user(), "GETRANGE", name, "0", "-1")
    staff.client.delete(*staff.client.keys("idem:*"))
    assert staff.run("reconcile", "--apply", "--yes", *PAYMENTS).status == 12
    assert staff.client.keys("idem:*") == []


def test_who_collects_collects_and_does_no_more(staff: Staff) -> None:
    staff.lead("idemctl_gc")
    assert staff.run("doctor", "--role", "gc").status == 0
    before = staff.inside.execute("SELECT count(*) FROM processed_events").fetchone()
    done = staff.run("gc", "--apply", *PAYMENTS, "--store", "workflows")
    assert (done.status, done.err) == (0, "")
    assert done.summary["deleted"] > 0
    after = staff.inside.execute("SELECT count(*) FROM processed_events").fetchone()
    assert before is not None
    assert after is not None
    assert after[0] < before[0]
    assert bool(staff.client.exists(WITNESS)) is staff.has_witness
    refuses(
        staff.role(),
        "DELETE FROM idemctl.idemctl_freeze",
        "UPDATE idemctl_epoch SET epoch = 7",
        "SELECT nextval('processed_events_fence')",
        "UPDATE processed_events SET response_body = ''",
        "UPDATE processed_events SET status = 'completed'",
        "UPDATE workflow_steps SET status = 'completed'",
        "INSERT INTO processed_events (idempotency_key) VALUES ('k')",
        "TRUNCATE processed_events",
        "CREATE TABLE mine ()",
    )
    name = staff.a_name()
    forbids(
        staff.user(), f"SET {name} x", f"DEL {name}", f"DEL {FREEZE}", "SET mine 1", "FLUSHALL",
        *([] if staff.has_witness else [f"GETRANGE {name} 0 -1", f"SET {FREEZE} x"]),
    )  # fmt: skip
    # Who is stopped by a freeze is not who ends it.
    assert staff.freezes("thaw") == 4


def test_who_collects_freezes_a_store_whose_postgres_went_back_in_time(staff: Staff) -> None:
    staff.lead("idemctl_gc")
    assert staff.run("gc", "--apply", *PAYMENTS).status == 0
    if not staff.has_witness:
        assert not staff.client.exists(WITNESS)
        return
    # Redis tells of beats, and of records, of which Postgres knows nothing.
    ahead = witness.decoded(say(staff.client, "GET", WITNESS))
    staff.client.set(WITNESS, replace(ahead, beats=ahead.beats + 9).encoded())
    staff.inside.execute("DELETE FROM processed_events WHERE completed_at IS NOT NULL")
    done = staff.run("gc", "--apply", *PAYMENTS)
    assert done.status == 5, done.err
    assert "by two signs); the store is frozen now" in done.err
    assert "but for" not in done.err
    assert staff.client.exists(FREEZE)
    assert staff.inside.execute("SELECT count(*) FROM idemctl.idemctl_freeze").fetchone() == (1,)


def test_who_rules_a_store_stops_and_restarts_the_others_and_does_no_more(staff: Staff) -> None:
    staff.lead("idemctl_gc")
    assert staff.run("gc", "--apply", *PAYMENTS).status == 0
    # Where Postgres has no such role, nobody goes there.
    staff.lead("idemctl_store")
    assert staff.run("doctor", "--role", "store", *PAYMENTS).status == 0
    assert staff.freezes("freeze") == 0
    assert staff.client.exists(FREEZE)
    assert staff.freezes("thaw") == 0
    assert not staff.client.exists(FREEZE)
    accept = staff.run("store", "accept", "--apply", "--confirm", "payments", *PAYMENTS)
    beat = staff.run("store", "beat", "--apply", *PAYMENTS)
    assert [accept.status, beat.status] == ([0, 0] if staff.has_witness else [78, 78]), accept.err
    name = staff.a_name()
    forbids(
        staff.user(), f"SET {name} x", f"DEL {name}", f"DEL {FREEZE}", "SET mine 1", "FLUSHALL",
        *([] if staff.has_witness else [f"GETRANGE {name} 0 -1", "EVAL return 0"]),
    )  # fmt: skip
    if staff.has_witness:
        assert staff.inside.execute("SELECT epoch FROM idemctl_epoch").fetchone() == (2,)
        refuses(
            staff.role(),
            "DELETE FROM processed_events",
            "UPDATE processed_events SET expires_at = now()",
            "DELETE FROM idemctl.idemctl_witness",
            "INSERT INTO idemctl_epoch DEFAULT VALUES",
            "CREATE TABLE mine ()",
        )


def test_who_reconciles_fills_and_does_no_more(staff: Staff) -> None:
    names = staff.client.keys("idem:*")
    staff.lead("idemctl_reconcile")
    assert staff.run("doctor", "--role", "reconcile").status == 0
    staff.client.delete(*names)
    done = staff.run("reconcile", "--apply", "--yes", *PAYMENTS)
    assert done.status == 0, done.out
    assert done.summary["applied"] > 0
    assert len(staff.client.keys("idem:*")) == done.summary["applied"]
    refuses(
        staff.role(),
        "DELETE FROM processed_events",
        "DELETE FROM idemctl.idemctl_freeze",
        "UPDATE idemctl_epoch SET epoch = 7",
        "UPDATE processed_events SET response_body = ''",
        "INSERT INTO processed_events (idempotency_key) VALUES ('k')",
        # It is no pair.
        "SELECT FROM workflow_runs",
    )
    name = staff.a_name()
    forbids(
        staff.user(), f"DEL {name}", f"PEXPIRE {name} 1", "SET mine 1", "SET path:x 1",
        "FLUSHALL", "CONFIG GET requirepass",
    )  # fmt: skip
    with pytest.raises(redis.ResponseError, match=r"permission|can't run this command"):
        staff.user().eval("return redis.call('DEL', KEYS[1])", 1, name)


@pytest.mark.parametrize("role", ["reading", "gc", "reconcile", "store"])
def test_without_any_one_line_of_a_role_in_postgres_doctor_complains(
    staff: Staff, role: str
) -> None:
    name = f"idemctl_{role}"
    staff.lead(name)
    mine = [line for line in staff.sql if line.endswith(f" TO {name};")]
    mine = [line for line in mine if "seen_events" not in line and "outbox" not in line]
    counts = {"reading": (5, 10), "gc": (11, 20), "reconcile": (4, 13), "store": (0, 17)}
    assert len(mine) == counts[role][staff.has_witness]
    if not mine:
        return
    # The control: with all of them it does not.
    assert staff.doctor(role) == 0
    for line in mine:
        revoked = line.replace("GRANT ", "REVOKE ", 1).replace(f" TO {name};", f" FROM {name};")
        staff.inside.execute(revoked.encode())
        # A closed database refuses whoever comes.
        assert staff.doctor(role) in ({12} if " DATABASE " not in line else {10, 12}), line
        staff.inside.execute(line.encode())
    assert staff.doctor(role) == 0


@pytest.mark.parametrize("role", ["reading", "gc", "reconcile", "store"])
def test_without_any_one_word_of_a_role_in_redis_doctor_complains(staff: Staff, role: str) -> None:
    # Where Postgres has no such role, nobody goes there.
    staff.lead(f"idemctl_{role}")
    [line] = [one for one in staff.acl if f" idemctl_{role} " in one]
    words = line.split()
    needed = [word for word in words if word[0] in "+~%" and word.removeprefix("%R") not in OTHERS]
    assert len(needed) >= (8 if staff.has_witness else 4)
    for word in needed:
        say(staff.client, *(one for one in words if one != word))
        assert staff.doctor(role) == 12, word
    say(staff.client, *words)
    assert staff.doctor(role) == 0

"""audit at the command line, held to the manifest of what was planted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import psycopg
import pytest
import redis

from idemctl.sandbox.configuration import CONFIGURATION
from idemctl.sandbox.seed import seed

if TYPE_CHECKING:
    from idemctl.sandbox.seed import Manifest, PlantedFault, PlantedKey
    from tests.cli.places import Done, Place

FULL = ("--pace", "full", "-o", "json")
NOBODY = "postgresql://idemctl:hunter2@127.0.0.1:1/none"


class Sandboxed:
    """A place that leads to a sandbox with all six patterns."""

    def __init__(self, place: Place, dsn: str, redis_url: str) -> None:
        self.place, self.dsn, self.redis_url = place, dsn, redis_url
        place.configure(CONFIGURATION)
        place.lead(DATABASE_URL=dsn, REDIS_URL=redis_url)

    def seed(self, *, records: int = 2_000, number: int = 3, faults: bool = True) -> Manifest:
        return seed(
            dsn=self.dsn, redis_url=self.redis_url, records=records, seed=number, faults=faults
        )

    def audit(self, *words: str) -> Done:
        return self.place.main("audit", *FULL, *words)


pytestmark = pytest.mark.usefixtures("durable")


@pytest.fixture
def stores(place: Place, dsn: str, redis_url: str) -> Sandboxed:
    return Sandboxed(place, dsn, redis_url)


def found(done: Done) -> dict[tuple[str, str, str], int]:
    items = done.document["items"]
    counts = {(one["code"], one["store"], one["side"]): one["count"] for one in items}
    assert len(counts) == len(items)
    return counts


def planted(manifest: Manifest) -> dict[tuple[str, str, str], int]:
    return {(one.code, one.store, one.side): one.count for one in manifest.faults}


@pytest.mark.parametrize(("records", "number"), [(300, 1), (2_000, 2), (5_000, 3), (15_000, 4)])
def test_audit_names_exactly_what_was_planted(stores: Sandboxed, records: int, number: int) -> None:
    manifest = stores.seed(records=records, number=number)
    done = stores.audit()
    assert (done.status, done.document["errors"]) == (3, [])
    assert len(manifest.faults) == 32
    assert found(done) == planted(manifest)


@pytest.mark.parametrize(("records", "number"), [(300, 1), (15_000, 4)])
def test_a_healthy_sandbox_has_no_findings(stores: Sandboxed, records: int, number: int) -> None:
    stores.seed(records=records, number=number, faults=False)
    done = stores.audit()
    assert (done.status, done.document["items"], done.document["errors"]) == (0, [], [])


def test_a_check_without_its_margin_cries_on_healthy_records(stores: Sandboxed) -> None:
    stores.seed(faults=False)
    done = stores.audit("--backlog-after", "1h")
    assert done.status == 3
    assert {code for code, _, _ in found(done)} == {"expired-backlog"}
    assert len(found(done)) == 4


def test_one_record_more_is_one_finding_more(stores: Sandboxed) -> None:
    manifest = stores.seed()
    with psycopg.connect(stores.dsn, autocommit=True) as connection:
        connection.execute(
            "UPDATE processed_events SET fingerprint = NULL WHERE ctid = (SELECT min(ctid)"
            " FROM processed_events WHERE status = 'completed' AND fingerprint IS NOT NULL"
            " AND expires_at > now() AND created_at < now() - interval '3 days')"
        )
    code = ("fingerprint-missing", "payments", "postgres")
    assert found(stores.audit()) == planted(manifest) | {code: planted(manifest)[code] + 1}


def test_credentials_in_headers_are_counted_and_none_is_shown(stores: Sandboxed) -> None:
    stores.seed(records=300, faults=False)
    with psycopg.connect(stores.dsn, autocommit=True) as connection:
        connection.execute(
            """UPDATE processed_events SET response_headers = '{"Set-Cookie": "sid=hunter2"}'"""
            " WHERE ctid IN (SELECT ctid FROM processed_events"
            " WHERE status = 'completed' AND expires_at > now() LIMIT 3)"
        )
    done = stores.audit()
    assert found(done) == {("credentials-stored", "payments", "postgres"): 3}
    (item,) = done.document["items"]
    assert item["evidence"].endswith(" records that were looked at: set-cookie in 3")
    assert len(item["sample"]) == 3
    assert "hunter2" not in done.out + done.err


def shown(fault: PlantedFault, key: PlantedKey) -> tuple[str, str]:
    """Key and scope of a planted key, as the layout of its store takes it apart."""
    match fault.store:
        case "deliveries":
            window, _, digest = key.key.partition(":")
            return digest, window
        case "messages":
            return key.key.rpartition("/idem-")[2], ""
    return key.key, "" if fault.code == "key-on-two-endpoints" else key.scope


def test_the_keys_of_a_finding_are_keys_that_were_planted(stores: Sandboxed) -> None:
    manifest = stores.seed(records=12_000)
    keys = {
        (fault.code, fault.side): {shown(fault, key) for key in fault.sample}
        for fault in manifest.faults
    }
    for item in stores.audit().document["items"]:
        sample = [(one["key"], one.get("scope", "")) for one in item["sample"]]
        assert len(sample) == min(5, item["count"])
        assert set(sample) <= keys[item["code"], item["side"]], item["code"]


def test_an_item_is_whole_and_a_key_that_is_not_text_comes_exactly(stores: Sandboxed) -> None:
    stores.seed()
    items = stores.audit().document["items"]
    for item in items:
        assert list(item) == [
            "code", "severity", "store", "side", "pattern", "place", "count", "share",
            "sample", "evidence", "why", "next", "accepted",
        ]  # fmt: skip
        assert item["next"].startswith("idemctl ")
        assert item["evidence"]
        assert item["why"]
    (odd,) = (item for item in items if item["code"] == "key-not-text")
    assert odd["sample"][0]["key"].startswith("\\xff\\xfe\\x1b]0;x\\x07")
    assert odd["sample"][0]["key_base64"].startswith("//4bXTA7eAc")
    worst_first = ["critical", "error", "warning", "info"]
    assert [one["severity"] for one in items] == sorted(
        (one["severity"] for one in items), key=worst_first.index
    )


def test_the_summary_counts_what_the_manifest_counts(stores: Sandboxed) -> None:
    manifest = stores.seed()
    summary = stores.audit().summary
    by_side: dict[tuple[str, str], dict[str, int]] = {
        (store, side): {name: count for name, count in one.by_status.items() if count}
        for store, sides in manifest.stores.items()
        for side, one in sides.items()
    }
    sides = {(one["store"], one["side"]): one for one in summary["places"]}
    assert set(sides) == set(by_side)
    for place, counts in by_side.items():
        pattern = sides[place]["pattern"]
        assert summary["records"][place[0]][pattern] == counts
        assert sides[place]["seen"] == sum(counts.values())
    assert summary["findings"] == summary["critical"] + summary["error"] + summary["warning"]
    assert (summary["whole"], summary["why_stopped"]) == (False, "done")
    assert set(summary["sight"]) == set(manifest.stores)
    assert summary["sight"]["webhooks"]["crash-mid-write"]["why"].startswith("no status column")
    assert summary["sight"]["payments"]["crash-mid-write"]["sight"] == "curable"


def test_fail_on_and_strict_decide_about_the_status(stores: Sandboxed) -> None:
    stores.seed(faults=False)
    payments = ("--store", "payments")
    # There is no witness yet.
    assert stores.audit(*payments, "--strict").status == 10
    assert stores.place.main("store", "beat", "--apply", *payments).status == 0
    assert stores.audit(*payments, "--strict").status == 0
    assert stores.audit("--store", "webhooks", "--strict").status == 10
    stores.seed()
    outbox = ("--store", "outbox")
    assert stores.audit(*outbox, "--fail-on", "error").status == 3
    done = stores.audit(*outbox, "--fail-on", "critical")
    assert (done.status, len(done.document["items"])) == (0, 1)
    assert stores.audit("--fail-on", "bad").status == 2


def test_a_server_that_is_down_is_named_and_the_rest_is_looked_at(stores: Sandboxed) -> None:
    manifest = stores.seed()
    stores.place.lead(REDIS_URL="redis://:hunter2@127.0.0.1:1/0")
    done = stores.audit()
    assert done.status == 10
    errors = [one["message"] for one in done.document["errors"]]
    assert [one.partition(": ")[0] for one in errors] == [
        "redis idem:*", "redis seen:*", "redis path:*", "redis body:*",
    ]  # fmt: skip
    assert found(done) == {
        place: count for place, count in planted(manifest).items() if place[2] == "postgres"
    }
    assert "hunter2" not in done.out + done.err
    assert "Traceback" not in done.err
    assert done.err.count("redis idem:*") == 1


def test_without_postgres_what_redis_holds_is_looked_at_alone(stores: Sandboxed) -> None:
    manifest = stores.seed()
    stores.place.lead(DATABASE_URL=NOBODY)
    done = stores.audit()
    assert done.status == 10
    twins = {"missing", "orphan", "stale", "divergent"}
    assert found(done) == {
        place: count
        for place, count in planted(manifest).items()
        if place[2] == "redis" and place[0] not in twins
    }
    places = done.summary["places"]
    (redis_side,) = (one for one in places if (one["store"], one["side"]) == ("payments", "redis"))
    blind = {one["code"]: one["why"] for one in redis_side["cannot_judge"]}
    assert set(blind) == twins | {"clocks-apart", "redis-flushed", "redis-restored"}
    assert (
        "not compared: postgres public.processed_events: cannot reach Postgres" in blind["orphan"]
    )
    assert "hunter2" not in done.out + done.err


def test_after_a_flush_nothing_is_missing_and_nothing_is_well(stores: Sandboxed) -> None:
    stores.seed(faults=False)
    with redis.Redis.from_url(stores.redis_url) as client:
        client.flushall()
    done = stores.audit()
    assert (done.status, done.document["items"]) == (10, [])
    first = done.document["errors"][0]
    assert first["message"].startswith(
        "redis idem:*: cannot judge: no key has this prefix, and Postgres expects "
    )
    assert "idemctl diagnose" in first["hint"]
    lone = stores.audit("--store", "deliveries")
    assert (lone.status, lone.summary["checked"]) == (0, 0)
    assert stores.audit("--store", "deliveries", "--strict").status == 10


def test_a_deadline_leaves_the_rest_unjudged(stores: Sandboxed) -> None:
    stores.seed(records=6_000)
    done = stores.place.main("audit", "-o", "json", "--max-duration", "1s")
    assert done.document["errors"] == []
    assert (done.summary["why_stopped"], done.summary["whole"]) == ("deadline", False)
    last = done.summary["places"][-1]
    assert (last["store"], last["seen"], last["checked"]) == ("outbox", 0, [])
    codes = {code for code, _, _ in found(done)}
    assert not codes & {"missing", "orphan", "stale", "divergent"}
    strict = stores.place.main("audit", "-o", "json", "--max-duration", "1s", "--strict")
    assert strict.status == 10


def test_without_a_configuration_the_environment_is_enough(stores: Sandboxed) -> None:
    manifest = stores.seed()
    (stores.place.folder / "idemctl.yaml").unlink()
    done = stores.audit()
    assert done.status == 3
    codes = {code for code, _, _ in found(done)}
    assert codes <= {fault.code for fault in manifest.faults}
    assert {"stuck-in-progress", "workflow-stuck", "record-without-ttl"} <= codes
    # Nobody says here how long Redis keeps a key, or which sides belong together.
    blind = {check["code"] for one in done.summary["places"] for check in one["cannot_judge"]}
    assert {"ttl-unit-mix-up", "missing", "orphan"} <= blind


def test_audit_changes_neither_store(stores: Sandboxed) -> None:
    stores.seed(records=1_000)

    def state() -> tuple[Any, ...]:
        with (
            psycopg.connect(stores.dsn) as connection,
            redis.Redis.from_url(stores.redis_url) as client,
        ):
            rows = connection.execute(
                "SELECT md5(string_agg(one::text, '' ORDER BY one::text)) FROM processed_events one"
            ).fetchall()
            return rows, {
                name: (client.dump(name), client.pexpiretime(name)) for name in client.scan_iter()
            }

    before = state()
    with redis.Redis.from_url(stores.redis_url) as client:
        client.config_resetstat()
        stores.audit()
        writes = {name for name, facts in client.command().items() if "write" in facts["flags"]}
        used = {name.removeprefix("cmdstat_") for name in client.info("commandstats")}
    assert "scan" in used
    assert not used & writes
    assert state() == before
    assert [file.name for file in stores.place.state.rglob("*")] == ["measures.jsonl"]


def test_the_table_is_made_for_a_person(stores: Sandboxed) -> None:
    stores.seed()
    done = stores.place.main("audit", "--pace", "full")
    sight, _, rest = done.out.partition("audit (nothing was changed)")
    assert "no status column" in sight
    assert "Next: idemctl diagnose --store payments" in rest
    assert "32 findings (3 critical, 16 error, 13 warning)" in rest
    assert "\x1b]0;x" not in done.out
    password = urlsplit(stores.dsn).password
    assert password is not None
    assert password not in done.out + done.err

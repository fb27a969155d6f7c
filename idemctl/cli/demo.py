"""`idemctl demo`: the tour. Every step is a command that anyone can type."""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from idemctl.cli.options import option
from idemctl.cli.tour import CannotGoOn, Tour
from idemctl.cli.verb import Work, verb
from idemctl.domain.outcomes import Report
from idemctl.errors import ExitStatus
from idemctl.render.figures import count

_COLLECTED = ("payments", "webhooks", "workflows", "outbox")
_PAIRS = ("payments", "webhooks")


def register(app: typer.Typer) -> None:
    """Add the command."""
    verb(app, "demo")(demo)


def demo(
    work: Work,
    *,
    records: Annotated[
        int, option("--records", help="how many to seed", min=1_000, max=10_000_000, metavar="N")
    ] = 100_000,
) -> Report:
    """Take the tour, on servers of its own.

    idemctl demo

    Starts a Postgres and a Valkey in a folder under /var/tmp and fills them, with faults
    among the records and a storm in the log. audit has to name every fault, hits the storm,
    gc to collect what has expired and nothing else. Then Valkey is flushed: diagnose has to
    say so, reconcile to write back what was lost, and a second reconcile to find nothing.
    Each step is checked against what was planted; in the end everything is removed.

    Exit status: 0 every expectation held, 3 one did not.
    """
    from idemctl.sandbox.servers import Sandbox, default_folder

    sandbox = Sandbox(folder=default_folder(f"demo-{os.getpid()}"))
    tour = Tour(work=work, sandbox=sandbox, stream=work.story)
    try:
        with contextlib.suppress(CannotGoOn):
            _walk(tour, records)
    finally:
        tour.clear_away()
    tour.expect("nothing is left behind", not sandbox.folder.exists(), str(sandbox.folder))
    return tour.report()


def _walk(tour: Tour, records: int) -> None:
    tour.say("Applications remember keys so that a retry is no second charge. Here are two such")
    tour.say("stores, a Postgres and a Valkey, with believable keys of all six patterns.")
    tour.run("sandbox", "up", *tour.here)
    tour.run("sandbox", "seed", *tour.here, "--records", str(records), "--seed", "7", "--faults")
    planted = json.loads((tour.sandbox.folder / "manifest.json").read_text("utf-8"))
    _audit(tour, planted)
    _hits(tour, planted)
    _collect(tour, planted)
    _recover(tour)


def _audit(tour: Tour, planted: Mapping[str, Any]) -> None:
    tour.say("")
    tour.say("What is wrong with them? Among the records are faults that happened to others.")
    found = tour.ask("audit", "--pace", "full", status=ExitStatus.FINDINGS)
    for one in found["items"]:
        tour.say(f"   {one['severity']:9} {one['code']:26} {one['store']:11} {one['count']:>4}")
    wanted = Counter({_fault(one): one["count"] for one in planted["faults"]})
    named = Counter({_finding(one): one["count"] for one in found["items"]})
    tour.expect(
        f"audit names all {len(wanted)} faults that were planted, with their counts",
        named == wanted,
        {"not named": dict(wanted - named), "not planted": dict(named - wanted)},
    )


def _hits(tour: Tour, planted: Mapping[str, Any]) -> None:
    tour.say("")
    tour.say("A hit is a retry that found its key. The log of four weeks holds a storm of them.")
    tour.run("hits", "--store", "payments", status=ExitStatus.FINDINGS)
    found = tour.ask("hits", "--store", "payments", status=ExitStatus.FINDINGS)
    named = [one["series"] for one in found["items"]]
    spike = planted["spike"]["series"]
    tour.expect("hits names the storm that was planted, and no other", named == [spike], named)


def _collect(tour: Tour, planted: Mapping[str, Any]) -> None:
    expired = {name: planted["stores"][name]["postgres"]["expired_count"] for name in _COLLECTED}
    tour.say("")
    tour.say("What has outlived its promise, and why does the rest stay? Nothing changes yet.")
    tour.run("gc", "--pace", "full")
    before = tour.ask("gc", "--pace", "full")
    found = _by_store(before, "candidates")
    tour.expect("gc names exactly the expired records that were planted", found == expired, found)

    tour.say("")
    tour.say("Collect it: in small batches, each judged again at the moment it goes.")
    # However many were asked for: nobody collected here before.
    first = ("--despite", "volume")
    after = tour.ask("gc", "--apply", "--pace", "full", *first, *_naming(_COLLECTED))
    deleted = _by_store(after, "deleted")
    tour.expect("gc deletes exactly what it had named", deleted == expired, deleted)
    summary = after["summary"]
    tour.say(
        f"   {count(summary['deleted'], 'record')} collected in {summary['batches']} batches, "
        f"the longest {summary['longest_batch_ms']} ms; "
        f"{count(summary['children_deleted'], 'workflow step')} went with their runs."
    )
    again = tour.ask("gc", "--pace", "full")
    tour.expect("a second run finds nothing", not again["summary"]["candidates"], again["summary"])
    kept = {name: _kept(before, name) for name in _COLLECTED}
    still = {name: _kept(again, name) for name in _COLLECTED}
    tour.expect("every record that was kept is still there", kept == still, still)


def _recover(tour: Tour) -> None:
    tour.say("")
    tour.say("Now somebody types FLUSHALL into the wrong window.")
    tour.run("sandbox", "inject", "flush", *tour.here)
    tour.run("diagnose", "--pace", "full", *_naming(_PAIRS), status=ExitStatus.FINDINGS)
    said = tour.ask("diagnose", "--pace", "full", *_naming(_PAIRS), status=ExitStatus.FINDINGS)
    verdicts = {one["store"]: one["verdict"] for one in said["summary"]["stores"]}
    flushed = dict.fromkeys(_PAIRS, "flushed")
    tour.expect("diagnose says that both pairs were flushed", verdicts == flushed, verdicts)

    tour.say("")
    tour.say("Postgres knows everything that Redis owes. Each twin is written while its row is")
    tour.say("held, only where there is none, to expire no later than its row.")
    tour.run("reconcile", "--apply", "--yes", "--pace", "full", *_naming(_PAIRS))
    left = tour.ask("reconcile", "--pace", "full", *_naming(_PAIRS))
    tour.expect("a second reconcile finds nothing", not left["items"], left["summary"])
    equal = left["summary"]["equal"]
    tour.expect("what Redis owes is there again", equal > 0, left["summary"])
    tour.say(f"   {count(equal, 'record')} of Postgres have their twins again.")


def _fault(one: Mapping[str, Any]) -> tuple[str, str, str]:
    return one["code"], one["store"], one["side"]


def _finding(one: Mapping[str, Any]) -> tuple[str, str, str]:
    return one["code"], one["store"], one["place"].partition(" ")[0]


def _naming(stores: tuple[str, ...]) -> list[str]:
    return [word for name in stores for word in ("--store", name)]


def _by_store(document: Mapping[str, Any], figure: str) -> dict[str, int]:
    sides = document["summary"]["stores"]
    return {one["store"]: one[figure] for one in sides if one["place"].startswith("postgres ")}


def _kept(document: Mapping[str, Any], store: str) -> dict[str, int]:
    """Count what stays in a table; what is alive may come of age in between, but not go."""
    return {
        item["code"]: item["count"]
        for item in document["items"]
        if item["store"] == store
        and item["place"].startswith("postgres ")
        and item["code"] != "expired"
    }

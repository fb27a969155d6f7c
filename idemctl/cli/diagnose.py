"""`idemctl diagnose`."""

from __future__ import annotations

from dataclasses import replace

import typer

from idemctl.cli.options import ReadReplica
from idemctl.cli.verb import Work, verb
from idemctl.domain.outcomes import Report


def register(app: typer.Typer) -> None:
    """Add the command."""
    verb(app, "diagnose")(diagnose)


def diagnose(work: Work, *, read_replica: ReadReplica = False) -> Report:
    """Tell what happened: was Redis flushed?

    idemctl diagnose                     every pair
    idemctl diagnose --store payments    one of them
    idemctl diagnose --read-replica      rows from a standby, if that is level

    Asks two signs, for either alone misleads. The pair: of a sample of rows from all over the
    table, which has Redis not, and is there an instant before which all is missing? The
    server: what does it say of flushes, restarts and evictions? Names the runbook that
    applies. Reads a sample, in half a minute at most, and changes nothing.

    Exit status: 0 nothing happened, 3 something did, 5 the clocks are too far apart, 10 a
    store cannot be reached or nothing can be judged, 12 rights missing, 78 configuration.
    """
    from idemctl.cli.verbs import books
    from idemctl.operations.diagnose import diagnose as operation
    from idemctl.render.diagnose import report

    if read_replica:
        work = replace(work, workplace=work.workplace.on_replicas())
    pairs = work.workplace.pairs(work.run)
    work.say_what_is_assumed()
    paired = {pair.store for pair in pairs}
    alone = {
        name: "Postgres" if store.redis is None else "Redis" if store.postgres is None else ""
        for name, store in work.workplace.settings.chosen().items()
        if name not in paired
    }
    outcome = operation(pairs, alone, books(), work.run)
    for failure in outcome.failures:
        work.speech.complain(failure)
    return report(outcome, work.run, work.now())

"""`idemctl diagnose`."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import typer

from idemctl.cli.options import ReadReplica
from idemctl.cli.verb import Work, verb
from idemctl.domain.outcomes import Report

if TYPE_CHECKING:
    from collections.abc import Mapping

    from idemctl.domain.secrets import Secret
    from idemctl.operations.diagnose import Look
    from idemctl.run.symptoms import Symptoms
    from idemctl.run.target import Target

_WITHIN = timedelta(seconds=16)
"""For the symptoms of all stores together."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    verb(app, "diagnose")(diagnose)


def diagnose(work: Work, *, read_replica: ReadReplica = False) -> Report:
    """Tell what happened: which failure mode is it, and by what numbers?

    idemctl diagnose                     every store
    idemctl diagnose --store payments    one of them
    idemctl diagnose --read-replica      rows from a standby, if that is level

    For the loss of a store asks two signs, for either alone misleads. The pair: of a sample
    of rows from all over the table, which has Redis not, and is there an instant before which
    all is missing? The server: what does it say of flushes, restarts and evictions? Asks the
    witness, too. For the other failure modes makes audit's checks on samples, and reads the
    logs where that takes seconds. Ranks what it finds, names the runbook, and says what it
    did not look at. Takes half a minute at most, and changes nothing.

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
    outcome = operation(pairs, alone, books(), work.run, look=_looking(work))
    for failure in outcome.failures:
        work.speech.complain(failure)
    return report(outcome, work.run, work.now())


def _looking(work: Work) -> Look:
    """Make what looks for symptoms of a store."""
    from idemctl.bootstrap.hit_logs import logs_there_are
    from idemctl.run.symptoms import look_for_symptoms

    workplace = work.workplace
    sides: dict[str, list[Target]] = {}
    for side in workplace.targets(work.run):
        sides.setdefault(side.store, []).append(side)
    keepers = workplace.keepers(work.run)
    logs = logs_there_are(workplace, work.run)

    def look(name: str, silent: Mapping[Secret, str]) -> Symptoms:
        return look_for_symptoms(
            sides[name],
            keepers.get(name),
            logs[name].read if name in logs else None,
            work.run,
            is_paired=len(sides[name]) > 1,
            repeats=workplace.repeats,
            within=_WITHIN / len(sides),
            silent=silent,
        )

    return look

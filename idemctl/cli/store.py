"""`idemctl store`."""

from __future__ import annotations

from contextlib import ExitStack, nullcontext
from dataclasses import replace
from datetime import timedelta
from typing import Annotated

import typer

from idemctl.cli.consent import agree_severely
from idemctl.cli.options import duration, option
from idemctl.cli.verb import Work, verb
from idemctl.domain.outcomes import Report
from idemctl.errors import UsageError, worst

Apply = Annotated[bool, option("--apply", env=False, help="do it; without it nothing is changed")]


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(help="What a store is, its witness, and its kill switch.")
    for name, function in _COMMANDS.items():
        verb(group, name, full_name=f"store {name}")(function)
    app.add_typer(group, name="store")


def show(work: Work) -> Report:
    """Show the stores: server, size, last good gc, witness, epoch, freeze.

    idemctl store show
    idemctl store show --store payments -o json

    Reads the servers' own figures, every copy of witness and freeze, and the history in the
    state folder. Where the copies tell of a loss, asks one store for some records of the
    other. Changes nothing. A side that is down keeps nobody from seeing the rest. Where no
    configuration names a store, it finds them as audit does, and says what it takes for what.

    Exit status: 0 all answer, 10 a store cannot be reached, 12 credentials or rights,
    78 configuration.
    """
    from idemctl.operations.store_show import show as operation
    from idemctl.render.store_show import report

    workplace, beside = work.workplace.found(work.run)
    work = replace(work, workplace=workplace)
    history = workplace.history
    targets, keepers = workplace.targets(work.run), workplace.keepers(work.run)
    work.say_what_is_assumed()
    outcome = operation(targets, keepers, lambda store: history.last("gc", store), work.run)
    outcome = replace(outcome, failures=(*beside.failures, *outcome.failures))
    for failure in outcome.failures:
        work.speech.complain(failure)
    made = report(outcome, work.run, work.now())
    return replace(made, status=worst([made.status, beside.why_stopped.status]))


def beat(work: Work, *, apply: Apply = False) -> Report:
    """Raise the witness, unless that would hide what it tells.

    idemctl store beat                            what it tells
    idemctl store beat --apply --store payments   a line for cron

    Reads every copy of the witness. With --apply raises it in Postgres, then in Redis, then
    in the state folder. Needs state.schema. Where Postgres went back in time, by two signs,
    freezes the store.

    Exit status: 0 raised, 3 a store lost something, 5 frozen, or Postgres went back in time,
    10 a store cannot be reached, or one sign stands alone, 12 rights missing, 78 no schema.
    """
    from idemctl.operations.store_beat import beat as operation
    from idemctl.render.store_beat import report

    targets = work.workplace.targets(work.run, writes=apply)
    keepers = work.workplace.keepers(work.run)
    with work.journal() if apply else nullcontext():
        outcome = operation(targets, keepers, work.run, apply=apply)
    made = report(outcome, work.run, work.now())
    return work.remember(made) if apply else made


def freeze(
    work: Work,
    *,
    length: Annotated[
        timedelta,
        option("--for", env=False, help="how long", parser=duration, metavar="DURATION"),
    ],
    reason: Annotated[
        str, option("--reason", env=False, help="why, for whoever is stopped", metavar="TEXT")
    ],
    apply: Apply = False,
) -> Report:
    """Stop every verb that writes, on every host.

    idemctl store freeze --for 4h --reason "PG restore" --store payments --apply

    Without --apply shows what is frozen now. With it writes who, why and until when into
    Postgres, Redis and the state folder; any one of them stops gc, reconcile and every other
    verb that writes, before they begin and between two batches. It ends by itself, by the
    store's clock.

    Exit status: 0 frozen everywhere, 4 frozen, but not everywhere, 10 no store can be reached,
    12 rights missing, 78 configuration.
    """
    from idemctl.domain.freezes import LONGEST_REASON
    from idemctl.operations.store_freeze import freeze as operation
    from idemctl.render.store_freeze import report

    if not reason.strip() or len(reason) > LONGEST_REASON:
        raise UsageError(
            f"--reason: say why, in {LONGEST_REASON} letters at most",
            hint="whoever is stopped by it reads that",
        )
    keepers = work.workplace.keepers(work.run, writes=apply).values()
    with work.journal() if apply else nullcontext():
        outcome = operation(keepers, reason, length, work.run, apply=apply)
    made = report("freeze", outcome, work.run, work.now())
    return work.remember(made) if apply else made


def thaw(work: Work, *, apply: Apply = False) -> Report:
    """End a freeze before its time.

    idemctl store thaw --store payments --apply

    Without --apply shows what is frozen. With it removes every copy that can be reached, and
    says which cannot: that one still stops everybody.

    Exit status: 0 thawed everywhere, 4 not everywhere, 12 rights missing, 78 configuration.
    """
    from idemctl.operations.store_freeze import thaw as operation
    from idemctl.render.store_freeze import report

    keepers = work.workplace.keepers(work.run, writes=apply).values()
    with work.journal() if apply else nullcontext():
        outcome = operation(keepers, work.run, apply=apply)
    made = report("thaw", outcome, work.run, work.now())
    return work.remember(made) if apply else made


def accept(
    work: Work,
    *,
    apply: Apply = False,
    confirm: Annotated[
        str | None,
        option(
            "--confirm", env=False, help="the store's name, instead of typing it", metavar="NAME"
        ),
    ] = None,
) -> Report:
    """Acknowledge a restore: what is written from now on comes after all that was.

    idemctl store accept --store payments            what it would do
    idemctl store accept --store payments --apply    asks for the store's name

    Reads every record of both sides, and every copy of the witness. With --apply raises the
    epoch to the largest that was seen plus one, moves the sequence of fences past the highest
    that was seen, writes a new witness, and thaws the store. Needs state.schema.

    Exit status: 0 acknowledged, 4 not thawed everywhere, 6 the operator said no, 10 a store
    cannot be reached, 11 somebody else is at it, 12 rights missing, 78 no schema.
    """
    from idemctl.operations.store_accept import Acceptance, Outcome
    from idemctl.operations.store_beat import refuse_witnessless
    from idemctl.render.store_accept import plan_lines, report

    chosen = list(work.workplace.settings.chosen())
    if len(chosen) > 1:
        raise UsageError(
            "a restore is acknowledged for one store at a time",
            hint="name it: " + " or ".join(f"--store {name}" for name in chosen),
        )
    [(name, keeper)] = work.workplace.keepers(work.run, writes=apply).items()
    refuse_witnessless(keeper)
    acceptance = Acceptance(keeper=keeper, sides=work.workplace.targets(work.run), run=work.run)
    with ExitStack() as stack:
        stack.enter_context(work.journal() if apply else nullcontext())
        plan = acceptance.plan(stack, apply=apply)
        if not apply:
            return report(Outcome(plan=plan, applied=False), work.run, work.now())
        if confirm is None:
            for line in plan_lines(plan):
                work.speech.warn(line)
        question = f"acknowledge the restore of {name}, as said above?"
        agree_severely(work, name, question, confirm=confirm)
        outcome = acceptance.apply(plan)
    return work.remember(report(outcome, work.run, work.now()))


_COMMANDS = {"show": show, "freeze": freeze, "thaw": thaw, "accept": accept, "beat": beat}

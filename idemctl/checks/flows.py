"""Work that does not come to its end: crashed owners, stuck runs, events not sent."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np

from idemctl.checks.check import BOTH, BY_KEY, Check, Source, between, micros_of
from idemctl.domain.findings import Severity
from idemctl.domain.instants import MISSING
from idemctl.domain.records import Pattern, Status
from idemctl.domain.sight import Engine, Sight

if TYPE_CHECKING:
    from idemctl.checks.check import Int64, Looked, Mask
    from idemctl.domain.batch import Batch

MARGIN = timedelta(minutes=5)
"""How long past its end a lease or a deadline is still nobody's fault: owners end late."""


def _bound(looked: Looked) -> Int64:
    """Give until when work may be in progress: a clock that still runs tells of an owner."""
    batch = looked.batch
    # What is missing is earlier than everything.
    return np.maximum(batch.lease_until, batch.due_at)


def _overdue(looked: Looked) -> Mask:
    bound, began, margin = _bound(looked), looked.batch.counted_from, micros_of(MARGIN)
    late = (bound != MISSING) & (bound < looked.now - margin)
    # Who begins anew may keep what is left of an earlier lease.
    just_begun = (began >= looked.now - margin) & (began <= looked.now + margin)
    mask: Mask = looked.claimed & late & ~just_begun
    return mask


def _late_for(looked: Looked) -> Int64:
    # A bound that is missing belongs to no record that is counted, and must not wrap around.
    bound = _bound(looked)
    return looked.now - np.where(bound == MISSING, looked.now, bound)


def _dispatches(batch: Batch) -> list[bytes]:
    """Say of each event when it was dispatched."""
    written = batch.written_at
    gone = (batch.status == Status.COMPLETED) & (written != MISSING)
    return [b"%d" % at if is_gone else b"" for at, is_gone in zip(written, gone, strict=True)]


STUCK_IN_PROGRESS = Check(
    code="stuck-in-progress",
    severity=Severity.ERROR,
    engines=BOTH,
    patterns=BY_KEY,
    needs=((Sight.STATUS,), (Sight.LEASE, Sight.DUE)),
    mask=_overdue,
    measure=_late_for,
    evidence=lambda found, _: f"in progress, and the lease has been over for {between(found)}",
    what="In progress, and every clock of the record stands still: its lease and its deadline "
    "(`due:`, as a heartbeat and what may lie between two) ended more than five minutes ago, and "
    "it did not begin since; owners end late now and then.\n"
    "One of both is enough where the layout has no more.",
    why="The owner is gone, and every retry is told that the work is still running; whether it "
    "was done only evidence can say.",
    next="idemctl diagnose --store {store}",
)
LEASE_NEVER_FILLED = Check(
    code="lease-never-filled",
    severity=Severity.ERROR,
    engines=BOTH,
    patterns=BY_KEY,
    needs=((Sight.STATUS,), (Sight.LEASE,)),
    mask=lambda looked: looked.claimed & (looked.batch.lease_until == MISSING),
    evidence=lambda _found, _facts: "in progress without a lease",
    what="In progress, the layout has a lease, and this record has none.",
    why="Nobody can tell a crashed owner from a slow one, so the key can never be taken over "
    "safely.",
    next="idemctl diagnose --store {store}",
)
WORKFLOW_STUCK = Check(
    code="workflow-stuck",
    severity=Severity.ERROR,
    engines=BOTH,
    patterns=frozenset({Pattern.WORKFLOW}),
    needs=((Sight.STATUS,), (Sight.DUE, Sight.LEASE)),
    mask=_overdue,
    measure=_late_for,
    evidence=lambda found, _: f"not finished, and overdue for {between(found)}",
    what="A run that has not finished, more than five minutes past its deadline.\n"
    "The layout says what that is: `due: {field: created_at, plus: 1d}` in `workflow`.",
    why="Nobody resumes the run after its last committed step, and what it began stays half done.",
    next="idemctl diagnose --store {store}",
)
WORKFLOW_STEP_REPEATED = Check(
    code="workflow-step-repeated",
    severity=Severity.CRITICAL,
    engines=frozenset({Engine.POSTGRES}),
    patterns=frozenset({Pattern.WORKFLOW}),
    needs=((Sight.STEPS,),),
    source=Source.CHILD,
    evidence=lambda _found, _facts: "runs with a step that was completed more than once",
    what="A run with a step that has more than one row in which it was done.\n"
    "The layout names the child table, the column that tells steps apart (`step:`) and how "
    "a done one is recognised (`done:`); attempts that failed before are none of these.\n"
    "The children are found by the index on the column that joins them; without one this "
    "cannot be judged.",
    why="The run was resumed before its last committed step, and the side effects of that step "
    "happened twice.",
    next="idemctl diagnose --store {store}",
)
OUTBOX_OVERDUE = Check(
    code="outbox-overdue",
    severity=Severity.ERROR,
    engines=BOTH,
    patterns=frozenset({Pattern.OUTBOX}),
    needs=((Sight.STATUS,), (Sight.DUE, Sight.LEASE)),
    mask=_overdue,
    measure=_late_for,
    evidence=lambda found, _: f"not dispatched, and past the deadline for {between(found)}",
    what="An event that is not dispatched, more than five minutes past its deadline: `due: "
    "{field: deadline_at}` in `outbox`.",
    why="The state says that it happened, and nobody outside was told.",
    next="idemctl diagnose --store {store}",
)

OUTBOX_DISPATCHED_TWICE = Check(
    code="outbox-dispatched-twice",
    severity=Severity.CRITICAL,
    engines=BOTH,
    patterns=frozenset({Pattern.OUTBOX}),
    needs=((Sight.STATUS,), (Sight.AGE,)),
    source=Source.REPEATS,
    group=_dispatches,
    evidence=lambda _found, _facts: "events with rows that were dispatched at different instants",
    what="An event with several rows, by its key, that were dispatched at different instants.\n"
    "Rows of one event that went at the same instant are among those of `identity-repeated`; where "
    "a unique index keeps events apart there are neither.",
    why="Whoever listens was told twice, and knows it only by a key that is the same.",
    next="idemctl diagnose --store {store}",
)
OUTBOX_OVERTAKEN = Check(
    code="outbox-overtaken",
    severity=Severity.ERROR,
    engines=frozenset({Engine.POSTGRES}),
    patterns=frozenset({Pattern.OUTBOX}),
    needs=((Sight.STATUS,), (Sight.AGE,), (Sight.ORDER,)),
    source=Source.ORDER,
    evidence=lambda _found, _facts: "not dispatched, and a later event of the same aggregate was",
    what="An event that is not dispatched, though one with a higher number in the same aggregate "
    "was, more than five minutes ago.\n"
    "The layout says what both are: `order: {within: aggregate, by: sequence}` in `outbox`.\n"
    "The later ones are found by the index on these two; without one this cannot be judged.",
    why="Whoever listens was told the end of a story before its middle, and will be told the "
    "middle as if it were the end.",
    next="idemctl diagnose --store {store}",
)

CHECKS = (
    STUCK_IN_PROGRESS,
    LEASE_NEVER_FILLED,
    WORKFLOW_STUCK,
    WORKFLOW_STEP_REPEATED,
    OUTBOX_OVERDUE,
    OUTBOX_DISPATCHED_TWICE,
    OUTBOX_OVERTAKEN,
)

"""What doctor saw, for people and for machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from idemctl.domain.outcomes import Report, Sheet
from idemctl.errors import ExitStatus
from idemctl.render.figures import count

if TYPE_CHECKING:
    from datetime import datetime

    from idemctl.operations.doctor import Line, Outcome
    from idemctl.run.run import Run


def report(outcome: Outcome, run: Run, finished_at: datetime) -> Report:
    """Make the report of a run of doctor."""
    bad = [line for line in outcome.lines if line.status is not ExitStatus.OK]
    headline = (
        f"{count(len(bad), 'thing')} of {len(outcome.lines)} must be put right"
        if bad
        else f"all {len(outcome.lines)} lines are well"
    )
    return Report(
        command="doctor",
        status=outcome.status,
        store=None,
        run_id=run.id,
        started_at=run.started_at,
        finished_at=finished_at,
        summary={"looked_at": len(outcome.lines), "wrong": len(bad)},
        items=[
            {
                "code": line.about,
                "store": line.store or None,
                "status": line.status.label,
                "says": line.says,
                "fix": line.fix,
                "took_ms": round(line.took.total_seconds() * 1000, 1),
            }
            for line in outcome.lines
        ],
        sheets=[
            Sheet(
                headings=("", "store", "about", "says"),
                rows=[_row(line) for line in outcome.lines],
                lines=[*(f"fix: {line.fix}" for line in bad if line.fix), headline],
            )
        ],
        headline=headline,
    )


def _row(line: Line) -> tuple[str, ...]:
    mark = "ok" if line.status is ExitStatus.OK else line.status.label
    took = f" ({line.took.total_seconds() * 1000:.0f} ms)" if line.took else ""
    return mark, line.store, line.about, line.says + took

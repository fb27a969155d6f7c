"""A schema: the bare text for a pipe, the envelope for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from idemctl.domain.outcomes import Report, Sheet

if TYPE_CHECKING:
    from datetime import datetime

    from idemctl.operations.schema import Outcome
    from idemctl.run.run import Run


def report(outcome: Outcome, run: Run, finished_at: datetime) -> Report:
    """Make the report of one text."""
    lines = outcome.text.splitlines()
    what = outcome.what.value
    return Report(
        command=f"schema-{what}",
        status=outcome.status,
        store=None,
        run_id=run.id,
        started_at=run.started_at,
        finished_at=finished_at,
        summary={"lines": len(lines)},
        items=[{"code": "schema", "what": what, "text": outcome.text}],
        sheets=[Sheet(lines=lines)],
        headline=f"schema of {what}",
    )

"""One layout as the file that it is: bare for a pipe, in an envelope for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from idemctl.domain.outcomes import Report, Sheet
from idemctl.errors import ExitStatus

if TYPE_CHECKING:
    from datetime import datetime

    from idemctl.run.run import Run


def report(name: str, text: str, run: Run, finished_at: datetime) -> Report:
    """Make the report of one file."""
    lines = text.splitlines()
    return Report(
        command="layout-show",
        status=ExitStatus.OK,
        store=None,
        run_id=run.id,
        started_at=run.started_at,
        finished_at=finished_at,
        summary={"lines": len(lines)},
        items=[{"code": "layout", "layout": name, "text": text}],
        sheets=[Sheet(lines=lines)],
        headline=f"layout {name}",
    )

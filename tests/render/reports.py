"""Reports made by hand."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from idemctl.domain.outcomes import Report, Sheet
from idemctl.errors import ExitStatus

AT = datetime(2026, 11, 29, 12, 0, 0, 123456, UTC)


def a_report(**changes: Any) -> Report:
    known: dict[str, Any] = {
        "command": "look",
        "status": ExitStatus.OK,
        "store": "payments",
        "run_id": "20261129T120000-abcdef",
        "started_at": AT,
        "finished_at": AT.replace(second=2),
        "summary": {"records": 1234, "share": 0.5, "whole": True, "stores": []},
        "items": [
            {"code": "live", "count": 1200, "why": "promised", "next": None},
            {"code": "expired", "count": 34, "why": 'its "promise", ended', "sample": ["a"]},
        ],
        "sheets": [
            Sheet(
                title="look",
                headings=("what", "records"),
                rows=[("live", "1,200"), ("expired", "34")],
                lines=["34 records expired"],
            )
        ],
        "headline": "34 records expired",
    }
    return Report(**known | changes)

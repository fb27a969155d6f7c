"""The JSON envelope: one shape for every command, also when it fails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datetime import datetime

    from idemctl.domain.outcomes import Report
    from idemctl.errors import IdemctlError

_MOST_ITEMS = 1000
"""A code, in one document; `ndjson` carries all."""


def envelope(report: Report) -> dict[str, Any]:
    """Put a report into the envelope."""
    items, truncated = _capped(report.items)
    return _head(report) | {
        "summary": report.summary | ({"truncated": True} if truncated else {}),
        "items": items,
        "errors": list(report.errors),
    }


def header(report: Report) -> dict[str, Any]:
    """Give what `ndjson` begins with: what was run, before what it found."""
    return {
        name: value
        for name, value in _head(report).items()
        if name in {"schema", "store", "run_id", "started_at"}
    }


def failure(error: IdemctlError) -> dict[str, Any]:
    """Describe an error as a member of `errors`."""
    return {
        "status": error.status.label,
        "message": error.message,
        "hint": error.hint,
    }


def instant(at: datetime | None) -> str | None:
    """Write an instant: UTC, ISO 8601, to the millisecond."""
    if at is None:
        return None
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _head(report: Report) -> dict[str, Any]:
    return {
        "schema": f"idemctl/{report.command}/v1",
        "store": report.store,
        "run_id": report.run_id,
        "started_at": instant(report.started_at),
        "finished_at": instant(report.finished_at),
        "exit": int(report.status),
        "status": report.status.label,
    }


def _capped(items: Any) -> tuple[list[dict[str, Any]], bool]:
    counts: dict[Any, int] = {}
    kept = []
    for item in items:
        code = item.get("code")
        counts[code] = counts.get(code, 0) + 1
        if counts[code] <= _MOST_ITEMS:
            kept.append(item)
    return kept, len(kept) < sum(counts.values())

"""The layouts that come with idemctl, for people and for machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from idemctl.domain.outcomes import Report, Sheet
from idemctl.layouts.containers import Container
from idemctl.render.figures import count

if TYPE_CHECKING:
    from datetime import datetime

    from idemctl.layouts.model import Layout, RedisLayout
    from idemctl.layouts.sides import Side
    from idemctl.operations.layout_list import Outcome
    from idemctl.run.run import Run

_HEADINGS = ("layout", "tried", "postgres", "redis", "known faults", "what writes so")


def report(outcome: Outcome, run: Run, finished_at: datetime) -> Report:
    """Make the list."""
    tried = sum(one.proven == "live" for one in outcome.layouts)
    total = len(outcome.layouts)
    return Report(
        command="layout-list",
        status=outcome.status,
        store=None,
        run_id=run.id,
        started_at=run.started_at,
        finished_at=finished_at,
        summary={"layouts": total, "live": tried, "source": total - tried},
        items=[_item(one) for one in outcome.layouts],
        sheets=[Sheet(headings=_HEADINGS, rows=[_row(one) for one in outcome.layouts])],
        headline=f"{count(total, 'layout')}, {tried} of them tried on what their library writes",
    )


def _item(layout: Layout) -> dict[str, Any]:
    postgres, redis = layout.postgres, layout.redis
    return {
        "code": "layout",
        "layout": layout.layout,
        "title": layout.title,
        "proven": layout.proven,
        "pattern": _pattern(layout),
        "table": postgres.table if postgres else None,
        "prefix": redis.prefix if redis else None,
        "container": redis.container.value if redis else None,
        "codec": _codec(layout) if redis else None,
        "known_faults": _fault_count(layout),
    }


def _row(layout: Layout) -> tuple[str, ...]:
    return (
        layout.layout,
        "live" if layout.proven == "live" else "no, source only",
        layout.postgres.table if layout.postgres else "",
        f"{_where(layout.redis)} {_codec(layout)}" if layout.redis else "",
        count(_fault_count(layout)) if _fault_count(layout) else "",
        layout.title,
    )


def _fault_count(layout: Layout) -> int:
    return sum(len(side.breaks) for side in (layout.postgres, layout.redis) if side is not None)


def _pattern(layout: Layout) -> str:
    side: Side | None = layout.postgres or layout.redis
    assert side is not None, "a layout has a side"
    return side.pattern.label


def _where(redis: RedisLayout) -> str:
    if redis.container is Container.KEY:
        return f"{redis.prefix}*"
    return f"{redis.prefix} {redis.container.value}"


def _codec(layout: Layout) -> str:
    assert layout.redis is not None
    return " ".join(str(step) for step in layout.redis.codec)

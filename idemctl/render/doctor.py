"""What doctor saw, and the roles that it would give, for people and for machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from idemctl.domain.outcomes import Report, Sheet
from idemctl.domain.sight import Engine
from idemctl.errors import ExitStatus
from idemctl.render.figures import count

if TYPE_CHECKING:
    from datetime import datetime

    from idemctl.operations.doctor import Line, Outcome, Role, Roles
    from idemctl.run.run import Run


def report(outcome: Outcome, run: Run, finished_at: datetime) -> Report:
    """Make the report of a run of doctor."""
    lines = outcome.lines
    wrong = [line for line in lines if line.status is not ExitStatus.OK]
    left_out = [line for line in lines if not line.is_looked_at]
    unjudged = [line for line in lines if line.is_looked_at and not line.is_judged]
    headline = (
        f"{count(len(wrong), 'thing')} of {len(lines)} must be put right"
        if wrong
        else f"nothing must be put right in {len(lines)} lines"
    )
    beside = [
        *([f"cannot be judged: {len(unjudged)}"] if unjudged else []),
        *([f"not looked at: {len(left_out)}"] if left_out else []),
    ]
    headline = "; ".join([headline, *beside])
    return Report(
        command="doctor",
        status=outcome.status,
        store=None,
        run_id=run.id,
        started_at=run.started_at,
        finished_at=finished_at,
        summary={
            "looked_at": len(lines) - len(left_out),
            "wrong": len(wrong),
            "cannot_judge": len(unjudged),
            "not_looked_at": len(left_out),
        },
        items=[_item(line) for line in lines],
        sheets=[
            Sheet(
                headings=("", "server", "store", "about", "says"),
                rows=[_row(line) for line in lines],
                lines=[*dict.fromkeys(f"fix: {one.fix}" for one in lines if one.fix), headline],
            )
        ],
        headline=headline,
    )


def of_roles(outcome: Roles, run: Run, finished_at: datetime) -> Report:
    """Make the report of the smallest roles; as text it goes into a pipe as it is."""
    headline = f"the smallest roles: {len(outcome.roles)}"
    return Report(
        command="doctor",
        status=outcome.status,
        store=None,
        run_id=run.id,
        started_at=run.started_at,
        finished_at=finished_at,
        summary={"roles": len(outcome.roles)},
        items=[
            {
                "code": "role",
                "stores": list(role.stores),
                "server": role.named,
                "engine": role.engine.value,
                "role": role.purpose.role,
                "for": role.purpose.value,
                "statements": list(role.statements),
            }
            for role in outcome.roles
        ],
        sheets=[Sheet(lines=[line for part in _parts(outcome) for line in part])],
        headline=headline,
    )


def _parts(outcome: Roles) -> list[list[str]]:
    """Write the roles of each server, those on Postgres first: psql reads no further than those.

    It reads those of one server only, for others have other tables.
    """
    servers: dict[tuple[Engine, str], list[Role]] = {}
    for role in sorted(outcome.roles, key=lambda one: one.engine is Engine.REDIS):
        servers.setdefault((role.engine, role.named), []).append(role)
    return [_part(engine, named, some) for (engine, named), some in servers.items()]


def _part(engine: Engine, named: str, roles: list[Role]) -> list[str]:
    lines = [f"-- {engine.value} at {named}: {', '.join(roles[0].stores)}"]
    for role in roles:
        lines += [f"-- {role.purpose.role}: {role.purpose}; set its password yourself"]
        lines += role.statements
    return [*lines, *(["\\q"] if engine is Engine.POSTGRES else [])]


def _item(line: Line) -> dict[str, Any]:
    return {
        "code": line.about,
        "server": line.server or None,
        "store": line.store or None,
        "status": line.mark,
        "says": line.says,
        "fix": line.fix,
        "took_ms": round(line.took.total_seconds() * 1000, 1),
    }


def _row(line: Line) -> tuple[str, ...]:
    took = f" ({line.took.total_seconds() * 1000:.0f} ms)" if line.took else ""
    return line.mark, line.server, line.store, line.about, line.says + took

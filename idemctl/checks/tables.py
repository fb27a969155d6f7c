"""Tables that are not made for what they have to keep."""

from __future__ import annotations

from typing import TYPE_CHECKING

from idemctl.checks.check import POSTGRES, Check, Source, Told
from idemctl.domain.findings import Severity

if TYPE_CHECKING:
    from idemctl.checks.check import Facts
    from idemctl.domain.circumstances import PostgresCircumstances


def _unlogged(table: PostgresCircumstances, _facts: Facts) -> Told | None:
    return Told(evidence="the table is UNLOGGED") if table.is_unlogged else None


TABLE_UNLOGGED = Check(
    code="table-unlogged",
    severity=Severity.CRITICAL,
    engines=POSTGRES,
    source=Source.CIRCUMSTANCES,
    look=_unlogged,
    what="A table, or one of its partitions, that is UNLOGGED.",
    why="A crash of the server empties it, and a standby never has a row of it: after both every "
    "retry is taken for a new request.",
    next="idemctl doctor --store {store}",
)

CHECKS = (TABLE_UNLOGGED,)

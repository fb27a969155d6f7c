"""The ways to servers: each is gone once, however many stores lie at its end."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from idemctl.errors import ExitStatus
from idemctl.operations.doctor.lines import Where

if TYPE_CHECKING:
    from collections.abc import Callable

    from idemctl.domain.purposes import Purpose
    from idemctl.domain.sight import Engine
    from idemctl.operations.doctor.lines import Line
    from idemctl.run.run import Run
    from idemctl.run.target import Target
    from idemctl.stores.keeping import OpensInPostgres, OpensInRedis
    from idemctl.stores.ways import Way

_GOES_ON = {ExitStatus.OK, ExitStatus.FINDINGS, ExitStatus.REFUSED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side of a store, and what is wanted of it."""

    target: Target
    layout: str
    purposes: tuple[Purpose, ...]
    """Those that it can serve, of those that were asked for."""
    unproven: str | None = None
    """Why nothing may be written through its layout, if so: a clause without its subject."""
    proof: str | None = None
    """The command that tries the layout."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping:
    """Where witness and freeze of one store are kept on a server, and what is wanted of them."""

    store: str
    opens: OpensInPostgres | OpensInRedis
    purposes: tuple[Purpose, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Road:
    """One way, and what lies at its end."""

    named: str
    """The variable that holds the connection string."""
    way: Callable[[], Way]
    engine: Engine
    sides: tuple[Side, ...] = ()
    keepings: tuple[Keeping, ...] = ()


def go(road: Road, run: Run) -> tuple[list[Line], str | None]:
    """Look at each stretch; behind one that fails nothing is looked at.

    A server that is too old, or not set up well, is one that can be asked more.

    Returns:
        The lines, and what failed.
    """
    where = Where(server=road.named)
    lines: list[Line] = []
    failed = None
    with closing(road.way()) as way:
        for about, look in way.stretches():
            run.checkpoint()
            if failed is not None:
                lines.append(where.left_out(about, failed))
                continue
            lines.append(where.looked(about, look))
            if lines[-1].status not in _GOES_ON:
                failed = about
    return lines, failed

"""The verb: the ways to all servers, what lies at their ends, and the clocks of pairs."""

from __future__ import annotations

from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

from idemctl.operations.doctor.clocks import compare
from idemctl.operations.doctor.lines import Outcome, Where
from idemctl.operations.doctor.roads import go
from idemctl.operations.doctor.sides import look_at, weigh

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from idemctl.domain.sight import Engine
    from idemctl.operations.doctor.lines import Line
    from idemctl.operations.doctor.roads import Keeping, Road
    from idemctl.run.run import Run
    from idemctl.stores.ports import Store


def doctor(roads: Iterable[Road], known: Iterable[Line], run: Run) -> Outcome:
    """Look at everything; a failure is a line, and the rest is looked at all the same.

    Args:
        roads: the ways to the servers of all stores.
        known: lines about what needs no server.
        run: asked between looks whether to go on.
    """
    lines = list(known)
    clocks: dict[str, dict[Engine, tuple[str, Store]]] = {}
    with ExitStack() as opened:
        for road in roads:
            stretches, failed = go(road, run)
            lines += stretches
            for side in road.sides:
                run.checkpoint()
                where = Where(server=road.named, store=side.target.store)
                if failed is not None:
                    lines.append(where.left_out("place", failed))
                    continue
                store = side.target.opens.open(writable=False)
                opened.callback(store.close)
                place, found = look_at(side, store, where, run)
                lines += found
                if place is not None:
                    # Several layouts of one side are on one server.
                    clocks.setdefault(side.target.store, {}).setdefault(
                        side.target.engine, (place, store)
                    )
            for keeping in road.keepings:
                run.checkpoint()
                where = Where(server=road.named, store=keeping.store)
                if failed is None:
                    # What records lack as well is one fault, and said already.
                    said = {one.fix for one in lines if one.store == keeping.store and one.fix}
                    rights = _keeping_rights(keeping, where)
                    lines += [one for one in rights if one.fix not in said]
                elif all(side.target.store != keeping.store for side in road.sides):
                    lines.append(where.left_out("rights", failed))
        for name, sides in clocks.items():
            lines += compare(name, list(sides.values()))
    return Outcome(lines=tuple(lines))


def _keeping_rights(keeping: Keeping, where: Where) -> Iterator[Line]:
    with closing(keeping.opens.open(writable=False)) as place:
        yield from weigh(keeping.purposes, place.rights, where)

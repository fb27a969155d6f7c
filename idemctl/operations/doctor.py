"""doctor: can idemctl work here? One line for each thing that must be right."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from idemctl.domain.differences import SKEW
from idemctl.domain.purposes import Purpose
from idemctl.domain.records import Status
from idemctl.errors import ExitStatus, IdemctlError, worst
from idemctl.run.fitness import remedy
from idemctl.stores.clock import Clock

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from idemctl.domain.references import Reference
    from idemctl.run.run import Run
    from idemctl.run.target import Target
    from idemctl.stores.answers import Description
    from idemctl.stores.ports import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One thing that was looked at."""

    store: str
    about: str
    """`connection`, `version`, `rights`, `layout`, `clock`."""
    says: str
    status: ExitStatus = ExitStatus.OK
    fix: str | None = None
    took: timedelta = timedelta(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """All lines, in the order in which things were looked at."""

    lines: tuple[Line, ...]

    @property
    def status(self) -> ExitStatus:
        """The worst of the lines."""
        return worst(line.status for line in self.lines)


def doctor(targets: Iterable[Target], known: Iterable[Line], run: Run) -> Outcome:
    """Look at every target; a failure is a line, and the rest is looked at all the same.

    Args:
        targets: what is configured.
        known: lines about the configuration itself.
        run: asked between targets whether to go on.
    """
    lines = list(known)
    with ExitStack() as opened:
        clocks: dict[str, list[tuple[str, Store]]] = {}
        for target in targets:
            run.checkpoint()
            store = target.opens.open(writable=False)
            opened.callback(store.close)
            started = time.perf_counter()
            try:
                description = store.describe()
            except IdemctlError as error:
                lines.append(_failed(target, "connection", error))
                continue
            took = timedelta(seconds=time.perf_counter() - started)
            lines += _described(target, description, took)
            lines += _rights(target, store)
            lines += _read(target, store)
            asked = clocks.setdefault(target.store, [])
            if not (target.is_shared and description.place in dict(asked)):
                asked.append((description.place, store))
        for name, sides in clocks.items():
            lines += _clocks(name, sides)
    return Outcome(lines=tuple(lines))


def _described(target: Target, description: Description, took: timedelta) -> Iterator[Line]:
    name, place = target.store, target.named(description.place)
    role = "replica" if description.is_replica else "primary"
    yield Line(
        store=name,
        about="connection",
        says=f"{place}: {description.product} {description.version}, {role}, as {description.user}",
        took=took,
    )
    if not description.supported:
        yield Line(
            store=name,
            about="version",
            says=f"{place}: {description.product} {description.version} is too old",
            status=ExitStatus.REFUSED,
            fix="PostgreSQL 14, Redis 6.2 and Valkey 7.2 are the oldest that work",
        )
    if description.hides_rows is not None:
        yield Line(
            store=name,
            about="sight",
            says=f"{place}: cannot judge: {description.hides_rows}",
            status=ExitStatus.UNREACHABLE,
            fix="use a role that sees every row, or ask for BYPASSRLS",
        )
    for reference in description.references:
        yield from _hanging(name, place, reference)


def _rights(target: Target, store: Store) -> Iterator[Line]:
    for right in store.rights():
        if right.needed_for == (Purpose.SIGHT,):
            continue
        purposes = ", ".join(right.needed_for)
        yield Line(
            store=target.store,
            about="rights",
            says=f"{right.name} for {purposes}" + ("" if right.granted else ": missing"),
            status=ExitStatus.OK if right.granted else ExitStatus.DENIED,
            fix=None if right.granted else right.grant,
        )


def _hanging(store: str, place: str, reference: Reference) -> Iterator[Line]:
    """Tell what gc does with rows that hang on records, or they with it."""
    if not reference.drags:
        yield Line(
            store=store,
            about="shape",
            says=f"{place}: gc cannot delete a record to which rows of {reference} refer",
        )
    elif reference.is_meant:
        yield Line(
            store=store,
            about="shape",
            says=f"{place}: gc also deletes or changes rows of {reference}, as the layout says",
        )
    else:
        yield Line(
            store=store,
            about="shape",
            says=f"{place}: gc would also delete or change rows of {reference}",
            status=ExitStatus.REFUSED,
            fix=remedy(reference),
        )
    if not reference.has_index:
        yield Line(
            store=store,
            about="shape",
            says=f"{place}: no index finds the rows of {reference} that refer to a record: each "
            "deletion reads that whole table",
            status=ExitStatus.FINDINGS,
            fix=f"CREATE INDEX CONCURRENTLY ON {reference.table} ({reference.columns});",
        )


def _read(target: Target, store: Store) -> Iterator[Line]:
    """Read some records, which shows whether there are such columns as the layout says."""
    try:
        batch = next(iter(store.sample()), None)
    except IdemctlError as error:
        yield _failed(target, "layout", error)
        return
    seen_count = 0 if batch is None else len(batch)
    odd_count = 0 if batch is None else int((batch.status == Status.MALFORMED).sum())
    is_odd = seen_count > 0 and odd_count == seen_count
    through = f"{target.layout}: " if target.is_shared else ""
    yield Line(
        store=target.store,
        about="layout",
        says=f"{through}records looked at: {seen_count:,}, of which fit no status: {odd_count:,}",
        status=ExitStatus.FINDINGS if is_odd else ExitStatus.OK,
        fix="check layout, table and prefix: none of them is read right" if is_odd else None,
    )


def _clocks(name: str, sides: list[tuple[str, Store]]) -> Iterator[Line]:
    """Tell how far the clocks of a pair are apart."""
    match sides:
        case [(place, first), (other, second)]:
            pass
        case _:
            return
    try:
        ahead = Clock.measured(first, second, name).redis_ahead
    except IdemctlError as error:
        yield Line(store=name, about="clock", says=error.message, status=error.status)
        return
    wide = ahead.size > SKEW
    yield Line(
        store=name,
        about="clock",
        says=f"{other} is {ahead.seen_from(place)}",
        status=ExitStatus.FINDINGS if wide else ExitStatus.OK,
        fix="let both servers follow one time source" if wide else None,
    )


def _failed(target: Target, about: str, error: IdemctlError) -> Line:
    return Line(
        store=target.store,
        about=about,
        says=error.message,
        status=error.status,
        fix=error.hint,
    )

"""What lies at the end of a way: a table or a keyspace, what hangs on it, and who may do what."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from idemctl.domain.purposes import Purpose
from idemctl.domain.records import Status
from idemctl.errors import ExitStatus
from idemctl.run.fitness import remedy
from idemctl.stores.ways import Seen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from idemctl.domain.references import Reference
    from idemctl.operations.doctor.lines import Line, Where
    from idemctl.operations.doctor.roads import Side
    from idemctl.run.run import Run
    from idemctl.stores.answers import Description, Right
    from idemctl.stores.ports import Store

_LONGEST_SEARCH = timedelta(seconds=2)
"""For a first record: one prefix may be rare among the keys of others."""


def look_at(side: Side, store: Store, where: Where, run: Run) -> tuple[str | None, list[Line]]:
    """Look at one side; give its place where it can be read, and the lines."""
    found: list[Description] = []

    def place() -> Seen:
        found.append(store.describe())
        rows = found[0].row_estimate
        about = "" if rows is None else f", about {rows:,} rows"
        return Seen(says=f"{side.target.named(found[0].place)}{about}")

    lines = [where.looked("place", place)]
    if not found:
        return None, lines
    [description] = found
    lines += [where.line(about, seen) for about, seen in _described(description)]
    rights = list(weigh(side.purposes, store.rights, where))
    lines += rights
    lines.append(where.looked("layout", lambda: _proven(side)))
    if any(line.status is ExitStatus.DENIED and Purpose.READING in line.says for line in rights):
        lines.append(where.left_out("records", "rights"))
        return None, lines
    lines.append(where.looked("records", lambda: _read(side, store, run)))
    return description.place, lines


def _described(description: Description) -> Iterator[tuple[str, Seen]]:
    place = description.place
    if description.hides_rows is not None:
        yield (
            "sight",
            Seen(
                says=f"{place}: cannot judge: {description.hides_rows}",
                status=ExitStatus.UNREACHABLE,
                fix="use a role that sees every row, or ask for BYPASSRLS",
            ),
        )
    for reference in description.references:
        yield "shape", _hanging(place, reference)
        if not reference.has_index:
            yield (
                "shape",
                Seen(
                    says=f"{place}: no index finds the rows of {reference} that refer to a "
                    "record: each deletion reads that whole table",
                    status=ExitStatus.FINDINGS,
                    fix=f"CREATE INDEX CONCURRENTLY ON {reference.table} ({reference.columns});",
                ),
            )


def _hanging(place: str, reference: Reference) -> Seen:
    """Tell what gc does with rows that hang on records, or they with it."""
    if not reference.drags:
        return Seen(says=f"{place}: gc cannot delete a record to which rows of {reference} refer")
    if reference.is_meant:
        return Seen(
            says=f"{place}: gc also deletes or changes rows of {reference}, as the layout says"
        )
    return Seen(
        says=f"{place}: gc would also delete or change rows of {reference}",
        status=ExitStatus.REFUSED,
        fix=remedy(reference),
    )


def weigh(
    purposes: Sequence[Purpose], ask: Callable[[], Sequence[Right]], where: Where
) -> Iterator[Line]:
    """Tell of each purpose what it takes, where all is there, and of each right that is not."""
    asked: list[Right] = []

    def reading() -> Seen:
        asked.extend(ask())
        return Seen(says="")

    line = where.looked("rights", reading)
    if line.status is not ExitStatus.OK:
        yield line
        return
    took = line.took
    for seen in _weighed(purposes, asked):
        yield replace(where.line("rights", seen), took=took)
        took = timedelta(0)


def _weighed(purposes: Sequence[Purpose], rights: Sequence[Right]) -> Iterator[Seen]:
    for purpose in purposes:
        needed = [one for one in rights if purpose in one.needed_for]
        if needed and all(one.granted for one in needed):
            names = ", ".join(dict.fromkeys(one.name for one in needed))
            yield Seen(says=f"{purpose}: {names}")
    for one in rights:
        wanted = [each for each in one.needed_for if each in {*purposes, Purpose.SIGHT}]
        if wanted and not one.granted:
            is_needed = wanted != [Purpose.SIGHT]
            yield Seen(
                says=f"{one.name} for {', '.join(wanted)}: missing",
                status=ExitStatus.DENIED if is_needed else ExitStatus.OK,
                is_judged=is_needed,
                fix=one.grant or None,
            )


def _proven(side: Side) -> Seen:
    if side.unproven is None:
        return Seen(says=f"{side.layout}: proven")
    return Seen(
        says=f"{side.layout} {side.unproven}: nothing is changed through it",
        is_judged=False,
        fix=side.proof,
    )


def _read(side: Side, store: Store, run: Run) -> Seen:
    """Read some records, which shows whether they are such as the layout says."""
    started = time.perf_counter()
    for batch in store.sample():
        took = timedelta(seconds=time.perf_counter() - started)
        if len(batch) == 0 and took < _LONGEST_SEARCH:
            run.checkpoint()
            continue
        if len(batch) == 0:
            break
        odd_count = int((batch.status == Status.MALFORMED).sum())
        is_odd = odd_count == len(batch)
        return Seen(
            says=side.target.named(
                f"looked at: {len(batch):,}, of which fit no status: {odd_count:,}"
            ),
            status=ExitStatus.FINDINGS if is_odd else ExitStatus.OK,
            fix="check layout, table and prefix: none of them is read right" if is_odd else None,
        )
    return Seen(
        says="none was found, so nobody can tell whether layout, table and prefix are right",
        is_judged=False,
    )

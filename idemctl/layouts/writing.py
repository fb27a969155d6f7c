"""The hot path the other way: rows turned into what their twins hold.

Like reading, it works on whole columns and does the same thing to every row.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import starmap
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from idemctl.domain.instants import FOREVER, MISSING
from idemctl.domain.records import Status
from idemctl.layouts.decoding import is_unescaped
from idemctl.layouts.transcript import FLAG_VALUE, Instant, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from idemctl.domain.batch import Batch
    from idemctl.layouts.instants import Unit
    from idemctl.layouts.transcript import Transcript


def written(
    transcript: Transcript, batch: Batch, columns: Mapping[str, Sequence[object]]
) -> list[bytes]:
    """Write the twin of each row; one without a status that it has a word for says null there.

    Args:
        transcript: what a twin holds.
        batch: the rows.
        columns: by name, what `Value` members are made of, row by row, as msgspec takes it.
    """
    if not transcript.members:
        return [FLAG_VALUE] * len(batch)
    words = [transcript.words.get(status) for status in Status]
    members: list[Sequence[object]] = []
    for member in transcript.members:
        match member.source:
            case Value(column=column):
                members.append(columns[column])
            case Instant(of=name, unit=unit):
                is_lease = name == "lease_until"
                members.append(_numbers(getattr(batch, name), unit, up=is_lease))
            case None:
                members.append([words[number] for number in batch.status.tolist()])
    shape = _shape(tuple(member.name for member in transcript.members))
    return list(map(msgspec.json.Encoder().encode, starmap(shape, zip(*members, strict=True))))


@lru_cache(maxsize=8)
def _shape(names: tuple[str, ...]) -> Callable[..., object]:
    """Make what a row is poured into: a third of what a dictionary costs."""
    if not all(map(is_unescaped, names)):
        return lambda *values: dict(zip(names, values, strict=True))
    fields = [f"member{at}" for at in range(len(names))]
    renamed = dict(zip(fields, names, strict=True))
    return msgspec.defstruct("Twin", fields, rename=renamed, gc=False)


def _numbers(instants: NDArray[np.int64], unit: Unit, *, up: bool) -> list[int | None]:
    """Write instants as numbers of a unit.

    Rounded down, so that no promise is told longer than it is; a lease up, so that nobody
    takes it for over while its owner works.
    """
    gone = (instants == MISSING) | (instants == FOREVER)
    known = np.where(gone, 0, instants)
    tenth, before = unit.scale
    # One of both is one.
    micros_in_unit, units_in_micro = max(tenth // 10, 1), max(10 // tenth, 1)
    whole = -(-known // micros_in_unit) if up else known // micros_in_unit
    numbers: list[int | None] = (whole * units_in_micro + before).tolist()
    for row in gone.nonzero()[0].tolist():
        numbers[row] = None
    return numbers

"""The faults: each a function with the code of the check or difference that must name it.

A fault plants records of its own beside the healthy ones, and has no other fault besides:
what is expected in Redis is there unless its absence is the fault. Nothing in a key gives
it away, but where the key itself is the fault.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from idemctl.sandbox.seed.faults import others, rows, twins
from idemctl.sandbox.seed.faults.plant import Plant, faults_of
from idemctl.sandbox.seed.manifest import SAMPLE_SIZE, PlantedFault

if TYPE_CHECKING:
    from idemctl.sandbox.seed.writer import Writer

_FEWEST = 3


def plant_all(writer: Writer, *, records: int, seed: int) -> tuple[PlantedFault, ...]:
    """Plant every fault beside `records` healthy ones; its size depends on that number alone."""
    planted = []
    for one in [*faults_of(rows), *faults_of(twins), *faults_of(others)]:
        count = max(_FEWEST, records // one.one_in)
        stream = f"{one.code}/{one.side}"
        keys = one.plant(Plant(writer, code=stream, count=count, seed=seed))
        planted.append(
            PlantedFault(
                code=one.code,
                store=one.store,
                side=one.side,
                count=len(keys),
                sample=tuple(keys[:SAMPLE_SIZE]),
                note=one.note,
            )
        )
    return tuple(planted)

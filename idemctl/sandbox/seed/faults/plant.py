"""The plant: what every fault is made with, and the list that faults enter by `@fault`."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from idemctl.sandbox.seed import draws, payments, population
from idemctl.sandbox.seed.manifest import PlantedKey
from idemctl.sandbox.seed.rows import DAY, HOUR

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

    from numpy.typing import NDArray

    from idemctl.sandbox.seed.rows import Payment, WorkflowRun, WorkflowStep
    from idemctl.sandbox.seed.writer import Writer

COMMON = 2_000
"""One record in so many has a common fault."""
RARE = 10_000
"""One record in so many has a rare fault."""

_STREAM = 100


class Plant:
    """One group of one fault: its own random numbers, how many, and where they go."""

    def __init__(self, writer: Writer, *, code: str, count: int, seed: int) -> None:
        self.writer = writer
        self.count = count
        self.now = writer.now
        self.rng = draws.generator(seed, _STREAM, zlib.crc32(code.encode()))

    def ages(self, youngest: int, oldest: int) -> NDArray[np.int64]:
        """Draw an age for each, oldest first."""
        return np.sort(self.rng.integers(youngest, oldest, self.count))[::-1]

    def payments(self, youngest: int, oldest: int) -> list[Payment]:
        """Draw completed payments with ages between, for the fault to spoil."""
        return payments.settled(
            self.rng,
            ages=self.ages(youngest, oldest),
            now=self.now,
            first_fence=self.writer.next_fence,
            failures=False,
        )

    def fresh(self) -> list[Payment]:
        """Draw payments that are expected in Redis, and will be for hours."""
        return self.payments(HOUR, 20 * HOUR)

    def settled(self) -> list[Payment]:
        """Draw payments that Redis has forgotten and Postgres keeps for days to come."""
        return self.payments(2 * DAY, 5 * DAY)

    def runs(self) -> tuple[list[WorkflowRun], list[WorkflowStep]]:
        """Draw finished runs that are kept for days to come."""
        ages = self.ages(2 * DAY, 5 * DAY)
        return population.runs_of(self.rng, ages=ages, now=self.now, failures=False)


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault: what it is called, where it lies, and what plants it."""

    code: str
    store: str
    side: str
    one_in: int
    note: str
    plant: Callable[[Plant], list[PlantedKey]]


def fault(
    store: str, side: str, *, note: str, one_in: int = RARE
) -> Callable[[Callable[[Plant], list[PlantedKey]]], Fault]:
    """Make a function a fault, with its name as the code."""

    def make(plant: Callable[[Plant], list[PlantedKey]]) -> Fault:
        code = plant.__name__.removesuffix("_in_redis").replace("_", "-")
        return Fault(code, store, side, one_in, note, plant)

    return make


def faults_of(module: ModuleType) -> list[Fault]:
    """Give the faults that a module defines, in its order."""
    return [value for value in vars(module).values() if isinstance(value, Fault)]


def keys_of(rows: Sequence[Payment]) -> list[PlantedKey]:
    """Give the keys of payments, as the manifest shows them."""
    return [PlantedKey.of(row.idempotency_key.encode(), row.scope) for row in rows]

"""The clocks of a pair: how far they are apart, and that they are looked at again."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

from idemctl.domain.differences import SKEW
from idemctl.domain.skew import Skew
from idemctl.domain.sweeps import Suspects
from idemctl.errors import Refused
from idemctl.stores.clock import Clock
from tests.domain.batches import NOW
from tests.run.twins import Side, Twins

if TYPE_CHECKING:
    from datetime import datetime

    from idemctl.stores.ports import Describes

SECOND = timedelta(seconds=1)
NOTHING = Suspects(
    keys=[], scopes=[], difference=np.zeros(0, np.uint8), versions=np.zeros(0, np.uint64)
)


class At:
    """A clock that goes on by a millisecond each time it is read."""

    def __init__(self, start: datetime) -> None:
        self.time = start
        self.read_count = 0

    def clock(self) -> datetime:
        self.read_count += 1
        self.time += timedelta(milliseconds=1)
        return self.time


def read(postgres: At, redis: At) -> Clock:
    return Clock.read(cast("Describes", postgres), cast("Describes", redis), "payments")


def test_the_distance_lies_between_two_readings_of_postgres() -> None:
    clock = read(At(NOW), At(NOW + SECOND))
    # Postgres said 1 ms and then 2 ms; Redis 1,001 ms between.
    assert clock.redis_ahead == Skew(timedelta(milliseconds=999), SECOND)
    assert clock.redis_ahead.size == timedelta(milliseconds=999)
    assert clock.read_at == NOW + 2 * SECOND / 1000


@pytest.mark.parametrize("apart", [SKEW + SECOND, -SKEW - SECOND])
def test_clocks_too_far_apart_are_refused_with_the_name_of_the_store(apart: timedelta) -> None:
    with pytest.raises(Refused, match=r"payments: the clocks of both stores are 3\.0 s apart"):
        read(At(NOW), At(NOW + apart))


class Ticking(Side):
    """A side that has a clock, and is filled with nothing."""

    def __init__(self, at: At) -> None:
        super().__init__()
        self.clock = at.clock

    def fill(self, *_: Any, now: int) -> None:
        """See `Fills.fill`."""

    def hold_keys(self, *_: Any) -> Any:
        """End here: what comes before is of interest."""
        raise StopIteration


@pytest.mark.parametrize(("age", "read_count"), [(0, 0), (60, 1)])
def test_who_fills_reads_the_clocks_again_when_they_were_read_long_ago(
    age: float, read_count: int
) -> None:
    redis = At(NOW)
    pair = Twins(Ticking(At(NOW)), Ticking(redis)).opened
    pair.clock = replace(pair.clock, began=pair.clock.began - age)
    with suppress(StopIteration):
        pair.fill(cast("Any", None), NOTHING)
    assert redis.read_count == read_count

"""Logs of hits made in memory, for what works on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from idemctl.domain.traffic import Fault, Reading, Sample
from tests.domain.traffic_worlds import a_world

if TYPE_CHECKING:
    from collections.abc import Callable

    from idemctl.domain.traffic import Traffic
    from idemctl.errors import IdemctlError
    from tests.domain.traffic_worlds import World


@dataclass(frozen=True, kw_only=True)
class Log:
    """A log that holds a reading, or cannot be read."""

    reading: Reading
    store: str | None = "payments"
    error: IdemctlError | None = None

    def read(self, watch: Callable[[], None]) -> Reading:
        watch()
        if self.error is not None:
            raise self.error
        return self.reading


def stormy() -> World:
    world = a_world()
    world.storm(300, ago=100, lasts=8, where=[(0, 1)])
    return world


def a_reading(traffic: Traffic, *, unreadable: int = 0, unkeyed: int = 0) -> Reading:
    return Reading(
        traffic=traffic,
        line_count=traffic.request_count + unreadable + unkeyed,
        unkeyed_count=unkeyed,
        unreadable={Fault.NO_INSTANT: unreadable} if unreadable else {},
        samples=(Sample(fault=Fault.NO_INSTANT, seen=b"\x1b[2J"),) if unreadable else (),
    )

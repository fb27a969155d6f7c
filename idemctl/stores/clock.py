"""The time at both stores of a pair."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from idemctl.domain.differences import SKEW
from idemctl.domain.skew import Skew
from idemctl.errors import Refused

if TYPE_CHECKING:
    from datetime import datetime
    from typing import Self

    from idemctl.stores.ports import Describes


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """The time at Postgres, carried on from one reading of it, and how far Redis is from it."""

    read_at: datetime
    store: str = ""
    redis_ahead: Skew = field(default_factory=Skew)
    began: float = field(default_factory=time.monotonic)

    @classmethod
    def measured(cls, postgres: Describes, redis: Describes, store: str) -> Self:
        """Read both clocks, the one of Postgres before and after that of Redis."""
        before, between, after = postgres.clock(), redis.clock(), postgres.clock()
        return cls(read_at=after, store=store, redis_ahead=Skew.between(before, between, after))

    @classmethod
    def read(cls, postgres: Describes, redis: Describes, store: str) -> Self:
        """Read both clocks where their expiries are to be compared.

        Raises:
            Refused: they are so far apart that no expiry means the same in both.
        """
        clock = cls.measured(postgres, redis, store)
        apart = clock.redis_ahead.size
        if apart > SKEW:
            raise Refused(
                f"{store}: the clocks of both stores are {apart.total_seconds():.1f} s "
                "apart, so their expiries cannot be compared",
                hint="let both servers follow one time source",
            )
        return clock

    def now(self) -> datetime:
        """Give the time at Postgres."""
        return self.read_at + timedelta(seconds=time.monotonic() - self.began)

"""The part of idemctl.yaml that says when gc waits."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from idemctl.domain.throttle import Limits, Strain
from idemctl.run.throttle import Throttling
from idemctl.settings.kinds import AnchoredPath, Duration

_USUAL = Throttling()


class ThrottleSettings(BaseModel):
    """When gc waits, before a batch, for the server that it deletes from."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    wait_for: frozenset[Literal["standbys", "wal", "vacuum", "snapshots"]] = frozenset(
        ("standbys", "wal", "vacuum", "snapshots")
    )
    """What is heeded."""
    lag: Duration = _USUAL.limits.lag
    """A standby that is further behind is waited for, by time or by bytes."""
    lag_bytes: Annotated[int, Field(ge=1)] = _USUAL.limits.lag_bytes
    wal_bytes: Annotated[int, Field(ge=1)] = _USUAL.limits.wal_bytes
    """What may be kept for a slot, or wait for the archive."""
    snapshot_age: Duration = _USUAL.limits.snapshot_age
    """An older snapshot is waited for: it keeps dead rows where they are."""
    query: Annotated[str, Field(min_length=1)] | None = None
    """SQL that gives one boolean: true says to wait. It is run where nothing can be written."""
    pause_file: AnchoredPath | None = None
    """While it is there, gc waits."""
    stop_file: AnchoredPath | None = None
    """Where it is there, gc ends after its batch."""
    longest_wait: Duration = _USUAL.longest_wait
    """After so long in one piece gc gives up until its next run."""

    def throttling(self, standby_count: int) -> Throttling:
        """Give what a run goes by, on a server that so many standbys have to follow."""
        return Throttling(
            limits=Limits(
                wait_for=frozenset(map(Strain, self.wait_for)),
                lag=self.lag,
                lag_bytes=self.lag_bytes,
                wal_bytes=self.wal_bytes,
                snapshot_age=self.snapshot_age,
                standby_count=standby_count,
            ),
            query=self.query,
            pause_file=self.pause_file,
            stop_file=self.stop_file,
            longest_wait=self.longest_wait,
        )

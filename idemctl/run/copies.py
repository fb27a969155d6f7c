"""What stands in the places of one store's witness and freeze, as it was read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from idemctl.domain.witness import Copies, Servers
from idemctl.stores.keeping import Process

if TYPE_CHECKING:
    from idemctl.domain.freezes import Freeze
    from idemctl.domain.verdicts import Judgement
    from idemctl.domain.witness import Witness
    from idemctl.errors import IdemctlError
    from idemctl.stores.keeping import Cluster, Generation


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """What one place holds; or why nobody can tell."""

    name: str
    """`postgres`, `redis` or `folder`."""
    place: str
    witness: Witness | None = None
    freeze: Freeze | None = None
    failure: IdemctlError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """What all places hold, and what their servers say."""

    copies: tuple[Copy, ...]
    cluster: Cluster | None = None
    generation: Generation | None = None
    process: Process | None = None

    @property
    def failure(self) -> IdemctlError | None:
        """What kept a place from being read; `None` where all were."""
        return next((one.failure for one in self.copies if one.failure is not None), None)

    @property
    def freeze(self) -> tuple[Freeze, str] | None:
        """The freeze, and a place that says so."""
        return next(
            ((one.freeze, one.place) for one in self.copies if one.freeze is not None), None
        )

    @property
    def witnesses(self) -> Copies:
        """The copies, to be compared; only where all could be read."""
        by_name = {one.name: one.witness for one in self.copies}
        return Copies(
            postgres=by_name["postgres"],
            redis=by_name.get("redis"),
            folder=by_name["folder"],
            is_pair="redis" in by_name,
        )

    @property
    def servers(self) -> Servers:
        """What the servers say of themselves."""
        assert self.cluster is not None, "only where Postgres was read"
        process = self.process or Process(now=self.cluster.now)
        return Servers(
            now=self.cluster.now,
            system_identifier=self.cluster.system_identifier,
            timeline=self.cluster.timeline,
            postgres_started_at=self.cluster.started_at,
            run_id=process.run_id,
            redis_started_at=process.started_at,
            flush_calls=process.flush_calls,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat:
    """What came of a beat."""

    judgement: Judgement
    witness: Witness | None
    """`None` where it would have hidden what the copies tell."""

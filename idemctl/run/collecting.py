"""The walk of gc through one store, or through one shard of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator

    from idemctl.domain.allowance import Allowance
    from idemctl.domain.collection import Chunk
    from idemctl.domain.retention import Retention
    from idemctl.stores.answers import Shard
    from idemctl.stores.ports import Opens, Store


@dataclass(frozen=True, slots=True)
class ShardTask:
    """One shard of a walk, for a worker process. See `run.shards.Task`."""

    opens: Opens
    retention: Retention
    apply: bool
    allowance: Allowance

    def steps(self, shard: Shard) -> Generator[Chunk]:
        """See `Task.steps`."""
        store = self.opens.open(writable=self.apply)
        try:
            yield from self.steps_in(store, shard)
        finally:
            store.close()

    def steps_in(self, store: Store, shard: Shard) -> Generator[Chunk]:
        """Do it in a store that is open; each shard has its part of what may go."""
        if not self.apply:
            return store.survey(self.retention, shard)
        return store.collect(self.retention, shard, self.allowance.part(shard.index, shard.count))

"""Archives of what is deleted, as stores see them: written before a batch commits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Never, Protocol

from idemctl.errors import Unsupported
from idemctl.stores.answers import WHOLE

if TYPE_CHECKING:
    from collections.abc import Generator

    from idemctl.domain.archived import Origin, Shape, Taken
    from idemctl.domain.collection import Chunk
    from idemctl.domain.retention import Retention
    from idemctl.stores.answers import Shard


class Archive(Protocol):
    """Keeps the rows of one walk."""

    def begin(self, origin: Origin) -> None:
        """Say where the rows come from, before any of them."""
        ...

    def describe(self, shape: Shape) -> None:
        """Say what columns a table has, before any of its rows."""
        ...

    def keep(self, taken: Taken) -> None:
        """Keep a batch; when this returns, it is on disk.

        Raises:
            IdemctlError: it is not, and must not be committed.
        """
        ...

    def void(self) -> None:
        """Say that the batch kept last was rolled back."""
        ...


class Archives(Protocol):
    """Hands over what it deletes."""

    def collect_into(
        self,
        archive: Archive,
        retention: Retention,
        shard: Shard = WHOLE,
        limit: int | None = None,
    ) -> Generator[Chunk]:
        """Collect as `Collects.collect` does; each batch is in the archive before it commits.

        Raises:
            Unsupported: rows go that the archive would not see.
        """
        ...


class Unarchived:
    """A store whose rows cannot be archived. See `Archives`."""

    def collect_into(
        self,
        archive: Archive,
        retention: Retention,
        shard: Shard = WHOLE,
        limit: int | None = None,
    ) -> Never:
        """Refuse: see `Archives.collect_into`.

        Raises:
            Unsupported: always.
        """
        del archive, retention, shard, limit
        raise Unsupported(
            "records of this store go to no archive", hint="gc archives rows of Postgres alone"
        )

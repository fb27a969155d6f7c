"""Archives of what is deleted, as stores see them: written before a batch commits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Never, Protocol

from idemctl.errors import Unsupported
from idemctl.stores.answers import WHOLE

if TYPE_CHECKING:
    from collections.abc import Generator

    from idemctl.domain.archived import Origin, Restored, Shape, Taken
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


class Restorer(Protocol):
    """Brings back the records of one archive."""

    def expect(self, shape: Shape) -> None:
        """Hear what columns the rows of a table have, before any of them.

        Raises:
            Refused: the table has other ones now.
        """
        ...

    def look(self, taken: Taken) -> Generator[Restored]:
        """Find out which records of a batch are there; changes nothing."""
        ...

    def restore(self, taken: Taken) -> Generator[Restored]:
        """Put back what is absent, children with it, and yield after each commit.

        Nothing that is there is touched, whatever it is.
        """
        ...


class Archives(Protocol):
    """Hands over what it deletes, and takes it back."""

    def restorer(self, origin: Origin) -> Restorer:
        """Make ready to take back what an archive holds.

        Raises:
            Unsupported: nothing here would keep a record apart from a newer one of its key.
            Refused: it comes from somewhere else.
        """
        ...

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

    def restorer(self, origin: Origin) -> Never:
        """Refuse: see `Archives.restorer`.

        Raises:
            Unsupported: always.
        """
        del origin
        raise Unsupported(
            "no archive holds records of this store", hint="gc archives rows of Postgres alone"
        )

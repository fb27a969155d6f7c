"""How stores are opened, as values that can be carried to another process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from idemctl.domain.secrets import Secret
    from idemctl.layouts.model import PostgresLayout, RedisLayout
    from idemctl.layouts.sharing import Turn
    from idemctl.stores.keeping import KeepsInPostgres, KeepsInRedis
    from idemctl.stores.ports import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresTableOpener:
    """How to open a table. See `stores.ports.Opens`."""

    dsn: Secret
    direct_dsn: Secret
    table: str
    layout: PostgresLayout
    application: str

    def open(self, *, writable: bool) -> Store:
        """See `Opens.open`."""
        from idemctl.stores.postgres.table import PostgresTable

        return PostgresTable(
            dsn=self.dsn,
            direct_dsn=self.direct_dsn,
            table=self.table,
            layout=self.layout,
            writable=writable,
            application=self.application,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisKeyspaceOpener:
    """How to open a keyspace. See `stores.ports.Opens`."""

    url: Secret
    prefix: str
    layout: RedisLayout
    turn: Turn
    application: str

    def open(self, *, writable: bool) -> Store:
        """See `Opens.open`."""
        from idemctl.stores.redis.keyspace import RedisKeyspace

        return RedisKeyspace(
            url=self.url,
            prefix=self.prefix,
            layout=self.layout,
            turn=self.turn,
            writable=writable,
            application=self.application,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresKeepingOpener:
    """How to open witness and freeze of one store in Postgres."""

    dsn: Secret
    schema: str
    store: str
    table: str
    epoch_column: str | None
    fence_column: str | None
    application: str

    def open(self, *, writable: bool) -> KeepsInPostgres:
        """Make the place; it connects when it is first asked something."""
        from idemctl.stores.postgres.keeping import PostgresKeeping

        return PostgresKeeping(
            dsn=self.dsn,
            schema=self.schema,
            store=self.store,
            table=self.table,
            epoch_column=self.epoch_column,
            fence_column=self.fence_column,
            writable=writable,
            application=self.application,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisKeepingOpener:
    """How to open witness and freeze of one store in Redis."""

    url: Secret
    store: str
    has_witness: bool
    application: str

    def open(self, *, writable: bool) -> KeepsInRedis:
        """Make the place; it connects when it is first asked something."""
        from idemctl.stores.redis.keeping import RedisKeeping

        return RedisKeeping(
            url=self.url,
            store=self.store,
            has_witness=self.has_witness,
            writable=writable,
            application=self.application,
        )

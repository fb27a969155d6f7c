"""Witness and freeze in Postgres: two tables of idemctl's own, in the configured schema."""

from __future__ import annotations

from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from psycopg import sql

from idemctl.domain.freezes import Freeze
from idemctl.domain.witness import Witness
from idemctl.errors import ConfigError, Denied, Unreachable
from idemctl.stores.keeping import Cluster, Generation
from idemctl.stores.postgres.connect import BatchFailed, connect, transaction
from idemctl.stores.postgres.keeping_rights import EPOCH, list_rights, own_tables
from idemctl.stores.postgres.queries import query

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from psycopg import Cursor

    from idemctl.domain.secrets import Secret
    from idemctl.stores.answers import Right
    from idemctl.stores.postgres.connect import Connection

_WITNESS, _FREEZE = "idemctl_witness", "idemctl_freeze"
_MARGIN = 1_000
"""So many fences may be given out by others while the sequence is moved."""


class PostgresKeeping:
    """See `stores.keeping.KeepsInPostgres`."""

    def __init__(
        self,
        *,
        dsn: Secret,
        schema: str,
        store: str,
        table: str,
        epoch_column: str | None,
        fence_column: str | None,
        writable: bool,
        application: str,
    ) -> None:
        self.place = f"postgres {schema}"
        self._dsn = dsn
        self._schema = schema
        self._store = sql.Literal(store)
        self._store_name = store
        self._table = table
        self._epoch_column = epoch_column
        self._fence_column = fence_column
        self._writable = writable
        self._application = application

    def witness(self) -> Witness | None:
        """See `Keeps.witness`."""
        with self._on(_WITNESS) as cursor:
            row = cursor.execute(self._query("witness")).fetchone()
        if row is None:
            return None
        nonce, epoch, beats, beat_at, identifier, timeline, run_ids, flushes, fence = row
        return Witness(
            nonce=nonce,
            epoch=epoch,
            beats=beats,
            beat_at=beat_at,
            system_identifier=identifier,
            timeline=timeline,
            run_ids=tuple(run_ids),
            flush_calls=flushes,
            fence=fence,
        )

    def write_witness(self, witness: Witness, *, instead_of: Witness | None) -> bool:
        """See `Keeps.write_witness`."""
        values: dict[str, Any] = {
            "nonce": witness.nonce,
            "epoch": witness.epoch,
            "hb": witness.beats,
            "hb_at": witness.beat_at,
            "system_identifier": witness.system_identifier,
            "timeline_id": witness.timeline,
            "redis_run_ids": list(witness.run_ids),
            "redis_flushes": witness.flush_calls,
            "fence": witness.fence,
        }
        name = "write_first_witness"
        if instead_of is not None:
            name = "write_witness"
            values |= {"seen_hb": instead_of.beats, "seen_nonce": instead_of.nonce}
        with self._on(_WITNESS) as cursor:
            return cursor.execute(self._query(name, **values)).rowcount == 1

    def freeze(self, now: datetime | None = None) -> Freeze | None:
        """See `Keeps.freeze`."""
        del now
        with self._on(_FREEZE) as cursor:
            row = cursor.execute(self._query("freeze")).fetchone()
        if row is None:
            return None
        by, reason, run_id, frozen_at, until = row
        return Freeze(
            store=self._store_name,
            by=by,
            reason=reason,
            run_id=run_id,
            frozen_at=frozen_at,
            until=until,
        )

    def write_freeze(self, freeze: Freeze) -> None:
        """See `Keeps.write_freeze`."""
        filled = self._query(
            "write_freeze",
            by=freeze.by,
            reason=freeze.reason,
            run_id=freeze.run_id,
            frozen_at=freeze.frozen_at,
            until=freeze.until,
        )
        with self._on(_FREEZE) as cursor:
            cursor.execute(filled)

    def thaw(self) -> bool:
        """See `Keeps.thaw`."""
        with self._on(_FREEZE) as cursor:
            return cursor.execute(self._query("thaw")).rowcount > 0

    def cluster(self) -> Cluster:
        """See `KeepsInPostgres.cluster`; managed services may not tell everything."""
        with transaction(self._connection, place=self.place) as cursor:
            row = cursor.execute(query("own_clock")).fetchone()
        assert row is not None, "a clock always answers"
        now, started_at = row
        identifier = timeline = None
        try:
            with transaction(self._connection, place=self.place) as cursor:
                row = cursor.execute(query("own_server")).fetchone()
            assert row is not None, "a server has one control file"
            identifier, timeline = row
        except (Denied, ConfigError, BatchFailed):
            # The functions are not there, or not for this user.
            pass
        return Cluster(
            now=now, started_at=started_at, system_identifier=identifier, timeline=timeline
        )

    def generation(self) -> Generation:
        """See `KeepsInPostgres.generation`."""
        sequence = self._sequence
        return Generation(
            epoch=self._epoch(),
            sequence=None if sequence is None else str(sequence[1]),
            fence=None if sequence is None else int(sequence[2] or 0),
        )

    def renew(self, *, epoch: int | None, fence: int | None) -> None:
        """See `KeepsInPostgres.renew`."""
        sequence = self._sequence
        with transaction(self._connection, place=self.place) as cursor:
            if epoch is not None:
                cursor.execute(query("raise_epoch"), {"epoch": epoch})
            if fence is not None and sequence is not None:
                cursor.execute(
                    query("move_fence"),
                    {"sequence": sequence[0], "fence": fence + _MARGIN, "past": fence},
                )

    def rights(self) -> Sequence[Right]:
        """See `KeepsOnServer.rights`."""
        asks, schemas, found = own_tables(
            self._connection,
            schema=self._schema,
            tables=(_WITNESS, _FREEZE),
            has_epoch=self._epoch_column is not None,
            place=self.place,
        )
        for table in (_WITNESS, _FREEZE):
            if table not in found:
                raise _absent(f"{self.place}: there is no {self._schema}.{table}", table)
        rights = list_rights(
            asks,
            schemas,
            witness=found[_WITNESS],
            freeze=found[_FREEZE],
            epoch=found.get(EPOCH),
            sequence=self._sequence,
        )
        return list(rights)

    def close(self) -> None:
        """See `Keeps.close`."""
        if "_connection" in self.__dict__:
            self._connection.close()

    @cached_property
    def _connection(self) -> Connection:
        return connect(
            self._dsn, place=self.place, application=self._application, writable=self._writable
        )

    @property
    def _sequence(self) -> tuple[Any, ...] | None:
        if self._fence_column is None:
            return None
        with transaction(self._connection, place=self.place) as cursor:
            return cursor.execute(
                query("fence_sequence"), {"table": self._table, "column": self._fence_column}
            ).fetchone()

    def _epoch(self) -> int | None:
        if self._epoch_column is None:
            return None
        with transaction(self._connection, place=self.place) as cursor:
            there = cursor.execute(query("epoch_table")).fetchone()
            if there is None or not there[0]:
                return None
            row = cursor.execute(query("epoch")).fetchone()
        return None if row is None else int(row[0])

    @contextmanager
    def _on(self, table: str) -> Iterator[Cursor[tuple[Any, ...]]]:
        try:
            with transaction(self._connection, place=self.place) as cursor:
                yield cursor
        except Unreachable:
            # A run looks again and again: the next look deserves a connection of its own.
            self.close()
            self.__dict__.pop("_connection", None)
            raise
        except ConfigError as error:
            said = error.message.removeprefix(f"{self.place}: ")
            raise _absent(f"{self.place}: {said}", table) from None

    def _query(self, name: str, **values: Any) -> sql.Composed:
        return query(
            name,
            store=self._store,
            witness=sql.Identifier(self._schema, _WITNESS),
            freeze=sql.Identifier(self._schema, _FREEZE),
            **{slot: sql.Literal(value) for slot, value in values.items()},
        )


def _absent(message: str, table: str) -> ConfigError:
    return ConfigError(
        message,
        hint=f"state.schema says that {table} is there; as the owner of the database: "
        "idemctl schema own | psql",
    )

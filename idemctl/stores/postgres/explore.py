"""Looks through a database for tables that may hold keys."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from idemctl.layouts.detect import SeenTable
from idemctl.stores.postgres.connect import connect, transaction
from idemctl.stores.postgres.queries import query

if TYPE_CHECKING:
    from idemctl.domain.secrets import Secret
    from idemctl.stores.postgres.connect import Connection

PLACE = "postgres"


class PostgresDatabase:
    """See `stores.exploring.ListsTables`."""

    def __init__(self, *, dsn: Secret, application: str) -> None:
        self._dsn = dsn
        self._application = application

    def tables(self) -> list[SeenTable]:
        """See `ListsTables.tables`."""
        with transaction(self._connection, place=PLACE) as cursor:
            rows = cursor.execute(query("tables")).fetchall()
        return [
            SeenTable(
                schema=schema,
                name=name,
                columns=columns,
                unique=frozenset(map(frozenset, unique)),
            )
            for schema, name, columns, unique in rows
        ]

    def close(self) -> None:
        """See `Closes.close`."""
        if "_connection" in self.__dict__:
            self._connection.close()

    @cached_property
    def _connection(self) -> Connection:
        return connect(self._dsn, place=PLACE, application=self._application, writable=False)

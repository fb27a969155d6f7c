"""The databases that stores lead to, to be looked through as if nobody knew who writes there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from idemctl.bootstrap.layouts import preset, preset_files, where_of
from idemctl.bootstrap.openers import PostgresTableOpener
from idemctl.layouts.detect import Configured
from idemctl.operations.layout_detect import Database, Keyspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from idemctl.bootstrap.layouts import Catalogue
    from idemctl.domain.secrets import Secret
    from idemctl.layouts.model import Layout, PostgresLayout
    from idemctl.run.run import Run
    from idemctl.settings import Settings
    from idemctl.stores.exploring import ListsTables, ShowsKeys
    from idemctl.stores.ports import Opens


@dataclass(frozen=True, slots=True, kw_only=True)
class Exploration:
    """What can be looked through, and by what."""

    databases: tuple[Database, ...]
    keyspaces: tuple[Keyspace, ...]
    layouts: tuple[Layout, ...]
    """The presets, and those that stores name."""


class Explorer:
    """Finds out what there is to look through."""

    def __init__(self, settings: Settings, catalogue: Catalogue, run: Run) -> None:
        self._settings, self._catalogue = settings, catalogue
        self._application = run.application
        self._own: dict[str, Layout] = {}

    def exploration(self) -> Exploration:
        """Group the chosen stores by the databases that they lie in.

        Raises:
            ConfigError: a store leads nowhere, or names a layout that there is not.
        """
        databases = tuple(
            Database(
                configured=tuple(configured),
                explore=self._explores_postgres(dsn),
                through=self._opens(dsn),
                variable=variable,
            )
            for (dsn, variable), configured in self._grouped(self._postgres())
        )
        keyspaces = tuple(
            Keyspace(
                configured=tuple(configured),
                explore=self._explores_redis(url),
                variable=variable,
            )
            for (url, variable), configured in self._grouped(self._redis())
        )
        presets = {name: preset(name) for name in preset_files()}
        layouts = tuple((presets | self._own).values())
        return Exploration(databases=databases, keyspaces=keyspaces, layouts=layouts)

    def _postgres(self) -> Iterator[tuple[Secret, str, Configured]]:
        for name, store in self._settings.chosen().items():
            if store.postgres is not None:
                layouts = self._catalogue.layouts(name, "postgres")
                place = where_of(store.postgres, layouts[0].postgres)
                way = self._settings.postgres_dsn(name), store.postgres.dsn_env
                yield from ((*way, self._configured(name, one, place)) for one in layouts)

    def _redis(self) -> Iterator[tuple[Secret, str, Configured]]:
        for name, store in self._settings.chosen().items():
            if store.redis is not None:
                layouts = self._catalogue.layouts(name, "redis")
                place = where_of(store.redis, layouts[0].redis)
                way = self._settings.redis_url(name), store.redis.url_env
                yield from ((*way, self._configured(name, one, place)) for one in layouts)

    def _configured(self, store: str, layout: Layout, place: str) -> Configured:
        self._own.setdefault(layout.layout, layout)
        # Without a file the environment makes up a store, and nobody chose its layout.
        is_said = self._settings.names_stores
        return Configured(store=store, layout=layout.layout, place=place, is_said=is_said)

    @staticmethod
    def _grouped(
        sides: Iterator[tuple[Secret, str, Configured]],
    ) -> Iterator[tuple[tuple[Secret, str], list[Configured]]]:
        groups: dict[str, tuple[tuple[Secret, str], list[Configured]]] = {}
        for secret, variable, configured in sides:
            way = groups.setdefault(secret.reveal(), ((secret, variable), []))
            way[1].append(configured)
        yield from groups.values()

    def _explores_postgres(self, dsn: Secret) -> Callable[[], ListsTables]:
        def explore() -> ListsTables:
            from idemctl.stores.postgres.explore import PostgresDatabase

            return PostgresDatabase(dsn=dsn, application=self._application)

        return explore

    def _explores_redis(self, url: Secret) -> Callable[[], ShowsKeys]:
        def explore() -> ShowsKeys:
            from idemctl.stores.redis.explore import RedisDatabase

            return RedisDatabase(url=url, application=self._application)

        return explore

    def _opens(self, dsn: Secret) -> Callable[[PostgresLayout, str], Opens]:
        def opens(layout: PostgresLayout, table: str) -> Opens:
            return PostgresTableOpener(
                dsn=dsn,
                direct_dsn=dsn,
                table=table,
                layout=layout,
                application=self._application,
            )

        return opens

"""Both sides of a configured store, as what verbs work on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from idemctl.bootstrap.layouts import where_of
from idemctl.bootstrap.openers import PostgresTableOpener, RedisKeyspaceOpener
from idemctl.domain.policies import Policies
from idemctl.domain.sight import Engine
from idemctl.errors import ConfigError, Unsupported
from idemctl.layouts.codecs import is_opaque
from idemctl.layouts.containers import Container
from idemctl.layouts.sharing import apart, turns
from idemctl.layouts.sight import sight_of, statuses_of
from idemctl.layouts.transcript import transcript
from idemctl.run.target import Target
from idemctl.settings.policies import read_policies

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from idemctl.bootstrap.layouts import Catalogue
    from idemctl.layouts.model import Layout
    from idemctl.layouts.transcript import Transcript
    from idemctl.run.run import Run
    from idemctl.settings import Settings


def refuse_shared(settings: Settings, names: Iterable[str]) -> None:
    """Refuse stores of which a side has several layouts, for who compares twins.

    Raises:
        ConfigError: one of them is such a store.
    """
    for name in names:
        for engine in ("postgres", "redis"):
            side = getattr(settings.stores[name], engine)
            if side is not None and len(side.layouts) > 1:
                raise ConfigError(
                    f"{settings.origin(f'stores.{name}.{engine}.layout')}: {name} has several "
                    f"layouts in {engine}, and only twins of one layout are compared",
                    hint="idemctl audit reads all of them; name a store of one layout",
                )


class Sides:
    """Makes the sides of stores, each with its layout and the promises made for it."""

    def __init__(self, settings: Settings, catalogue: Catalogue) -> None:
        self._settings = settings
        self._catalogue = catalogue

    def of(
        self, name: str, run: Run, *, writes: bool, through: Layout | None = None
    ) -> Iterator[Target]:
        """List the sides of one store, Postgres first.

        Args:
            name: the store.
            run: whose name the stores' administrators see.
            writes: whether they are to be written through their layouts.
            through: another layout to read them by; sides that it does not describe are left out.

        Raises:
            ConfigError: a layout, a policy file or a connection string is not there.
            Refused: it is to be written through a layout that nobody has tried.
        """
        for engine in Engine:
            yield from self.on(name, engine, run, writes=writes, through=through)

    def on(
        self,
        name: str,
        engine: Engine,
        run: Run,
        *,
        writes: bool = False,
        through: Layout | None = None,
    ) -> Iterator[Target]:
        """List those of one engine. See `of`."""
        promised = self._settings.stores[name].policies
        policies = Policies() if promised is None else read_policies(promised)
        layouts = self._layouts(name, engine, run.started_at if writes else None, through)
        targets = (
            self._tables(name, layouts, policies, run.application, writes=writes)
            if engine is Engine.POSTGRES
            else self._keyspaces(name, layouts, policies, run.application)
        )
        for layout, target in zip(layouts, targets, strict=True):
            if through is None or through == layout:
                yield target

    def _layouts(
        self, name: str, engine: str, writes_at: datetime | None, through: Layout | None
    ) -> list[Layout]:
        """List the layouts of one side, in their order; none where there is no such side."""
        side = getattr(self._settings.stores[name], engine)
        if side is None or (through is not None and getattr(through, engine) is None):
            return []
        if through is not None and len(side.layouts) == 1:
            return [through]
        layouts = self._catalogue.layouts(name, engine, writes_at=writes_at)
        return layouts if through is None or through in layouts else [through]

    def _tables(
        self,
        name: str,
        layouts: Sequence[Layout],
        policies: Policies,
        application: str,
        *,
        writes: bool,
    ) -> Iterator[Target]:
        store = self._settings.stores[name]
        described = [one.postgres for one in layouts if one.postgres is not None]
        for found, layout in zip(layouts, apart(described), strict=True):
            assert store.postgres is not None
            where = where_of(store.postgres, layout)
            dsn = self._settings.postgres_dsn(name)
            yield Target(
                store=name,
                opens=PostgresTableOpener(
                    dsn=dsn,
                    direct_dsn=self._settings.postgres_dsn(name, direct=writes),
                    table=where,
                    layout=layout,
                    application=application,
                ),
                ttl=store.ttl,
                policies=policies,
                promised=policies,
                in_progress_means=layout.in_progress_means,
                server=dsn,
                where=where,
                layout=found.layout,
                is_shared=len(layouts) > 1,
                sight=sight_of(layout),
                statuses=statuses_of(layout),
                has_witness=self._settings.has_witness(name),
                reads_replica=self._settings.is_on_replicas,
                is_never_collected=layout.never_collected == "always",
                known_faults=found.known_faults(layout),
                replica_count=len(store.replicas.postgres),
                throttling=store.throttle.throttling(len(store.replicas.postgres)),
                is_configured=self._settings.names_stores,
            )

    def _keyspaces(
        self, name: str, layouts: Sequence[Layout], policies: Policies, application: str
    ) -> Iterator[Target]:
        store = self._settings.stores[name]
        described = [one.redis for one in layouts if one.redis is not None]
        for found, (layout, turn) in zip(layouts, turns(described), strict=True):
            assert store.redis is not None
            where = where_of(store.redis, layout)
            url = self._settings.redis_url(name)
            yield Target(
                store=name,
                opens=RedisKeyspaceOpener(
                    url=url,
                    prefix=where,
                    layout=layout,
                    turn=turn,
                    application=application,
                ),
                expires_by_itself=True,
                # Redis keeps no record longer than its own TTL says: no other ttl speaks.
                in_progress_means=layout.in_progress_means,
                engine=Engine.REDIS,
                server=url,
                where=where,
                layout=found.layout,
                is_shared=len(layouts) > 1,
                sight=sight_of(layout),
                statuses=statuses_of(layout),
                has_witness=self._settings.has_witness(name),
                keeps_for=store.redis.ttl,
                promised=policies,
                has_locks=layout.lock is not None,
                has_opaque_values=is_opaque(layout.codec),
                known_faults=found.known_faults(layout),
                replica_count=len(store.replicas.redis),
                is_configured=self._settings.names_stores,
            )

    def is_collected(self, name: str) -> bool:
        """Whether gc has a use for a store: some of its rows may go; Redis removes its own."""
        if self._settings.stores[name].postgres is None:
            return False
        try:
            layouts = self._catalogue.layouts(name, "postgres")
        except ConfigError:
            return False
        described = [one.postgres for one in layouts if one.postgres is not None]
        return any(one.never_collected != "always" for one in described)

    def is_pair(self, name: str) -> bool:
        """Whether the records of both sides of a store can be told as twins."""
        store = self._settings.stores[name]
        both = (store.postgres, store.redis)
        return all(side is not None and len(side.layouts) == 1 for side in both)

    def is_filled(self, name: str) -> bool:
        """Whether a store is a pair whose Redis side reconcile may write."""
        if not self.is_pair(name):
            return False
        try:
            if isinstance(self.transcript(name), Unsupported):
                return False
            side = self._catalogue.side(name, "redis")
        except ConfigError:
            # Which of the two sides leads nowhere, whoever looks at that side is told.
            return False
        return side.container is Container.KEY and not side.siblings

    def transcript(self, name: str) -> Transcript | Unsupported:
        """Say how twins of a pair are written, or why they cannot be."""
        try:
            return transcript(
                self._catalogue.side(name, "postgres"), self._catalogue.side(name, "redis")
            )
        except Unsupported as error:
            # Only who writes needs it.
            return Unsupported(f"{name}: {error.message}", hint=error.hint)

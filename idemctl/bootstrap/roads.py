"""The ways to servers, each with the stores at its end, and what hinders others from having one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from idemctl.bootstrap.keepers import in_postgres, in_redis
from idemctl.bootstrap.layouts import how_to_prove
from idemctl.bootstrap.origins import needed_variables, tell_origins
from idemctl.domain.purposes import Purpose
from idemctl.domain.sight import Engine
from idemctl.errors import IdemctlError
from idemctl.operations.doctor import Keeping, Line, Road, Side

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from idemctl.bootstrap.layouts import Catalogue
    from idemctl.bootstrap.sides import Sides
    from idemctl.domain.secrets import Secret
    from idemctl.run.run import Run
    from idemctl.settings import Settings
    from idemctl.state.folder import StateFolder
    from idemctl.stores.ways import Way

_LOCKING = {Purpose.GC, Purpose.RECONCILE}


@dataclass(slots=True)
class _Group:
    """What shares a connection string."""

    engine: Engine
    secret: Secret
    named: str
    sides: list[Side] = field(default_factory=list)
    keepings: list[Keeping] = field(default_factory=list)
    past: set[str | None] = field(default_factory=set)
    """What the strings are called by which locks are taken instead; None is this one."""


class Roads:
    """Finds them."""

    def __init__(
        self,
        settings: Settings,
        state: StateFolder,
        catalogue: Catalogue,
        sides: Sides,
        *,
        run: Run,
        purposes: Sequence[Purpose],
    ) -> None:
        """Take note of what is wanted.

        Args:
            settings: what is configured.
            state: where idemctl remembers.
            catalogue: finds layouts.
            sides: makes the sides of stores.
            run: whose name the servers' administrators see.
            purposes: what is wanted of the stores.
        """
        self._settings, self._state = settings, state
        self._catalogue, self._sides = catalogue, sides
        self._run, self._purposes = run, purposes
        self._groups: dict[tuple[Engine, str], _Group] = {}
        self.hindrances: list[tuple[str, IdemctlError]] = []
        """Stores whose configuration leads nowhere, and why."""

    def found(self) -> list[Road]:
        """List the ways of all chosen stores, in the order of the file."""
        for name, store in self._settings.chosen().items():
            for engine, configured in (
                (Engine.POSTGRES, store.postgres),
                (Engine.REDIS, store.redis),
            ):
                if configured is None:
                    continue
                try:
                    self._add(name, engine)
                except IdemctlError as error:
                    self.hindrances.append((name, error))
        return [
            Road(
                named=group.named,
                engine=group.engine,
                way=self._way(group),
                sides=tuple(group.sides),
                keepings=tuple(group.keepings),
            )
            for group in self._groups.values()
        ]

    def known(self) -> list[Line]:
        """Tell what the configuration says, and what leads nowhere; the ways are found before."""
        return [*tell_origins(self._settings, self._state), *map(_hindered, self.hindrances)]

    def variables(self) -> list[str]:
        """List the variables of this shell that lead to the chosen stores."""
        return needed_variables(self._settings)

    def _add(self, name: str, engine: Engine) -> None:
        sides = [side for side in self._sides_of(name, engine) if side.purposes]
        keepings = [one for one in self._keepings_of(name, engine) if one.purposes]
        if not sides and not keepings:
            # Whoever is to do no more does not go there.
            return
        store = self._settings.stores[name]
        if engine is Engine.REDIS:
            assert store.redis is not None
            group = _Group(engine, self._settings.redis_url(name), store.redis.url_env)
            self._join(group, sides, keepings)
            return
        postgres = store.postgres
        assert postgres is not None
        dsn = self._settings.postgres_dsn(name)
        direct, past = self._settings.postgres_dsn(name, direct=True), postgres.direct_dsn_env
        named = postgres.dsn_env if self._settings.environ.get(postgres.dsn_env) else "libpq"
        is_beside = past is not None and direct.reveal() != dsn.reveal()
        group = self._join(_Group(engine, dsn, named), sides, keepings)
        group.past.add(past if is_beside else None)
        if is_beside and past is not None and not _LOCKING.isdisjoint(self._purposes):
            self._join(_Group(engine, direct, past)).past.add(None)

    def _sides_of(self, name: str, engine: Engine) -> Iterator[Side]:
        configured = getattr(self._settings.stores[name], engine)
        targets = self._sides.on(name, engine, self._run)
        has_witness = self._settings.has_witness(name)
        for layout, target in zip(configured.layouts, targets, strict=True):
            served = self._served(name)
            if not has_witness:
                # A restore is acknowledged by what all records say, a freeze by none.
                served.discard(Purpose.STORE)
            if engine is Engine.POSTGRES and target.is_never_collected:
                served.discard(Purpose.GC)
            if engine is Engine.REDIS and not (has_witness and self._sides.is_pair(name)):
                # Who collects asks it only for the second sign of a witness.
                served.discard(Purpose.GC)
            yield Side(
                target=target,
                layout=layout,
                purposes=tuple(one for one in self._purposes if one in served),
                unproven=self._catalogue.why_unproven(name, engine, layout, self._run.started_at),
                proof=how_to_prove(name, layout),
            )

    def _keepings_of(self, name: str, engine: Engine) -> Iterator[Keeping]:
        """Give the place of witness and freeze on this side, where there is one."""
        opens = (
            in_redis(name, self._settings, self._run)
            if engine is Engine.REDIS
            else in_postgres(name, self._settings, self._catalogue, self._run)
        )
        if opens is not None:
            served = self._served(name)
            purposes = tuple(one for one in self._purposes if one in served)
            yield Keeping(store=name, opens=opens, purposes=purposes)

    def _served(self, name: str) -> set[Purpose]:
        """Tell what a store as a whole has a use for."""
        served = {Purpose.READING, Purpose.STORE}
        if self._sides.is_collected(name):
            served.add(Purpose.GC)
        if self._sides.is_filled(name):
            served.add(Purpose.RECONCILE)
        return served

    def _join(
        self, new: _Group, sides: Sequence[Side] = (), keepings: Sequence[Keeping] = ()
    ) -> _Group:
        group = self._groups.setdefault((new.engine, new.secret.reveal()), new)
        group.sides += sides
        group.keepings += keepings
        return group

    def _way(self, group: _Group) -> Callable[[], Way]:
        application = self._run.application

        def redis() -> Way:
            from idemctl.stores.redis.way import RedisWay

            return RedisWay(url=group.secret, named=group.named, application=application)

        def postgres() -> Way:
            from idemctl.stores.postgres.way import PostgresWay

            return PostgresWay(
                dsn=group.secret,
                named=group.named,
                application=application,
                for_locks=not _LOCKING.isdisjoint(self._purposes),
                # Where one store has no other way, its locks are taken on this one.
                past=None
                if None in group.past
                else ", ".join(map(str, sorted(group.past, key=str))),
            )

        return redis if group.engine is Engine.REDIS else postgres


def _hindered(hindrance: tuple[str, IdemctlError]) -> Line:
    name, error = hindrance
    return Line(
        store=name, about="configuration", says=error.message, status=error.status, fix=error.hint
    )

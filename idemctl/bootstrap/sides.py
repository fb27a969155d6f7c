"""Both sides of a configured store, as what verbs work on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from idemctl.bootstrap.layouts import where_of
from idemctl.bootstrap.openers import PostgresTableOpener, RedisKeyspaceOpener
from idemctl.domain.policies import Policies
from idemctl.domain.sight import Engine
from idemctl.errors import Unsupported
from idemctl.layouts.codecs import is_opaque
from idemctl.layouts.sight import sight_of
from idemctl.layouts.transcript import transcript
from idemctl.run.target import Target
from idemctl.settings.policies import read_policies

if TYPE_CHECKING:
    from collections.abc import Iterator

    from idemctl.bootstrap.layouts import Catalogue
    from idemctl.layouts.model import Layout
    from idemctl.layouts.transcript import Transcript
    from idemctl.run.run import Run
    from idemctl.settings import Settings


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
        store = self._settings.stores[name]
        application = f"idemctl {run.verb} {run.id}"
        writes_at = run.started_at if writes else None
        policies = Policies() if store.policies is None else read_policies(store.policies)
        if store.postgres is not None and (through is None or through.postgres is not None):
            found = through or self._catalogue.layout(
                name, "postgres", store.postgres.layout, writes_at=writes_at
            )
            layout = found.postgres
            assert layout is not None
            yield Target(
                store=name,
                opens=PostgresTableOpener(
                    dsn=self._settings.postgres_dsn(name),
                    direct_dsn=self._settings.postgres_dsn(name, direct=writes),
                    table=where_of(store.postgres, layout),
                    layout=layout,
                    application=application,
                ),
                ttl=store.ttl,
                policies=policies,
                promised=policies,
                in_progress_means=layout.in_progress_means,
                where=where_of(store.postgres, layout),
                sight=sight_of(layout),
                is_never_collected=layout.never_collected == "always",
                known_faults=found.known_faults(layout),
            )
        if store.redis is not None and (through is None or through.redis is not None):
            found = through or self._catalogue.layout(
                name, "redis", store.redis.layout, writes_at=writes_at
            )
            keyspace = found.redis
            assert keyspace is not None
            yield Target(
                store=name,
                opens=RedisKeyspaceOpener(
                    url=self._settings.redis_url(name),
                    prefix=where_of(store.redis, keyspace),
                    layout=keyspace,
                    application=application,
                ),
                expires_by_itself=True,
                # Redis keeps no record longer than its own TTL says: no other ttl speaks.
                in_progress_means=keyspace.in_progress_means,
                engine=Engine.REDIS,
                where=where_of(store.redis, keyspace),
                sight=sight_of(keyspace),
                keeps_for=store.redis.ttl,
                promised=policies,
                has_opaque_values=is_opaque(keyspace.codec),
                known_faults=found.known_faults(keyspace),
            )

    def transcript(self, name: str) -> Transcript | Unsupported:
        """Say how twins of a pair are written, or why they cannot be."""
        store = self._settings.stores[name]
        assert store.postgres is not None
        assert store.redis is not None
        try:
            return transcript(
                self._catalogue.side(name, "postgres", store.postgres.layout),
                self._catalogue.side(name, "redis", store.redis.layout),
            )
        except Unsupported as error:
            # Only who writes needs it.
            return Unsupported(f"{name}: {error.message}", hint=error.hint)

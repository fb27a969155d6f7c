"""Settings as a run sees them: stores, their connection strings, the origin of values."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from idemctl.domain.secrets import Secret
from idemctl.errors import ConfigError, UsageError
from idemctl.settings.passwords import (
    behind_sentinels,
    password_from,
    with_postgres_password,
    with_redis_password,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from idemctl.documents import Document
    from idemctl.settings.model import PostgresSettings, StoreSettings

LIBPQ_VARIABLES = ("PGHOST", "PGSERVICE", "PGDATABASE")
"""Any of these is enough for libpq to know where to go without a DSN."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What flags, environment and files say together."""

    stores: Mapping[str, StoreSettings]
    file: Path | None
    """The configuration file, if there is one."""
    state_folder: Path
    own_schema: str | None = None
    """Where idemctl's own tables are in Postgres; `None` where it has none."""
    assumed: tuple[str, ...] = ()
    """Sentences that say what was taken for granted because nothing said otherwise."""
    asked: tuple[str, ...] = ()
    """Names given with --store or IDEMCTL_STORE, unchecked; `chosen` checks them."""
    origins: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Origins of what no file says."""
    is_on_replicas: bool = False
    """Whether Postgres is read from replicas; see `on_replicas`."""
    document: Document | None = field(default=None, repr=False)
    """The file that `stores` came from."""
    # It holds every secret of the process.
    environ: Mapping[str, str] = field(repr=False)

    @property
    def names_stores(self) -> bool:
        """Whether a file names the stores; without one the environment makes them up."""
        return self.document is not None

    def has_witness(self, name: str) -> bool:
        """Whether a witness can be kept of a store: beside its rows, in tables of idemctl's own."""
        return self.own_schema is not None and self.stores[name].postgres is not None

    def origin(self, name: str) -> str:
        """Say where a value comes from: `idemctl.yaml:7:5`, `environment X`, `default`.

        Args:
            name: dotted, as in the file: `stores.payments.redis.ttl`, `state.folder`;
                or `config` and `store` for the flags of those names.
        """
        if name in self.origins:
            return self.origins[name]
        path = tuple(name.split("."))
        if self.document is None or path[0] != "stores" or not self.document.has(path):
            return "default"
        return str(self.document.place(path, key=True))

    def chosen(self) -> dict[str, StoreSettings]:
        """Pick the stores asked for, in that order; all of them when none was.

        Raises:
            UsageError: a name is unknown.
        """
        for name in self.asked:
            if name not in self.stores:
                close = difflib.get_close_matches(name, self.stores, n=1)
                raise UsageError(
                    f"no store is named {name!r} ({self.origin('store')})",
                    hint=(f"did you mean {close[0]}? " if close else "")
                    + f"known stores: {', '.join(self.stores)}",
                )
        return {name: self.stores[name] for name in self.asked or self.stores}

    def on_replicas(self) -> Settings:
        """Lead the chosen stores to replicas of their Postgres instead, to be read only.

        Raises:
            UsageError: a store that was asked for is unknown.
            ConfigError: one of them has Postgres, and names no replica of it.
        """
        stores, origins, said = dict(self.stores), dict(self.origins), []
        for name, store in self.chosen().items():
            if store.postgres is None:
                continue
            if not store.replicas.postgres:
                raise ConfigError(
                    f"{self.origin(f'stores.{name}')}: store {name!r} names no replica of its "
                    "Postgres",
                    hint="add replicas: {postgres: [{dsn_env: NAME}]} to the store",
                )
            replica = store.replicas.postgres[0]
            way = {
                "dsn_env": replica.dsn_env,
                "direct_dsn_env": None,
                "password_file": replica.password_file,
            }
            stores[name] = store.model_copy(
                update={"postgres": store.postgres.model_copy(update=way)}
            )
            for part in ("dsn_env", "password_file"):
                origins[f"stores.{name}.postgres.{part}"] = self.origin(f"stores.{name}.replicas")
            where = f"{replica.dsn_env}, {replica.region}" if replica.region else replica.dsn_env
            said.append(f"Rows of {name} are read from a replica ({where}).")
        return replace(
            self,
            stores=stores,
            origins=origins,
            assumed=(*self.assumed, *said),
            is_on_replicas=True,
        )

    def policy_files(self) -> list[Path]:
        """List the policy files of the chosen stores, each once.

        Raises:
            ConfigError: none of them names one.
        """
        chosen = self.chosen()
        named = [store.policies for store in chosen.values() if store.policies is not None]
        if not named:
            raise ConfigError(
                f"no policy file to check: none is named by {', '.join(chosen)}",
                hint="give one, as in `idemctl policy check policies.yaml`, "
                "or add policies: FILE to a store",
            )
        return list(dict.fromkeys(named))

    def postgres_dsn(self, store: str, *, direct: bool = False) -> Secret:
        """Give the DSN of a store's Postgres; empty when libpq's own variables name it.

        Args:
            store: its name.
            direct: the way around a pooler, where one is configured.

        Raises:
            ConfigError: the store has no Postgres, its variable is not set, or its
                password file cannot be used.
        """
        postgres = self.stores[store].postgres
        if postgres is None:
            raise self._without(store, "Postgres")
        if direct and postgres.direct_dsn_env:
            whole = self._variable(store, "postgres.direct_dsn_env", postgres.direct_dsn_env)
        elif self._is_left_to_libpq(postgres):
            whole = ""
        else:
            whole = self._variable(store, "postgres.dsn_env", postgres.dsn_env)
        if postgres.password_file is not None:
            origin = self.origin(f"stores.{store}.postgres.password_file")
            password = password_from(postgres.password_file, origin=origin)
            whole = with_postgres_password(whole, password)
        return Secret(whole)

    def redis_url(self, store: str) -> Secret:
        """Give the URL of a store's Redis.

        Raises:
            ConfigError: the store has no Redis, its variable is not set or no URL, or
                its password file cannot be used.
        """
        redis = self.stores[store].redis
        if redis is None:
            raise self._without(store, "Redis")
        if redis.sentinels and not self.environ.get(redis.url_env):
            whole = "redis://"
        else:
            whole = self._variable(store, "redis.url_env", redis.url_env)
        if "://" not in whole:
            raise ConfigError(
                f"{redis.url_env}, which store {store!r} needs, holds no URL",
                hint=f"export {redis.url_env}=redis://host:6379/0",
            )
        if redis.password_file is not None:
            origin = self.origin(f"stores.{store}.redis.password_file")
            whole = with_redis_password(whole, password_from(redis.password_file, origin=origin))
        if redis.sentinels:
            whole = behind_sentinels(whole, redis.sentinels, redis.master or "")
        return Secret(whole)

    def _is_left_to_libpq(self, postgres: PostgresSettings) -> bool:
        return (
            "dsn_env" not in postgres.model_fields_set
            and not self.environ.get(postgres.dsn_env)
            and any(self.environ.get(name) for name in LIBPQ_VARIABLES)
        )

    def _variable(self, store: str, name: str, variable: str) -> str:
        value = self.environ.get(variable)
        if value:
            return value
        origin = self.origin(f"stores.{store}.{name}")
        if origin == "default":
            origin = self.origin(f"stores.{store}")
        example = (
            "redis://host:6379/0" if name.startswith("redis") else "postgresql://host/database"
        )
        raise ConfigError(
            f"{origin}: store {store!r} needs the environment variable {variable}, "
            "which is not set",
            hint=f"export {variable}={example}",
        )

    def _without(self, store: str, engine: str) -> ConfigError:
        return ConfigError(
            f"{self.origin(f'stores.{store}')}: store {store!r} has no {engine}",
            hint=f"add {engine.lower()}: to the store",
        )

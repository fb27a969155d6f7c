"""The model of idemctl.yaml."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from idemctl.settings.kinds import (
    AnchoredPath,
    Duration,
    HostPort,
    Layouts,
    Name,
    Schema,
    StoreName,
    Table,
    Variable,
)
from idemctl.settings.throttle import ThrottleSettings


class _SideSettings(BaseModel):
    """What both sides of a store say."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    layout: Layouts = "reference"
    """A preset's name, or the path of a layout file (`*.yaml`); or several, in their order."""

    @property
    def layouts(self) -> tuple[str, ...]:
        """The names of its layouts, in the order in which they are asked."""
        return (self.layout,) if isinstance(self.layout, str) else self.layout


class PostgresSettings(_SideSettings):
    """One table in Postgres."""

    dsn_env: Variable = "DATABASE_URL"
    """The variable that holds the URL or libpq's keyword string."""
    direct_dsn_env: Variable | None = None
    """Beside a pooler: the variable with the way around it."""
    password_file: AnchoredPath | None = None
    table: Table | None = None
    """`schema.table`; where absent, the layout's."""


class RedisSettings(_SideSettings):
    """One keyspace in Redis or Valkey."""

    url_env: Variable = "REDIS_URL"
    """The variable that holds the URL."""
    password_file: AnchoredPath | None = None
    sentinels: Annotated[list[HostPort], Field(min_length=1)] | None = None
    """Who knows where the primary is; the URL gives user, password, database and TLS alone."""
    master: Name | None = None
    """The name under which they watch it."""
    prefix: Annotated[str, Field(min_length=1)] | None = None
    """What every key begins with; where absent, the layout's."""
    ttl: Duration | None = None
    """How long a record stays in Redis after it was written there."""

    @model_validator(mode="after")
    def _has_both_or_neither(self) -> RedisSettings:
        if (self.sentinels is None) != (self.master is None):
            raise ValueError("sentinels and master go together: who watches, and what")
        return self


class LogFields(BaseModel):
    """What the fields of a log of hits are called there."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    at: Name = "at"
    """When: ISO 8601 with an offset, or seconds or milliseconds since 1970."""
    endpoint: Name = "endpoint"
    client: Name = "client"
    key: Name = "key"
    outcome: Name = "outcome"
    """`created`, `replay`, `conflict` or `mismatch`."""

    @model_validator(mode="after")
    def _are_different(self) -> LogFields:
        names = list(self.model_dump().values())
        if len({name.casefold() for name in names}) < len(names):
            raise ValueError("two fields cannot have the same name, not even in other letters")
        return self


class LogSettings(BaseModel):
    """What the application wrote about keyed requests, a JSON object a line."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    files: Annotated[list[AnchoredPath], Field(min_length=1)]
    """Paths, also with `*`; what ends in `.gz` is read as such."""
    fields: LogFields = LogFields()


class PostgresReplica(BaseModel):
    """A standby of a store's Postgres, to read from."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    dsn_env: Variable
    """The variable that holds the URL or libpq's keyword string."""
    password_file: AnchoredPath | None = None
    region: Name | None = None
    """Where it is, for people."""


class RedisReplica(BaseModel):
    """A replica of a store's Redis."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url_env: Variable
    """The variable that holds the URL."""
    region: Name | None = None
    """Where it is, for people."""


class ReplicaSettings(BaseModel):
    """Servers that copy those of a store: as many as there have to be."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    postgres: list[PostgresReplica] = Field(default_factory=list)
    """The first of them is read."""
    redis: list[RedisReplica] = Field(default_factory=list)


class StoreSettings(BaseModel):
    """A store, or a pair: one table, one keyspace, or both with the same keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    postgres: PostgresSettings | None = None
    redis: RedisSettings | None = None
    write_order: Literal["postgres-first", "redis-first", "unknown"] = "unknown"
    """Which of a pair the application writes first: what reconcile may promise."""
    on_redis_miss: Literal["postgres", "proceed", "unknown"] = "unknown"
    """Where the application looks when Redis knows no such key."""
    ttl: Duration | None = None
    """How long a record is kept where neither it nor a policy says."""
    policies: AnchoredPath | None = None
    logs: LogSettings | None = None
    replicas: ReplicaSettings = ReplicaSettings()
    throttle: ThrottleSettings = ThrottleSettings()
    protected: bool = False
    """Production: mild confirmations become severe ones."""

    @model_validator(mode="after")
    def _has_somewhere_to_look(self) -> StoreSettings:
        if self.postgres is None and self.redis is None:
            raise ValueError(
                "a store needs postgres, redis or both; postgres: {} takes all defaults"
            )
        return self


class StateSettings(BaseModel):
    """Where idemctl keeps journals, archives and plans."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    folder: AnchoredPath | None = None
    own_schema: Schema | None = Field(default=None, alias="schema")
    """The schema in Postgres with idemctl's own tables; without it there are none."""


class Configuration(BaseModel):
    """A whole idemctl.yaml; paths in it are relative to the file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: Literal[1]
    stores: dict[StoreName, StoreSettings] = Field(default_factory=dict)
    state: StateSettings = StateSettings()

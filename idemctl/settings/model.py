"""The model of idemctl.yaml."""

from __future__ import annotations

import re
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    WithJsonSchema,
    model_validator,
)

from idemctl.domain.durations import parse_duration

if TYPE_CHECKING:
    from pydantic import ValidationInfo

_STORE_NAME = r"[a-z][a-z0-9-]{0,62}"
_VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*"
_IDENTIFIER = r'(?:[^\W\d][\w$]*|"(?:[^"\x00]|"")+")'
_TABLE = rf"({_IDENTIFIER})\.({_IDENTIFIER})"
_HOST_PORT = r"(?:[^\s,:/?#@\[\]]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}"
_IDENTIFIER_BYTES = 63
"""Postgres cuts longer names short, silently."""


def parse_length(given: Any) -> timedelta:
    """Take a duration as text; a bare number is told which unit it may want."""
    if isinstance(given, timedelta):
        return given
    if isinstance(given, str):
        return parse_duration(given)
    unit = f", such as {given}s" if type(given) is int and given > 0 else ", such as 24h"
    raise ValueError(f"a duration is text with a unit{unit}")


def _day(given: Any) -> Any:
    # Pydantic would take a number for seconds since 1970.
    try:
        day = date.fromisoformat(given) if isinstance(given, str) else given
    except ValueError:
        day = None
    if not isinstance(day, date) or day == date.max:
        raise ValueError("is a day, such as 2026-12-06")
    return day


def _store_name(given: str) -> str:
    if not re.fullmatch(_STORE_NAME, given):
        raise ValueError(
            "a store's name is lower-case letters, digits and hyphens, "
            "with a letter first and 63 characters at most"
        )
    return given


def _variable(given: str) -> str:
    # What was given is not repeated: it may be the URL itself, with its password.
    if not re.fullmatch(_VARIABLE, given, re.ASCII):
        raise ValueError(
            "must be the name of an environment variable, such as DATABASE_URL; "
            "the URL itself belongs in that variable"
        )
    return given


def _host_port(given: str) -> str:
    if not re.fullmatch(_HOST_PORT, given):
        raise ValueError("is a host and a port, such as sentinel-1.internal:26379")
    return given


def _table(given: str) -> str:
    parts = re.fullmatch(_TABLE, given)
    if parts is None:
        raise ValueError(
            "must name schema and table, such as public.processed_events; "
            'names with other characters are quoted as in SQL: public."Processed Events"'
        )
    if any(len(_folded(part).encode()) > _IDENTIFIER_BYTES for part in parts.groups()):
        raise ValueError(f"a name in Postgres has {_IDENTIFIER_BYTES} bytes at most")
    return given


def _schema(given: str) -> str:
    if re.fullmatch(_IDENTIFIER, given) is None or len(_folded(given).encode()) > _IDENTIFIER_BYTES:
        raise ValueError("is the name of a schema in Postgres, such as idemctl")
    return _folded(given)


def _anchored(given: Path, info: ValidationInfo) -> Path:
    """Make a path absolute: below the file's folder, or below home after `~/`."""
    anchor = info.context or {}
    home = anchor.get("home")
    if home and given.parts[:1] == ("~",):
        return Path(home, *given.parts[1:])
    return Path(anchor.get("folder", ""), given)


def _layout(given: str, info: ValidationInfo) -> str:
    return str(_anchored(Path(given), info)) if given.endswith(".yaml") else given


def _names_each_once(given: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(given)) < len(given):
        raise ValueError("names a layout twice; the first one's turn is the only one")
    return given


def _folded(identifier: str) -> str:
    """Give the name that Postgres takes an identifier for."""
    if identifier.startswith('"'):
        return identifier[1:-1].replace('""', '"')
    return identifier.lower()


Duration = Annotated[
    timedelta,
    BeforeValidator(parse_length),
    WithJsonSchema({"type": "string", "examples": ["24h", "7d", "1h30m"]}),
]
Day = Annotated[date, BeforeValidator(_day)]
StoreName = Annotated[str, AfterValidator(_store_name)]
Variable = Annotated[str, AfterValidator(_variable)]
Table = Annotated[str, AfterValidator(_table)]
Schema = Annotated[str, AfterValidator(_schema)]
Name = Annotated[str, Field(min_length=1)]
HostPort = Annotated[str, AfterValidator(_host_port)]
AnchoredPath = Annotated[Path, AfterValidator(_anchored)]
Layout = Annotated[str, Field(min_length=1), AfterValidator(_layout)]
Layouts = Annotated[
    Annotated[Layout, Tag("name")]
    | Annotated[
        tuple[Layout, ...],
        Field(min_length=1, json_schema_extra={"uniqueItems": True}),
        AfterValidator(_names_each_once),
        Tag("names"),
    ],
    Discriminator(lambda given: "names" if isinstance(given, list | tuple) else "name"),
]
"""One layout, or several: a record is the first's whose conditions hold."""


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

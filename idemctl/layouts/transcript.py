"""What a twin holds, member by member, so that it can be written from a row.

Only what loses nothing is written: every member of the twin must be kept in a column, and
every status must have exactly one word. Otherwise filling is refused, and said so.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from idemctl.domain.records import Status
from idemctl.errors import Unsupported
from idemctl.layouts.codecs import FLAG, JSON, is_opaque
from idemctl.layouts.conditions import Is
from idemctl.layouts.containers import Container
from idemctl.layouts.instants import Unit
from idemctl.layouts.joins import Joined
from idemctl.layouts.sides import Statuses, one_field

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from idemctl.layouts.instants import At
    from idemctl.layouts.model import PostgresLayout, RedisLayout
    from idemctl.layouts.paths import Path
    from idemctl.layouts.sides import Side

FLAG_VALUE = b"1"
"""What a flag holds; readers look at nothing but its presence."""


@dataclass(frozen=True, slots=True)
class Value:
    """A column, as JSON writes values of its type."""

    column: str


@dataclass(frozen=True, slots=True)
class Instant:
    """A batch's column of that name, as a number of a unit; null where it has none."""

    of: str
    unit: Unit = Unit.MILLISECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One member of the twin's JSON, and what it is written from; `None` is the status."""

    name: str
    source: Value | Instant | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """How twins are written from rows."""

    members: tuple[Member, ...] = ()
    """None for a flag."""
    words: Mapping[Status, str | int | bool] = field(default_factory=dict)
    """What the twin calls each status."""

    @property
    def columns(self) -> list[str]:
        """The columns whose values it is written from."""
        return [one.source.column for one in self.members if isinstance(one.source, Value)]


_VALUES = (
    "scope", "endpoint", "client", "fingerprint", "fence", "epoch",
    "response_status", "response_headers", "response_body",
)  # fmt: skip
_INSTANTS = {
    "lease": "lease_until",
    "counted_from": "counted_from",
    "completed": "completed_at",
    "expires": "expires_at",
}
"""The parts of a layout that are instants, and a batch's columns for them."""


def transcript(postgres: PostgresLayout, redis: RedisLayout) -> Transcript:
    """Find out how twins in `redis` are written from rows of `postgres`.

    Raises:
        Unsupported: the twin could not be written without loss.
    """
    _refuse_more_than_a_value(redis)
    if redis.codec == FLAG:
        return Transcript()
    parts = [*_VALUES, *_INSTANTS]
    lost = [part for part in parts if getattr(redis, part) and not getattr(postgres, part)]
    if lost:
        raise Unsupported(
            f"twins cannot be written from rows: no column keeps {', '.join(lost)}",
            hint="name the columns in the layout, or leave the members out of it",
        )
    if isinstance(postgres.endpoint, Joined):
        raise _unwritable("their endpoint lies in several columns")
    single = one_field(redis.status) if isinstance(redis.status, Statuses) else None
    if single is None:
        raise _unwritable("their status is told by more than one value")
    words = {
        status: told.value for status, told in _conditions(redis).items() if isinstance(told, Is)
    }
    known = _conditions(postgres) or {Status.UNKNOWN: None}
    wordless = [status.label for status in known if status not in words]
    if wordless:
        raise _unwritable(f"they have no word for {', '.join(wordless)}")
    pairs: list[tuple[Path | None, Value | Instant | None]] = [
        (redis.key_field, Value(postgres.key)),
        *((getattr(redis, part), Value(getattr(postgres, part))) for part in _VALUES),
        *_instants(redis),
        (single[0], None),
    ]
    sources: dict[str, Value | Instant | None] = {}
    for name, source in pairs:
        if name is None:
            continue
        if not isinstance(name, str):
            raise _unwritable("they are nested")
        if sources.setdefault(name, source) != source:
            raise _unwritable(f"{name} would hold two columns at once")
    return Transcript(
        members=tuple(Member(name=name, source=source) for name, source in sources.items()),
        words=words,
    )


def _refuse_more_than_a_value(redis: RedisLayout) -> None:
    if redis.container is not Container.KEY:
        raise _unwritable("one key holds all of them")
    if redis.siblings:
        raise _unwritable("each of them is several keys")
    if redis.codec not in {FLAG, JSON}:
        raise _unwritable(
            "their values are opaque" if is_opaque(redis.codec) else "they are not plain JSON"
        )


def _instants(redis: RedisLayout) -> Iterator[tuple[Path | None, Instant]]:
    for part, column in _INSTANTS.items():
        at: At | None = getattr(redis, part)
        if at is None:
            continue
        unit = at.unit or redis.unit
        if unit is Unit.ISO or at.plus is not None:
            raise _unwritable(f"{part} is no number of units")
        yield at.field, Instant(column, unit)


def _conditions(side: Side) -> dict[Status, object]:
    return dict(side.status.conditions()) if isinstance(side.status, Statuses) else {}


def _unwritable(reason: str) -> Unsupported:
    return Unsupported(
        f"twins cannot be written from rows: {reason}",
        hint="idemctl reconcile without --apply reports the differences all the same",
    )

"""The model of a layout file.

A layout says where a library keeps the parts of a record and how each status is
recognised. Reading needs nothing but the file. What it leaves out cannot be seen.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from idemctl.domain.records import Pattern, Status
from idemctl.layouts.besides import Besides, refuse_what_is_read
from idemctl.layouts.codecs import Codec, Member, Word
from idemctl.layouts.conditions import Condition, Is, as_text, fields_of
from idemctl.layouts.containers import Container
from idemctl.layouts.instants import At, Unit
from idemctl.layouts.paths import Path
from idemctl.layouts.siblings import Siblings, Template, is_member, refuse_strangers
from idemctl.layouts.tables import TableName

if TYPE_CHECKING:
    from pydantic import ValidationInfo

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,62}$")]


def _pattern(label: object) -> object:
    for pattern in Pattern:
        if label == pattern.label:
            return pattern
    if isinstance(label, Pattern):
        return label
    raise ValueError("write one of " + ", ".join(one.label for one in Pattern))


def _compiled(text: str) -> re.Pattern[bytes]:
    try:
        return re.compile(text.encode("utf-8"), re.DOTALL)
    except re.error as error:
        raise ValueError(f"is no regular expression: {error}") from None


def _names(text: str) -> str:
    _compiled(text)
    return text


def _expression(text: str) -> str:
    if "key" not in _compiled(text).groupindex:
        raise ValueError("must name the part that is the key: (?P<key>...)")
    return text


LayoutPattern = Annotated[
    Pattern,
    BeforeValidator(_pattern),
    WithJsonSchema({"enum": [one.label for one in Pattern]}),
]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Statuses(_Part):
    """The condition of each status. Exactly one holds, or the record is malformed."""

    in_progress: Condition | None = None
    completed: Condition | None = None
    failed: Condition | None = None

    @model_validator(mode="after")
    def _knows_one(self) -> Self:
        if not self.conditions():
            raise ValueError("needs one of in_progress, completed, failed; or write unknown")
        return self

    def conditions(self) -> list[tuple[Status, Condition]]:
        """List the statuses that this layout knows."""
        pairs = (
            (Status.IN_PROGRESS, self.in_progress),
            (Status.COMPLETED, self.completed),
            (Status.FAILED, self.failed),
        )
        return [(status, condition) for status, condition in pairs if condition is not None]


def one_field(statuses: Statuses) -> tuple[Path, dict[str, Status]] | None:
    """Find the field whose value alone tells the statuses apart, and what each value means.

    None where conditions are of another form, look at several fields, or share a value.
    """
    pairs = statuses.conditions()
    plain = [(status, one) for status, one in pairs if isinstance(one, Is)]
    fields = {one.field for _, one in plain}
    by_value = {str(as_text(one.value)): status for status, one in plain}
    if len(fields) != 1 or len(by_value) != len(pairs):
        return None
    return fields.pop(), by_value


def _status_kind(status: object) -> str:
    return "unknown" if isinstance(status, str) else "Statuses"


SideStatus = Annotated[
    Annotated[Statuses, Tag("Statuses")] | Annotated[Literal["unknown"], Tag("unknown")],
    Discriminator(_status_kind),
]
"""How statuses are told apart, or that nothing but presence is known."""


class Side(_Part):
    """What Postgres and Redis layouts share: where in a row, or in a value, the parts are."""

    pattern: LayoutPattern
    endpoint: Path | None = None
    client: Path | None = None
    fingerprint: Path | None = None
    response_status: Path | None = None
    """The HTTP status of the stored response, as a number."""
    response_headers: Path | None = None
    response_body: Path | None = None
    lease: At | None = None
    fence: Path | None = None
    epoch: Path | None = None
    expires: At | None = None
    """The stored expiry. Without it the promise is `counted_from` plus a ttl."""
    counted_from: At | None = None
    """The instant from which a retention counts: creation, or the end of the work."""
    completed: At | None = None
    """The instant at which the work ended, and the record was written for the last time."""
    due: At | None = None
    """For work that no lease bounds: a run, an event to be dispatched."""
    besides: Besides = ()
    """The other columns, or members, that the library writes: by them its records are told from
    those of others. No part of a record is read from them."""
    status: SideStatus
    in_progress_means: str = "in progress"
    """What this library's users call it, for explanations."""
    breaks: dict[str, Annotated[str, Field(min_length=1)]] = {}
    """What the library is known to get wrong, a sentence for the code of the check that sees it."""

    @model_validator(mode="after")
    def _reads_nothing_besides(self) -> Self:
        refuse_what_is_read(self)
        return self

    def paths(self) -> set[Path]:
        """Find where everything is that a record is read from."""
        parts = (self.endpoint, self.fingerprint, self.fence, self.epoch, self.response_status)
        conditions = self.status.conditions() if isinstance(self.status, Statuses) else []
        return {
            *(part for part in parts if part is not None),
            *(at.field for at in self.instants()),
            *(path for _, condition in conditions for path in fields_of(condition)),
        }

    def instants(self) -> list[At]:
        """List the instants that a record keeps."""
        all_of_them = (self.counted_from, self.completed, self.expires, self.lease, self.due)
        return [at for at in all_of_them if at is not None]


class Child(_Part):
    """A table whose rows go with their parent's."""

    table: str
    """Without a schema, it stands in that of its parent, wherever that was found."""
    join: str
    """The column, of one name in both tables, that ties a row to its parent."""
    step: str | None = None
    """The column that names a unit of the parent's work, which is done once."""
    done: Condition | None = None
    """Which rows tell of a step that was done."""


class PostgresLayout(Side):
    """How a library writes records into a table."""

    table: str
    """The name that the library uses by default."""
    key: str
    scope: str | None = None
    child: Child | None = None
    drags: tuple[TableName, ...] = ()
    """Tables whose rows may go with a record, or lose their reference to it, because the library
    means it so. Without a schema, they stand in that of `table`."""
    never_collected: Condition | None = None
    """Which rows stay, whatever their expiry; `always` for a table that holds the business."""

    @model_validator(mode="after")
    def _can_expire(self) -> Self:
        if self.expires is None and self.counted_from is None:
            raise ValueError("needs expires or counted_from: without both nothing ever expires")
        for at in self.instants():
            if at.unit is Unit.ISO or (at.unit and at.zone):
                raise ValueError("a column counts units, or is a timestamp with or without zone")
            if isinstance(at.field, tuple) and at.unit is None:
                raise ValueError("an instant inside of JSON is a number: say which unit it counts")
        return self

    @property
    def ordered_by(self) -> At:
        """The instant by which rows come to expire."""
        at = self.expires or self.counted_from
        assert at is not None, "a layout has one of both"
        return at


class RedisLayout(Side):
    """How a library writes records into Redis."""

    scope: Path | None = None

    container: Container = Container.KEY
    prefix: str
    """The prefix that the library uses by default; the name of the one key that holds all
    records, where a container does."""
    key: Annotated[str, AfterValidator(_expression)]
    """A regular expression for what follows the prefix, with the parts `key`, `scope` and
    `endpoint` by name. A part that is also a member of the value is taken from the value."""
    lock: Annotated[str, AfterValidator(_expression)] | None = None
    """The same for keys whose presence alone says that work is in progress, until they expire."""
    beside: Annotated[str, AfterValidator(_names)] | None = None
    """A regular expression for what follows the prefix of keys that are no records: locks that
    say nothing more than the record does, indexes, counters."""
    siblings: Siblings = Field(default_factory=dict)
    """Other keys that belong to a record, by name: templates as in `name`, without the prefix.
    What they hold are members of the value: `$NAME`."""
    name: Template | None = None
    """A template for what follows the prefix, by which a record is found from its key:
    `[{scope}:]{key}`. See `layouts.naming`."""
    key_field: Path | None = None
    """The member of the value that repeats the key, where there is one."""
    codec: Codec
    unit: Unit = Unit.MILLISECONDS

    @field_validator("codec")
    @classmethod
    def _lies_there(cls, codec: Codec, info: ValidationInfo) -> Codec:
        info.data.get("container", Container.KEY).refuse(codec)
        return codec

    @field_validator("lock")
    @classmethod
    def _is_a_key(cls, lock: str | None, info: ValidationInfo) -> str | None:
        if info.data.get("container", Container.KEY) is not Container.KEY:
            raise ValueError("is a key beside other keys: where one key holds all, name a sibling")
        return lock

    @model_validator(mode="after")
    def _knows_its_siblings(self) -> Self:
        refuse_strangers(self, self.siblings)
        return self

    @model_validator(mode="after")
    def _has_no_zone(self) -> Self:
        if any(at.zone for at in self.instants()):
            raise ValueError("a value in Redis is read by its unit, and needs no zone")
        return self

    def hash_fields(self) -> list[str]:
        """List the fields of a hash that are needed; none where keys hold no hashes."""
        first, *rest = self.codec
        if first is not Word.HASH:
            return []
        if rest and isinstance(rest[0], Member):
            return [rest[0].member]
        wanted = {*self.paths(), self.scope, self.key_field} - {None}
        members = {path[0] if isinstance(path, tuple) else path for path in wanted}
        return sorted(str(member) for member in members if not is_member(member))


class Layout(_Part):
    """One layout file."""

    layout: Name
    title: str
    proven: Literal["live", "source"]
    """Whether it was tried against what the library writes, or read from its source."""
    postgres: PostgresLayout | None = None
    redis: RedisLayout | None = None

    @model_validator(mode="after")
    def _has_a_side(self) -> Self:
        if self.postgres is None and self.redis is None:
            raise ValueError("describes neither postgres nor redis")
        return self

    def known_faults(self, side: Side) -> dict[str, str]:
        """Say by the code of a check what is known of this side, and of whose it is."""
        return {
            code: f"known of {self.layout}: {sentence.rstrip('.')}"
            for code, sentence in side.breaks.items()
        }

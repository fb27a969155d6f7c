"""The model of a layout file.

A layout says where a library keeps the parts of a record and how each status is
recognised. Reading needs nothing but the file. What it leaves out cannot be seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    Field,
    field_validator,
    model_validator,
)

from idemctl.layouts.besides import read_by
from idemctl.layouts.codecs import Codec, Member, Word
from idemctl.layouts.conditions import Condition, fields_of
from idemctl.layouts.containers import Container
from idemctl.layouts.instants import Unit
from idemctl.layouts.paths import Path
from idemctl.layouts.patterns import compiled
from idemctl.layouts.siblings import Siblings, Template, is_member, refuse_strangers
from idemctl.layouts.sides import Part, Side
from idemctl.layouts.tables import Column, TableName, refuse_long_names, refuse_nuls

if TYPE_CHECKING:
    from pydantic import ValidationInfo

    from idemctl.layouts.instants import At

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,62}$")]


def _names(text: str) -> str:
    compiled(text)
    return text


def _expression(text: str) -> str:
    if "key" not in compiled(text).groupindex:
        raise ValueError("must name the part that is the key: (?P<key>...)")
    return text


class Child(Part):
    """A table whose rows go with their parent's."""

    table: TableName
    """Without a schema, it stands in that of its parent, wherever that was found."""
    join: Column
    """The column, of one name in both tables, that ties a row to its parent."""
    step: Column | None = None
    """The column that names a unit of the parent's work, which is done once."""
    done: Condition | None = None
    """Which rows tell of a step that was done."""


class Order(Part):
    """The order in which the work of some rows is done, where the application promises one."""

    within: str
    """The column whose equal values make one sequence: the aggregate of an event."""
    by: str
    """The column that counts within it."""


class PostgresLayout(Side):
    """How a library writes records into a table."""

    table: TableName
    """The name that the library uses by default."""
    key: Column
    scope: Column | None = None
    child: Child | None = None
    order: Order | None = None
    drags: tuple[TableName, ...] = ()
    """Tables whose rows may go with a record, or lose their reference to it, because the library
    means it so. Without a schema, they stand in that of `table`."""
    only: Condition | None = None
    """Which rows are records; the others are somebody else's, and as if they were not there."""
    never_collected: Condition | None = None
    """Which rows stay, whatever their expiry; `always` for a table that holds the business."""

    @model_validator(mode="after")
    def _has_names_of_columns(self) -> Self:
        refuse_nuls(self)
        refuse_long_names(read_by(self) | set(self.besides))
        return self

    @model_validator(mode="after")
    def _can_expire(self) -> Self:
        is_endless = self.expires is None and self.counted_from is None
        if is_endless and self.never_collected != "always":
            raise ValueError(
                "needs expires or counted_from: without both nothing ever expires; a table that "
                "has neither says never_collected: always"
            )
        for at in self.instants():
            if at.unit is Unit.ISO or (at.unit and at.zone):
                raise ValueError("a column counts units, or is a timestamp with or without zone")
            if isinstance(at.field, tuple) and at.unit is None:
                raise ValueError("an instant inside of JSON is a number: say which unit it counts")
        return self

    def paths(self) -> set[Path]:
        """See `Side.paths`; also where conditions look that say what a row is to this layout."""
        said = (self.only, self.never_collected)
        return super().paths().union(*(fields_of(one) for one in said if one is not None))

    @property
    def ordered_by(self) -> At | None:
        """The instant by which rows come to expire; none where none ever does."""
        return self.expires or self.counted_from

    @property
    def expiry_column(self) -> str | None:
        """The column that holds it, where it is not nested in one."""
        at = self.ordered_by
        return at.field if at is not None and isinstance(at.field, str) else None


class RedisLayout(Side):
    """How a library writes records into Redis."""

    scope: Path | None = None

    container: Container = Container.KEY
    prefix: Annotated[str, Field(max_length=1000)]
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
        named = sorted(str(member) for member in members if not is_member(member))
        # Where no field counts, one that nobody writes tells a hash from what is none.
        return named or [""]


class Layout(Part):
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

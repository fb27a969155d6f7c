"""What both sides of a layout share: where the parts of a record are, and its statuses."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    WithJsonSchema,
    model_validator,
)

from idemctl.domain.records import Pattern, Status
from idemctl.layouts.besides import Besides, refuse_what_is_read
from idemctl.layouts.conditions import Condition, Is, as_text, fields_of
from idemctl.layouts.instants import At
from idemctl.layouts.joins import Where, pieces
from idemctl.layouts.paths import Path


def _pattern(label: object) -> object:
    for pattern in Pattern:
        if label == pattern.label:
            return pattern
    if isinstance(label, Pattern):
        return label
    raise ValueError("write one of " + ", ".join(one.label for one in Pattern))


LayoutPattern = Annotated[
    Pattern,
    BeforeValidator(_pattern),
    WithJsonSchema({"enum": [one.label for one in Pattern]}),
]


class Part(BaseModel):
    """A part of a layout file: nothing unknown is in it, and nothing changes it."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Statuses(Part):
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


class Side(Part):
    """What Postgres and Redis layouts share: where in a row, or in a value, the parts are."""

    pattern: LayoutPattern
    endpoint: Where | None = None
    client: Path | None = None
    fingerprint: Path | None = None
    response_status: Path | None = None
    """The HTTP status of the stored response, as a number."""
    request_headers: Path | None = None
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

    def with_headers(self) -> Self:
        """Make a layout that shows headers where the fingerprint and the endpoint would be.

        For a look at some records, so that no scan has to pay for it.
        """
        return self.model_copy(
            update={"fingerprint": self.request_headers, "endpoint": self.response_headers}
        )

    def paths(self) -> set[Path]:
        """Find where everything is that a record is read from."""
        parts = (self.fingerprint, self.fence, self.epoch, self.response_status)
        conditions = self.status.conditions() if isinstance(self.status, Statuses) else []
        return {
            *pieces(self.endpoint),
            *(part for part in parts if part is not None),
            *(at.field for at in self.instants()),
            *(path for _, condition in conditions for path in fields_of(condition)),
        }

    def instants(self) -> list[At]:
        """List the instants that a record keeps."""
        all_of_them = (self.counted_from, self.completed, self.expires, self.lease, self.due)
        return [at for at in all_of_them if at is not None]

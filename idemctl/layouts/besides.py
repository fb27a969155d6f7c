"""What a library writes besides the parts of a record: names that tell its records from others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, Field

if TYPE_CHECKING:
    from idemctl.layouts.sides import Side


def _unlike(names: tuple[str, ...]) -> tuple[str, ...]:
    twice = dict.fromkeys(name for name in names if names.count(name) > 1)
    if twice:
        raise ValueError(f"names twice: {', '.join(twice)}")
    return names


Besides = Annotated[
    tuple[Annotated[str, Field(min_length=1)], ...],
    AfterValidator(_unlike),
    Field(json_schema_extra={"uniqueItems": True}),
]


def read_by(side: Side) -> set[str]:
    """Find the columns, or the members of a decoded value, that a layout reads by their names."""
    # In Redis the key is cut out of a name; a member of the value may repeat it.
    key = getattr(side, "key_field" if hasattr(side, "key_field") else "key")
    others = (side.client, side.request_headers, side.response_headers, side.response_body)
    order = getattr(side, "order", None)
    others += () if order is None else (order.within, order.by)
    places = {*side.paths(), *others, key, getattr(side, "scope", None)} - {None}
    firsts = (place[0] if isinstance(place, tuple) else place for place in places)
    return {first for first in firsts if isinstance(first, str)}


def refuse_what_is_read(side: Side) -> None:
    """Refuse a name that says nothing new.

    Raises:
        ValueError: a part of the record is read from it.
    """
    known = read_by(side)
    if read := [name for name in side.besides if name in known]:
        raise ValueError(f"besides names what the layout reads anyway: {', '.join(read)}")

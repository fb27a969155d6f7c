"""Siblings: other keys that belong to a record, and what they hold as members of its row.

A sibling called `code` is the member `$code`, for conditions and for parts. Its name is made
of the record's key and scope as they stand in the record's own name, for both are asked for
at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, BaseModel, Field, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from idemctl.layouts.naming import Naming
from idemctl.layouts.patterns import matching

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_NO_PATHS = {"prefix", "key", "lock", "beside", "besides", "name", "siblings", "codec", "value"}
"""Fields of layouts and conditions whose text is no path, whatever it begins with."""
Asked = dict[bytes, list[bytes]]
"""The names of records, and those of the siblings of each."""
_Location = tuple[str | int, ...]


def _template(text: str) -> str:
    Naming(text)
    return text


Template = Annotated[str, AfterValidator(_template)]
"""See `layouts.naming`."""
Siblings = dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,62}$")], Template]
"""By name, a template for the whole name of a key."""


def member_of(sibling: str) -> str:
    """Give the member under which a sibling's value is found.

    >>> member_of("code")
    '$code'
    """
    return f"${sibling}"


def is_member(name: object) -> bool:
    """Whether a member is a sibling's."""
    return isinstance(name, str) and name.startswith("$")


def refuse_strangers(layout: BaseModel, siblings: Mapping[str, str]) -> None:
    """Refuse a layout that speaks of siblings which it does not have, and say where.

    Raises:
        ValidationError: some `$name` is no sibling's.
    """
    known = set(map(member_of, siblings))
    strangers = [(name, at) for name, at in _spoken_of(layout, ()) if name not in known]
    if strangers:
        raise ValidationError.from_exception_data(
            "siblings", [_stranger(name, at, known) for name, at in strangers]
        )


def _stranger(name: str, at: _Location, known: set[str]) -> InitErrorDetails:
    said = f"{name} is no sibling; known here: {', '.join(sorted(known)) or 'none'}"
    fault = PydanticCustomError("sibling", "{said}", {"said": said})
    return InitErrorDetails(type=fault, loc=at, input=name)


def _spoken_of(node: object, at: _Location) -> Iterator[tuple[str, _Location]]:
    if isinstance(node, BaseModel):
        for name, field in type(node).model_fields.items():
            if name not in _NO_PATHS:
                yield from _spoken_of(getattr(node, name), (*at, field.alias or name))
    elif isinstance(node, list):
        for number, one in enumerate(node):
            yield from _spoken_of(one, (*at, number))
    elif isinstance(node, tuple):
        yield from _spoken_of(node[0], at)
    elif isinstance(node, str) and is_member(node):
        yield node, at


class Family:
    """Finds the siblings of records."""

    def __init__(self, key: str, siblings: Mapping[str, str], before: bytes) -> None:
        """Know records by `key`, the regular expression for what follows `before`."""
        self.members = list(map(member_of, siblings))
        self._match = matching(key, len(before))
        self._namings = [(Naming(one), "{scope}" in one) for one in siblings.values()]

    def of(self, names: Sequence[bytes]) -> Asked:
        """Give the siblings of each record by its name, in the order of `members`.

        One whose name the layout does not write has none.
        """
        parts = {name: self._match(name) for name in names}
        known = {name: match.groupdict(b"") for name, match in parts.items() if match}
        keys = [one["key"] for one in known.values()]
        scopes = [one.get("scope", b"") for one in known.values()]
        none = [b""] * len(keys)
        made = [
            # Where a template has no place for a scope, it is told of none.
            [one for one in naming.names(keys, scopes if has_scope else none) if one is not None]
            for naming, has_scope in self._namings
        ]
        return dict(zip(known, map(list, zip(*made, strict=True)), strict=True))

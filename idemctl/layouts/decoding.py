"""JSON values taken apart: only the members that somebody asked for, many values at a time."""

from __future__ import annotations

import re
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec

from idemctl.domain.keys import is_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from idemctl.domain.records import Flaw
    from idemctl.layouts.codecs import Value

_ERRORS = (msgspec.DecodeError, RecursionError)
_LONGEST_NUMBER = 4300
"""Digits; a value with a longer number cannot be read, also if nobody asks for that number."""
_DIGIT = re.compile(rb"\d", re.ASCII)


class MemberDecoder:
    """Decodes objects, of which only some members are needed.

    What else they hold is passed over: that is what makes it several times faster than a look
    at everything.
    """

    def __init__(self, members: Iterable[str | int]) -> None:
        """Ask for members by name; a layout that counts items is none for objects."""
        wanted = list(members)
        names = [name for name in wanted if isinstance(name, str) and is_unescaped(name)]
        self.is_able = names == wanted
        """Any other name would have to be compared with its escaped form."""
        fields = {f"member{at}": name for at, name in enumerate(names)}
        shape = msgspec.defstruct(
            "Object", [(field, Any, None) for field in fields], rename=fields, gc=False
        )
        self._decode = msgspec.json.Decoder(shape).decode
        self._takes = {name: attrgetter(field) for field, name in fields.items()}

    def members(self, values: Sequence[Value | Flaw]) -> dict[str | int, list[Any]] | None:
        """Give each member of all values, or `None` where any of them needs a closer look."""
        if not self.is_able:
            return None
        try:
            # What is passed over is not looked at for bytes that are no text, or long numbers.
            if not is_text(b"".join(values)) or _may_hold_long_number(values):  # type: ignore[arg-type] # Else it raises.
                return None
            objects = list(map(self._decode, values))  # type: ignore[arg-type]
        except (*_ERRORS, TypeError):
            return None
        return {name: list(map(take, objects)) for name, take in self._takes.items()}


def _may_hold_long_number(values: Sequence[bytes]) -> bool:
    """Look only where a number beyond all would have one of its digits at least."""
    if not values or max(map(len, values)) <= _LONGEST_NUMBER:
        return False
    looked_at = b"".join([value[_LONGEST_NUMBER :: _LONGEST_NUMBER + 1] for value in values])
    return _DIGIT.search(looked_at) is not None


def is_unescaped(name: str) -> bool:
    """Tell whether a name stands in JSON as it is, which msgspec's structs ask of theirs."""
    return name.isprintable() and not set(name) & {'"', "\\"}

"""JSON values taken apart: only the members that somebody asked for, many values at a time."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec

from idemctl.domain.keys import is_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from idemctl.domain.records import Flaw
    from idemctl.layouts.codecs import Value
    from idemctl.layouts.paths import Path

_Plain = str | int | float | bool | None
_ERRORS = (msgspec.DecodeError, RecursionError)


class PlainDecoder:
    """Decodes objects that have every field, none of them an array or an object.

    What else they hold is passed over: that is what makes it several times faster than a look
    at everything.
    """

    def __init__(self, fields: Sequence[Path]) -> None:
        """Ask for at least two fields, none of them nested."""
        names = [f"member{at}" for at in range(len(fields))]
        members = [field for field in fields if isinstance(field, str)]
        self._take: Callable[[Any], tuple[Any, ...]] | None = None
        # Such a name would have to be compared with its escaped form.
        if 1 < len(fields) == len(members) and all(map(is_unescaped, members)):
            renamed = dict(zip(names, members, strict=True))
            shape = msgspec.defstruct(
                "Plain", [(name, _Plain) for name in names], rename=renamed, gc=False
            )
            self._decode = msgspec.json.Decoder(shape).decode
            self._take = attrgetter(*names)

    @property
    def is_able(self) -> bool:
        """Whether there is a quick way for these fields."""
        return self._take is not None

    def rows(self, values: Sequence[Value | Flaw]) -> list[tuple[Any, ...]] | None:
        """Give the fields of each value, or `None` where any of them is not plain."""
        if self._take is None:
            return None
        try:
            # What is passed over is not looked at for bytes that are no text.
            if not is_text(b"".join(values)):  # type: ignore[arg-type] # Else it raises.
                return None
            return list(map(self._take, map(self._decode, values)))  # type: ignore[arg-type]
        except (*_ERRORS, TypeError):
            return None


def is_unescaped(name: str) -> bool:
    """Tell whether a name stands in JSON as it is, which msgspec's structs ask of theirs."""
    return name.isprintable() and not set(name) & {'"', "\\"}

"""Paths: where in a row a value is found.

Mostly it is a name: of a column, of a member of a JSON object. A list of names leads on into
what is nested there, and a number counts the items of an array: `[response, headers, 0]`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field, StrictInt, StrictStr

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_Name = Annotated[StrictStr, Field(min_length=1)]
_Item = Annotated[StrictInt, Field(ge=0)]


def _short(given: object) -> object:
    """Write a path of one step as that step."""
    return given[0] if isinstance(given, list) and len(given) == 1 else given


Path = Annotated[
    _Name | _Item | Annotated[tuple[_Name | _Item, ...], Field(min_length=2)],
    BeforeValidator(_short),
]


def taking(path: Path) -> Callable[[Mapping[Any, Any]], Any]:
    """Turn a path into a function of a row; `None` where it leads nowhere.

    >>> code = taking(("response", "codes", 1))
    >>> code({"response": {"codes": [200, 201]}}), code({"response": {"codes": 5}}), code({})
    (201, None, None)
    """
    if not isinstance(path, tuple):
        return lambda row: row.get(path)
    first, *rest = path

    def take(row: Mapping[Any, Any]) -> Any:
        value = row.get(first)
        for step in rest:
            if isinstance(value, dict):
                value = value.get(step)
            elif isinstance(value, list) and isinstance(step, int) and step < len(value):
                value = value[step]
            else:
                return None
        return value

    return take

"""Paths: where in a row a value is found.

Mostly it is a name: of a column, of a member of a JSON object. A list of names leads on into
what is nested there, and a number counts the items of an array: `[response, headers, 0]`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, Discriminator, Field, StrictInt, StrictStr, Tag

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_Name = Annotated[StrictStr, Field(min_length=1)]
_Item = Annotated[StrictInt, Field(ge=0, le=9_999)]
_Step = Annotated[
    Annotated[_Name, Tag("name")] | Annotated[_Item, Tag("item")],
    Discriminator(lambda step: "item" if type(step) is int else "name"),
]
_Steps = Annotated[tuple[_Step, ...], Field(min_length=1)]


def _kind(given: object) -> str:
    if isinstance(given, list | tuple):
        return "steps"
    return "item" if type(given) is int else "name"


def _short(path: Any) -> Any:
    """Write a path of one step as that step."""
    return path[0] if isinstance(path, tuple) and len(path) == 1 else path


if TYPE_CHECKING:
    Path = str | int | tuple[str | int, ...]
else:
    Path = Annotated[
        Annotated[_Name, Tag("name")]
        | Annotated[_Item, Tag("item")]
        | Annotated[_Steps, Tag("steps")],
        Discriminator(_kind),
        AfterValidator(_short),
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


def heads_of(paths: Iterable[Path]) -> set[str | int]:
    """List where paths begin."""
    return {path[0] if isinstance(path, tuple) else path for path in paths}


def columns(paths: Iterable[Path], heads: Mapping[str | int, list[Any]]) -> dict[Path, list[Any]]:
    """Give what each path leads to, row by row: the same that `taking` takes.

    >>> columns(["id", ("response", "code")], {"id": [1, 2], "response": [{"code": 200}, "ok"]})
    {'id': [1, 2], ('response', 'code'): [200, None]}

    Args:
        paths: where to.
        heads: for each beginning of a path, what the rows hold there.
    """
    return {
        path: _led_on(heads[path[0]], path[1:]) if isinstance(path, tuple) else heads[path]
        for path in paths
    }


def _led_on(values: Sequence[Any], steps: tuple[str | int, ...]) -> list[Any]:
    for step in steps:
        if isinstance(step, int):
            values = [_item(value, step) for value in values]
        else:
            values = [value.get(step) if isinstance(value, dict) else None for value in values]
    return list(values)


def _item(value: Any, step: int) -> Any:
    if isinstance(value, list):
        return value[step] if step < len(value) else None
    return value.get(step) if isinstance(value, dict) else None

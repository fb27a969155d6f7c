"""Fit a document to a pydantic model, and say in plain words where it does not fit."""

from __future__ import annotations

import difflib
import re
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, Union, get_args, get_origin

from idemctl.documents.places import InvalidDocument, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pydantic import BaseModel
    from pydantic_core import ErrorDetails

    from idemctl.documents.places import Document

    M = TypeVar("M", bound=BaseModel)

_EXPECTED = {
    "bool_type": "true or false",
    "date_type": "a date",
    "dict_type": "a mapping",
    "float_type": "a number",
    "frozen_set_type": "a list",
    "int_from_float": "a whole number",
    "int_type": "a whole number",
    "list_type": "a list",
    "model_attributes_type": "a mapping",
    "model_type": "a mapping",
    "path_type": "a path",
    "set_type": "a list",
    "string_type": "text",
    "tuple_type": "a list",
}
_COMPARED = {
    "greater_than": "greater than {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
    "string_too_long": "at most {max_length} characters long",
    "string_too_short": "at least {min_length} characters long",
    "too_long": "at most {max_length} items long",
    "too_short": "at least {min_length} items long",
}
_CHOICE = re.compile(r"'((?:[^'\\]|\\.)*)'|(-?[0-9]+)")
# A value is repeated in a message only when it is a plain word: it may be a password.
_WORD = re.compile(r"[A-Za-z0-9_.-]{1,40}", re.ASCII)


def read_model(
    document: Document, model: type[M], *, context: Mapping[str, Any] | None = None
) -> M:
    """Fit a document to a model; text is never taken for a number, nor a number for text.

    Args:
        document: what was read.
        model: a pydantic model.
        context: what the model's validators find in `info.context`.

    Raises:
        InvalidDocument: it does not fit, with a problem for everything that does not.
    """
    from pydantic import ValidationError
    from pydantic_core import to_json

    try:
        # Strict as JSON: a list may become a tuple and text an enum, for YAML has neither.
        return model.model_validate_json(to_json(document.data), strict=True, context=context)
    except ValidationError as error:
        details = error.errors(include_url=False)
    # Outside the handler: pydantic's own error shows what it was given, secrets included.
    raise InvalidDocument(_problem(document, model, detail) for detail in details)


def _problem(document: Document, model: type[BaseModel], detail: ErrorDetails) -> Problem:
    path, last = _path(document.data, detail["loc"])
    fault = detail["type"]
    if fault == "missing":
        at = document.place(path, key=True)
        return Problem(at, f"{_prefix(path)}the field {last!r} is missing")
    if fault == "extra_forbidden":
        known = _fields_at(model, path[:-1])
        message = f"the field {path[-1]!r} is unknown{_suggestion(path[-1], known)}"
        return Problem(document.place(path, key=True), f"{_prefix(path[:-1])}{message}")
    at = document.place(path, key=last == "[key]")
    if not path and document.data is None:
        return Problem(at, "the file is empty")
    return Problem(at, f"{_prefix(path)}{_message(detail)}")


def _path(data: Any, loc: Sequence[str | int]) -> tuple[tuple[str | int, ...], str | int | None]:
    """Keep of pydantic's location what exists in the data; and give its last part.

    Between keys and positions pydantic also names branches of unions and validators.
    """
    path: list[str | int] = []
    for part in loc:
        inside = (isinstance(data, dict) and part in data) or (
            isinstance(data, list) and isinstance(part, int) and part < len(data)
        )
        if inside:
            data = data[part]
            path.append(part)
    return tuple(path), loc[-1] if loc else None


def _message(detail: ErrorDetails) -> str:
    fault, context, given = detail["type"], detail.get("ctx", {}), detail["input"]
    if fault in _EXPECTED:
        message = f"must be {_EXPECTED[fault]}, not {_kind(given)}"
        is_number = isinstance(given, int | float)
        return f"{message}; write it in quotes" if fault == "string_type" and is_number else message
    if fault in _COMPARED:
        is_empty = fault in {"string_too_short", "too_short"} and not given
        return "must not be empty" if is_empty else f"must be {_COMPARED[fault].format(**context)}"
    if fault in {"literal_error", "enum"}:
        return _choice_message(str(context["expected"]), given)
    if fault == "string_pattern_mismatch":
        return f"must have the form {context['pattern'].strip('^$')}"
    if fault in {"value_error", "assertion_error"}:
        return str(context["error"])
    said = detail["msg"]
    return said[:1].lower() + said[1:]


def _choice_message(expected: str, given: Any) -> str:
    choices = [text or number for text, number in _CHOICE.findall(expected)]
    message = f"must be {'one of ' if len(choices) > 1 else ''}{', '.join(choices)}"
    if isinstance(given, bool | list | dict | None):
        return f"{message}, not {_kind(given)}"
    if _WORD.fullmatch(str(given)):
        message += f", not {given}"
    close = difflib.get_close_matches(str(given), choices, n=1)
    return f"{message}; did you mean {close[0]}?" if close else message


def _kind(given: Any) -> str:
    if isinstance(given, bool):
        return str(given).lower()
    for types, kind in (
        ((int, float), "a number"),
        ((str,), "text"),
        ((list,), "a list"),
        ((dict,), "a mapping"),
    ):
        if isinstance(given, types):
            return kind
    return "empty"


def _prefix(path: tuple[str | int, ...]) -> str:
    written = ".".join(
        str(part) if isinstance(part, int) or _WORD.fullmatch(part) else repr(part) for part in path
    )
    return f"{written}: " if written else ""


def _suggestion(given: str | int, known: Iterable[str]) -> str:
    names = sorted(known)
    close = difflib.get_close_matches(str(given), names, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; known here: {', '.join(names)}" if names else ""


def _fields_at(annotation: Any, path: tuple[str | int, ...]) -> set[str]:
    """Collect the field names that the models at `path` below an annotation know."""
    from pydantic import BaseModel

    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        fields = {
            field.alias or name: field.annotation for name, field in annotation.model_fields.items()
        }
        if not path:
            return set(fields)
        return _fields_at(fields.get(str(path[0])), path[1:])
    origin = get_origin(annotation)
    # Unions and annotations are read through; a container takes one step of the path.
    if path and isinstance(origin, type) and origin not in (Annotated, Union, UnionType):
        path = path[1:]
    return set().union(*(_fields_at(argument, path) for argument in get_args(annotation)))

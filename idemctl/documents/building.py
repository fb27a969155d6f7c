"""Parser events to plain data with places, and everything refused that is ambiguous.

What is refused is what makes two readers of one file disagree: repeated keys, anchors
and aliases, merge keys, tags, directives, several documents, keys that are not
strings. Of plain words only `true`, `false`, `null`, `~` and decimal numbers mean
something other than themselves: `no`, `12:30:00`, `0o17`, `007`, `1_000`, `.inf` and
dates are strings.

The data is built from events, not from nodes: the walk stops at the first level too
deep and follows no alias, so no file can make it large.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import yaml

from idemctl.documents.places import InvalidDocument, Node, Place, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from yaml import Event

DEPTH_LIMIT = 50
"""Mappings and lists that may stand inside one another."""
PROBLEM_LIMIT = 100
"""Problems after which reading stops."""
PARSE_ERRORS = (yaml.YAMLError, ValueError, OverflowError)
"""What the parser raises; the one in Python also for an escape beyond Unicode."""

# libyaml where PyYAML was built with it: ten times the speed, the same events.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_WORDS = {"": None, "~": None, "null": None, "true": True, "false": False}
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)", re.ASCII)
_FLOAT = re.compile(
    r"[-+]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?", re.ASCII
)
_INTEGER_DIGITS = 18
_SHOWN_LENGTH = 60


class Builder:
    """One pass over the events of one document."""

    def __init__(self, file: str) -> None:
        self.problems: list[Problem] = []
        self._file = file
        self._depth = 0

    def read(self, content: str) -> tuple[Node, Any]:
        """Build the document; problems that can be stepped over go to `problems`.

        Raises:
            InvalidDocument: it is nested too deep, or has too many problems.
        """
        events = yaml.parse(content, Loader=_LOADER)
        top = Place(self._file, 1, 1)
        root, data = Node(top, top), None
        seen = False
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                if event.version or event.tags:
                    self._complain(event, "a %-directive is not allowed")
                if seen:
                    self._complain(event, "a second document; a file holds one")
                    break
                seen = True
            elif not isinstance(
                event, yaml.StreamStartEvent | yaml.StreamEndEvent | yaml.DocumentEndEvent
            ):
                root, data = self._value(event, events, key=top)
        return root, data

    def _value(self, event: Any, events: Iterator[Event], *, key: Place | None) -> tuple[Node, Any]:
        place = self._place(event)
        node = Node(place, key or place)
        if isinstance(event, yaml.AliasEvent):
            self._complain(event, "an alias (*) is not allowed; write the value out")
            return node, None
        if event.anchor is not None:
            self._complain(event, "an anchor (&) is not allowed; write the value out where needed")
        if event.tag is not None:
            self._complain(event, "a tag (!) is not allowed; the value says what it is")
        if isinstance(event, yaml.ScalarEvent):
            return node, self._scalar(event)
        self._depth += 1
        if self._depth > DEPTH_LIMIT:
            raise InvalidDocument(
                [*self.problems, Problem(place, f"nested deeper than {DEPTH_LIMIT} levels")]
            )
        if isinstance(event, yaml.MappingStartEvent):
            data: Any = self._mapping(node, events)
        else:
            data = self._list(node, events)
        self._depth -= 1
        return node, data

    def _list(self, node: Node, events: Iterator[Event]) -> list[Any]:
        items: list[Any] = []
        for event in events:
            if isinstance(event, yaml.SequenceEndEvent):
                break
            node.inside[len(items)], item = self._value(event, events, key=None)
            items.append(item)
        return items

    def _mapping(self, node: Node, events: Iterator[Event]) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        for event in events:
            if isinstance(event, yaml.MappingEndEvent):
                break
            place = self._place(event)
            name = self._key(event, events)
            inside, value = self._value(next(events), events, key=place)
            if name is None:
                continue
            if name in mapping:
                first = node.inside[name].key
                self._complain(event, f"the key {_shown(name)} is already given at {first}")
                continue
            mapping[name], node.inside[name] = value, inside
        return mapping

    def _key(self, event: Event, events: Iterator[Event]) -> str | None:
        if not isinstance(event, yaml.ScalarEvent):
            self._value(event, events, key=None)
            self._complain(event, "a key must be one string")
            return None
        if event.implicit[0] and event.value == "<<":
            self._complain(event, "a merge key (<<) is not allowed; write the fields out")
            return None
        _, name = self._value(event, events, key=None)
        if not isinstance(name, str):
            shown = _shown(event.value) if event.value else "empty"
            self._complain(event, f"the key {shown} is not a string; write it in quotes")
            return None
        return name

    def _scalar(self, event: Any) -> Any:
        value: str = event.value
        if not value.isascii() and _has_surrogate(value):
            self._complain(event, "a surrogate is no character")
        # Only an unquoted value without a tag may be other than a string.
        if not event.implicit[0]:
            return value
        if value in _WORDS:
            return _WORDS[value]
        if _INTEGER.fullmatch(value):
            if len(value) <= _INTEGER_DIGITS:
                return int(value)
            self._complain(event, "a number this long must be written in quotes")
        elif value != "." and _FLOAT.fullmatch(value):
            number = float(value)
            if math.isfinite(number):
                return number
            self._complain(event, f"{_shown(value)} is too large a number; write text in quotes")
        return value

    def _place(self, event: Event) -> Place:
        mark = event.start_mark
        assert mark is not None
        return Place(self._file, mark.line + 1, mark.column + 1)

    def _complain(self, event: Event, message: str) -> None:
        self.problems.append(Problem(self._place(event), message))
        if len(self.problems) >= PROBLEM_LIMIT:
            raise InvalidDocument(self.problems)


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN_LENGTH else text[:_SHOWN_LENGTH] + "…")

"""Routes: a method and a path template, matched as routers match them.

`{name}` stands for one segment or a part of it; `{name:uuid}`, `{name:int}` and
`{name:float}` for one of that form, `{name:path}` for the rest, slashes included. Where
several routes match a request the most specific counts, whatever their order: text before
a parameter, segment by segment from the left.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_ROUTE = re.compile(r"([A-Z]+) (/\S*)", re.ASCII)
_PARAMETER = re.compile(r"{([a-zA-Z_][a-zA-Z0-9_]*)(?::([a-zA-Z_][a-zA-Z0-9_]*))?}", re.ASCII)
_FORMS = {
    "uuid": "[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}",
    "int": "[0-9]+",
    "float": r"[0-9]+(?:\.[0-9]+)?",
    "str": "[^/]+",
    "path": ".*",
}
"""The narrow ones first."""
_RANKS = {form: rank for rank, form in enumerate(_FORMS, start=2)}
_END = (len(_RANKS) + 2, 0)


class Relation(Enum):
    """How two routes stand to each other that match some request both."""

    SAME = "same"
    """They match the same requests; only the names of parameters differ."""
    NESTED = "nested"
    """One is the more specific throughout."""
    CROSSED = "crossed"
    """Each is the more specific somewhere, so only the order of segments decides."""


@dataclass(frozen=True, slots=True)
class Segment:
    """What stands between two slashes of a template."""

    shape: str
    """The text with the parameters' names left out: equal shapes match the same."""
    rank: tuple[int, int]
    """The smaller, the more specific."""
    form: str | None
    """The one parameter's, where the segment is nothing else."""
    before: str
    after: str
    """The text before the first parameter and after the last."""
    expression: str
    takes_rest: bool
    """Whether it reaches over slashes."""

    @property
    def is_text(self) -> bool:
        """Whether it has no parameter."""
        return self.rank[0] == 0

    def meets(self, other: Segment) -> bool:
        """Tell whether some text fits both; where that is hard to say, yes."""
        if self.is_text:
            return re.fullmatch(other.expression, self.before) is not None
        if other.is_text:
            return other.meets(self)
        if self.form and other.form:
            forms = {self.form, other.form}
            return len(forms) == 1 or bool(forms & {"str", "path"}) or "uuid" not in forms
        one, two = sorted((self.before, other.before), key=len)
        three, four = sorted((self.after, other.after), key=len)
        return two.startswith(one) and four.endswith(three)


@dataclass(frozen=True, slots=True)
class Route:
    """A method and a template that is understood."""

    method: str
    template: str
    parameters: tuple[str, ...]
    segments: tuple[Segment, ...]

    def matches(self, method: str, path: str) -> bool:
        """Tell whether a request is one of this route's."""
        return method == self.method and re.fullmatch(self.expression, path) is not None

    @property
    def expression(self) -> str:
        """The template as a regular expression, made when it is asked for: few routes are."""
        return "/".join(segment.expression for segment in self.segments)

    @property
    def rank(self) -> tuple[tuple[int, int], ...]:
        """Sort by it, and the most specific comes first."""
        return (*(segment.rank for segment in self.segments), _END)

    def relation(self, other: Route) -> Relation:
        """Tell how this stands to another that it meets."""
        pairs = list(zip(self.segments, other.segments, strict=False))
        if len(self.segments) == len(other.segments) and all(
            one.shape == two.shape for one, two in pairs
        ):
            return Relation.SAME
        if any(_crossed(one, two) for one, two in pairs):
            return Relation.CROSSED
        wins = {one.rank < two.rank for one, two in pairs if one.rank != two.rank}
        return Relation.CROSSED if len(wins) > 1 else Relation.NESTED


def _crossed(one: Segment, two: Segment) -> bool:
    """Tell of two mixed segments whether neither's text is a part of the other's."""
    if one.shape == two.shape or not one.rank[0] == two.rank[0] == 1:
        return False
    narrow, wide = sorted((one, two), key=lambda segment: segment.rank)
    return not (narrow.before.startswith(wide.before) and narrow.after.endswith(wide.after))


@lru_cache(maxsize=4096)
def parse_route(text: str) -> Route | None:
    """Understand `POST /v1/charges/{id}`; text of another form is a bare label: None.

    Raises:
        ValueError: it is a method and a path, but the path is no template.
    """
    parts = _ROUTE.fullmatch(text)
    if parts is None:
        return None
    method, template = parts.groups()
    names = [found[1] for found in _PARAMETER.finditer(template)]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{{{name}}} stands twice in the path")
    if set("{}") & set(_PARAMETER.sub("", template)):
        raise ValueError("a brace that begins or ends no {parameter}")
    segments = tuple(_segment(part) for part in template.split("/"))
    return Route(
        method=method,
        template=template,
        parameters=tuple(names),
        segments=segments,
    )


@lru_cache(maxsize=4096)
def _segment(text: str) -> Segment:
    found = list(_PARAMETER.finditer(text))
    forms = [one[2] or "str" for one in found]
    for form in forms:
        if form not in _FORMS:
            raise ValueError(f"{{…:{form}}} is unknown; known are {', '.join(_FORMS)}")
    shape, expression, position = "", "", 0
    for one, form in zip(found, forms, strict=True):
        between = text[position : one.start()]
        shape += f"{between}{{:{form}}}"
        expression += f"{re.escape(between)}(?:{_FORMS[form]})"
        position = one.end()
    left = text[position:]
    alone = forms[0] if len(found) == 1 and found[0].span() == (0, len(text)) else None
    written = len(_PARAMETER.sub("", text))
    return Segment(
        shape=shape + left,
        rank=(_RANKS[alone], 0) if alone else (1, -written) if found else (0, 0),
        form=alone,
        before=text[: found[0].start()] if found else text,
        after=left,
        expression=expression + re.escape(left),
        takes_rest="path" in forms,
    )


@dataclass(slots=True)
class _Branch:
    """Routes by their segments, so that a route is compared with those like it alone."""

    inside: dict[str, tuple[Segment, _Branch]] = field(default_factory=dict)
    open_shapes: list[str] = field(default_factory=list)
    """Those inside that have parameters."""
    ending: list[Route] = field(default_factory=list)
    open_ended: list[Route] = field(default_factory=list)
    """Those whose next segment takes all the rest."""

    def add(self, route: Route) -> None:
        """Put a route where its segments lead."""
        branch = self
        for segment in route.segments:
            if segment.takes_rest:
                branch.open_ended.append(route)
                return
            if segment.shape not in branch.inside and not segment.is_text:
                branch.open_shapes.append(segment.shape)
            branch = branch.inside.setdefault(segment.shape, (segment, _Branch()))[1]
        branch.ending.append(route)

    def met_by(self, segments: tuple[Segment, ...]) -> Iterator[Route]:
        """Give the routes here that go on with what some of these segments may be, too."""
        yield from self.open_ended if segments else ()
        if not segments:
            yield from self.ending
        elif segments[0].takes_rest:
            yield from self.below()
        elif segments[0].is_text:
            # Text meets itself, and the few shapes of one place that have parameters.
            for branch in self._fitting(segments[0]):
                yield from branch.met_by(segments[1:])
        else:
            for segment, branch in self.inside.values():
                if segments[0].meets(segment):
                    yield from branch.met_by(segments[1:])

    def _fitting(self, text: Segment) -> Iterator[_Branch]:
        if text.shape in self.inside:
            yield self.inside[text.shape][1]
        for shape in self.open_shapes:
            if text.meets(self.inside[shape][0]):
                yield self.inside[shape][1]

    def below(self) -> Iterator[Route]:
        """Give all that goes on from here."""
        yield from self.ending
        for _, branch in self.inside.values():
            yield from branch.open_ended
            yield from branch.below()


def meetings(routes: Iterable[Route]) -> Iterator[tuple[Route, Route]]:
    """Give each two routes that one request may fit, the earlier one first."""
    roots: dict[str, _Branch] = {}
    for route in routes:
        root = roots.setdefault(route.method, _Branch())
        for earlier in root.met_by(route.segments):
            yield earlier, route
        root.add(route)


def most_specific(routes: Iterable[Route], method: str, path: str) -> Route | None:
    """Give the route that counts for a request."""
    fitting = [route for route in routes if route.matches(method, path)]
    return min(fitting, key=lambda route: route.rank, default=None)

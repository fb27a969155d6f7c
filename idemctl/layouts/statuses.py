"""The statuses of many records at once, by the conditions of their layout.

Records differ in their values, but hardly in what their conditions ask of them: whether this
member is there, whether that one says `done`. So values become answers, column by column, and
each combination of answers is judged once.
"""

from __future__ import annotations

from itertools import count, repeat
from operator import itemgetter
from types import NoneType
from typing import TYPE_CHECKING, Any

from idemctl.domain.records import Status
from idemctl.layouts.conditions import Beginning, as_text, looks_of, reading
from idemctl.layouts.paths import taking
from idemctl.layouts.sides import Statuses

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from idemctl.layouts.conditions import Condition, Look, Row
    from idemctl.layouts.paths import Path


class StatusReader:
    """Tells which status records have, by its number; exactly one must hold."""

    def __init__(self, status: Statuses | str) -> None:
        self._answers: dict[Path, _Answers] = {}
        self._judged: dict[tuple[str | None, ...], int] = {(): int(Status.UNKNOWN)}
        if not isinstance(status, Statuses):
            return
        conditions = status.conditions()
        looks = set().union(*(looks_of(condition) for _, condition in conditions))
        for field in {field for field, _ in looks}:
            self._answers[field] = _Answers({look for one, look in looks if one == field})
        places = {field: place for place, field in enumerate(self._answers)}
        self._judged = _Judged(conditions, lambda field: itemgetter(places[field]))

    def read(self, columns: Mapping[Path, Sequence[Any]], count: int) -> list[int]:
        """Tell the status of each of so many records, whose fields come in columns."""
        if not self._answers:
            return [self._judged[()]] * count
        answers = [asked.of(columns[field]) for field, asked in self._answers.items()]
        return list(map(self._judged.__getitem__, zip(*answers, strict=True)))

    def of(self, row: Row) -> int:
        """Tell the status of one row."""
        return self.read({field: [taking(field)(row)] for field in self._answers}, 1)[0]


class _Answers:
    """What a field holds as far as conditions ask: a value that one names, another, or none."""

    def __init__(self, looks: set[Look]) -> None:
        texts = {look for look in looks if isinstance(look, str)}
        beginnings = {look.text for look in looks if isinstance(look, Beginning)}
        self._answers: dict[str | None, str | None] = {text: text for text in texts}
        self._answers[None] = None
        # With a character that nobody names it is none of them, and begins with none of them.
        named = set().union(*texts, *beginnings)
        self._other = next(one for one in map(chr, count(1)) if one not in named)
        # What begins with one of them begins with all that this one begins with, and no other.
        self._beginnings = tuple(sorted(beginnings, key=len, reverse=True))

    def of(self, values: Sequence[Any]) -> list[str | None]:
        """Give the answer for each value."""
        if len(self._answers) == 1 and not self._beginnings:
            return [None if value is None else self._other for value in values]
        if not set(map(type, values)) <= {str, NoneType}:
            values = list(map(as_text, values))
        if self._beginnings:
            return list(map(self._begun, values))
        return list(map(self._answers.get, values, repeat(self._other)))

    def _begun(self, value: str | None) -> str | None:
        if value in self._answers or value is None:
            return value
        begun = (one for one in self._beginnings if value.startswith(one))
        return next(begun, "") + self._other


class _Judged(dict[tuple[str | None, ...], int]):
    """The status of each combination of answers that occurred."""

    def __init__(
        self,
        conditions: Sequence[tuple[Status, Condition]],
        take: Callable[[Path], Callable[[Any], Any]],
    ) -> None:
        super().__init__()
        self._tests = [(int(one), reading(condition, take)) for one, condition in conditions]

    def __missing__(self, answers: tuple[str | None, ...]) -> int:
        held = [status for status, test in self._tests if test(answers)]
        number = held[0] if len(held) == 1 else int(Status.MALFORMED)
        self[answers] = number
        return number

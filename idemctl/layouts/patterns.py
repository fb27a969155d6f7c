"""Regular expressions that anybody may write, over names that anybody may choose.

Python's engine tries one way to read a name after the other. Where what is repeated can itself
be read in several ways, they double with each character, and nothing stops it. So a pattern is
looked at before it is used: what could take forever is refused, with what could take long.
"""

from __future__ import annotations

import re
from importlib import import_module
from itertools import combinations
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LONGEST_NAME = 4096
"""Bytes; a longer name is none that a library writes, and is not looked at."""
LONGEST_PATTERN = 1000
_FEW = 8
"""So many ways to end are no trouble."""
_ALL = frozenset(range(256))
_NONE: frozenset[int] = frozenset()
_CATEGORIES = {
    f"CATEGORY_{'NOT_' if letter.isupper() else ''}{name}": frozenset(
        code for code in _ALL if re.match(rf"\{letter}".encode(), bytes([code]))
    )
    for name, letters in (("DIGIT", "dD"), ("SPACE", "sS"), ("WORD", "wW"))
    for letter in letters
}
_REPEATS = {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}
_ASSERTIONS = {"ASSERT", "ASSERT_NOT"}

_Item = tuple[Any, Any]


def compiled(text: str) -> re.Pattern[bytes]:
    """Compile a pattern for bytes, whose `.` is any of them.

    Raises:
        ValueError: it is none, or one for whose answer nobody could wait.
    """
    if len(text) > LONGEST_PATTERN:
        raise ValueError(f"is longer than {LONGEST_PATTERN:,} characters")
    written = text.encode("utf-8")
    try:
        pattern = re.compile(written, re.DOTALL)
        # The only reader of such patterns that knows all of the language; it has no other name.
        parsed = import_module("re._parser").parse(written, re.DOTALL)
        ways = _Reader(pattern.flags).walk(list(parsed), _NONE, is_repeated=False)
    except re.error as error:
        raise ValueError(f"is no regular expression: {error}") from None
    except (OverflowError, RecursionError):
        raise ValueError("asks for too much to be a regular expression that can be used") from None
    if ways > 1:
        raise ValueError(
            "may take long on a name that does not match, for several of its parts can end "
            "anywhere: say what a part does not contain, as in [^:]+ instead of .+"
        )
    return pattern


def matching(text: str, skip: int = 0) -> Callable[[bytes], re.Match[bytes] | None]:
    """Make what matches a whole name from a place on; a name that is too long never does."""
    match = re.compile(text.encode("utf-8"), re.DOTALL).fullmatch
    return lambda name: match(name[skip:]) if len(name) <= LONGEST_NAME else None


class _Reader:
    """Reads a parsed pattern, as bytes that may come next."""

    def __init__(self, flags: int) -> None:
        self._ignores_case = bool(flags & re.IGNORECASE)

    def walk(self, items: Sequence[_Item], then: frozenset[int], *, is_repeated: bool) -> int:
        """Count the parts that can end in many places; `then` are the bytes that may follow.

        Raises:
            ValueError: something that is repeated can be read in several ways.
        """
        return sum(
            self._ways(item, self._first(items[at + 1 :], then), is_repeated=is_repeated)
            for at, item in enumerate(items)
        )

    def _ways(self, item: _Item, then: frozenset[int], *, is_repeated: bool) -> int:
        kind, said = str(item[0]), item[1]
        if kind in _REPEATS:
            least, most, body = said
            again = self._first(body, _NONE) if most > 1 else _NONE
            inside = self.walk(list(body), then | again, is_repeated=is_repeated or most > 1)
            is_open = least != most and kind != "POSSESSIVE_REPEAT" and self._all(body) & then
            if is_open and is_repeated:
                raise _endless()
            return inside + bool(is_open and most - least > _FEW)
        if kind == "BRANCH":
            branches = [list(branch) for branch in said[1]]
            firsts = [self._first(branch, then) for branch in branches]
            if is_repeated and any(one & other for one, other in combinations(firsts, 2)):
                raise _endless()
            return max(self.walk(one, then, is_repeated=is_repeated) for one in branches)
        if kind in _ASSERTIONS:
            if is_repeated:
                raise _endless()
            return self.walk(list(said[1]), _NONE, is_repeated=False)
        return sum(
            self.walk(list(body), then, is_repeated=is_repeated) for body in self._bodies(item)
        )

    def _bodies(self, item: _Item) -> list[Sequence[_Item]]:
        """List what stands in a group, however it is written."""
        kind, said = str(item[0]), item[1]
        if kind == "SUBPATTERN":
            self._ignores_case = self._ignores_case or bool(said[1] & re.IGNORECASE)
            return [said[3]]
        if kind == "ATOMIC_GROUP":
            return [said]
        if kind == "GROUPREF_EXISTS":
            return [body for body in said[1:] if body is not None]
        return []

    def _first(self, items: Sequence[_Item], then: frozenset[int]) -> frozenset[int]:
        """Give the bytes with which items may begin, or what follows where they may be empty."""
        first: frozenset[int] = _NONE
        for item in items:
            begins, may_be_empty = self._begins(item)
            first |= begins
            if not may_be_empty:
                return first
        return first | then

    def _begins(self, item: _Item) -> tuple[frozenset[int], bool]:
        kind, said = str(item[0]), item[1]
        if kind in _REPEATS:
            begins = self._first(said[2], _NONE)
            return begins, said[0] == 0 or self._may_be_empty(said[2])
        if kind == "BRANCH":
            firsts = [self._first(branch, _NONE) for branch in said[1]]
            return frozenset().union(*firsts), any(map(self._may_be_empty, said[1]))
        if kind == "AT" or kind in _ASSERTIONS:
            return _NONE, True
        if kind in {"GROUPREF", "GROUPREF_EXISTS"}:
            return _ALL, True
        if bodies := self._bodies(item):
            return self._first(bodies[0], _NONE), self._may_be_empty(bodies[0])
        return self._one_of(kind, said), False

    def _may_be_empty(self, items: Sequence[_Item]) -> bool:
        return all(self._begins(item)[1] for item in items)

    def _all(self, items: Sequence[_Item]) -> frozenset[int]:
        """Give every byte that may occur in items."""
        found: frozenset[int] = _NONE
        for item in items:
            kind, said = str(item[0]), item[1]
            if kind in _REPEATS:
                found |= self._all(said[2])
            elif kind == "BRANCH":
                found |= frozenset().union(*map(self._all, said[1]))
            elif bodies := self._bodies(item):
                found |= frozenset().union(*map(self._all, bodies))
            else:
                found |= self._begins(item)[0]
        return found

    def _one_of(self, kind: str, said: Any) -> frozenset[int]:
        """Give the bytes that an item of one byte stands for."""
        if kind == "IN":
            negates = bool(said) and str(said[0][0]) == "NEGATE"
            members = (self._one_of(str(one), what) for one, what in said[negates:])
            found: frozenset[int] = frozenset().union(*members)
            return _ALL - found if negates else found
        if kind == "RANGE":
            found = frozenset(range(said[0], said[1] + 1))
        elif kind in {"LITERAL", "NOT_LITERAL"}:
            found = frozenset({said})
        else:
            return _CATEGORIES.get(str(said), _ALL)
        if self._ignores_case:
            found |= {ord(one.swapcase()) for one in map(chr, found) if one.isascii()}
        return _ALL - found if kind == "NOT_LITERAL" else found


def _endless() -> ValueError:
    return ValueError(
        "may take forever on a name that does not match, for what is repeated can be read in "
        "several ways: let each round end with what it does not contain, as in (?:[^:]+:)*"
    )

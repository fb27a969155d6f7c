"""Keys told by what they hold, and only then by their names.

Each layout claims, of the keys that were seen, those whose values it reads right, under the
prefix that their names have in common. How surely a claim holds for one key is a number: the
share of the value's members that the layout has heard of, and a half for a name that nobody
would choose otherwise, or for the first bytes of a language's own serialization.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from idemctl.domain.records import Flaw, Status
from idemctl.layouts.codecs import Word, decoding, is_opaque, is_presence
from idemctl.layouts.containers import Container
from idemctl.layouts.detect.claims import LEAST, Claim
from idemctl.layouts.detect.containers import claims_on_containers
from idemctl.layouts.detect.names import explained, known_names
from idemctl.layouts.patterns import matching
from idemctl.layouts.statuses import StatusReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from idemctl.layouts.codecs import Value
    from idemctl.layouts.detect.seen import SeenKey
    from idemctl.layouts.model import Layout, RedisLayout

_ELSEWHERE = 0.7
"""A claim that is less sure than this is none, under a prefix that is not the library's own,"""
_DOUBT = 0.05
"""where it is a little less sure than it would be under that."""
_ANYBODYS = (b"k", b"k-1", b"user:42", b"user:42:profile", b"a/b", b"0a1b2c3d", b"Key_1.x")
"""Names that anybody may have chosen; a pattern that matches one of them proves nothing."""
_FIRST_BYTES: dict[object, re.Pattern[bytes]] = {
    Word.PHP: re.compile(rb"[OabdisC]:\d+|N;"),
    Word.JAVA: re.compile(rb"\xac\xed\x00\x05"),
    Word.PICKLE: re.compile(rb"\x80[\x02-\x05]"),
}
_SHORT = 64
"""Bytes; what is longer, or looks like JSON, is no flag."""
_SEPARATOR = re.compile(rb"[:#|/]")


def claims_on_keys(seen: Sequence[SeenKey], layouts: Iterable[Layout]) -> list[Claim]:
    """List what each layout claims of the keys that were seen."""
    return [
        claim
        for layout in layouts
        if layout.redis is not None
        for claim in _claims(layout, layout.redis, seen)
    ]


def _claims(layout: Layout, side: RedisLayout, seen: Sequence[SeenKey]) -> Iterator[Claim]:
    if side.container is Container.KEY:
        return _Claimant(layout, side).claims(seen)
    return claims_on_containers(layout, side, seen)


class _Claimant:
    """One layout, looking for its keys."""

    def __init__(self, layout: Layout, side: RedisLayout) -> None:
        self._layout, self._side = layout, side
        self._kind = "hash" if side.codec[0] is Word.HASH else "string"
        self._decode = decoding(side.codec)
        self._status_of = StatusReader(side.status).of
        self._known = known_names(side)
        self._match = matching(side.key)
        self._besides = [matching(one) for one in (side.lock, side.beside) if one]
        self._is_telling = not any(map(self._match, _ANYBODYS))

    def claims(self, seen: Sequence[SeenKey]) -> Iterator[Claim]:
        mine = {at: sure for at, one in enumerate(seen) if (sure := self._value(one)) is not None}
        default = self._side.prefix.encode()
        for prefix, places in self._by_prefix(seen, mine):
            least, doubt = (LEAST, 0.0) if default in prefix else (_ELSEWHERE, _DOUBT)
            sureness = {at: mine[at] + self._name(seen[at].name, prefix) for at in places}
            sureness = {
                at: min(sure, 1.0) - doubt for at, sure in sureness.items() if sure >= least
            }
            if not sureness:
                continue
            named = [at for at, one in enumerate(seen) if self._is_named(one.name, prefix)]
            # Locks and indexes hold nothing that could be told apart; their names say enough.
            beside = {at: LEAST for at in named if self._is_beside(seen[at].name, prefix)}
            yield Claim(
                layout=self._layout,
                prefix=prefix,
                sureness=beside | sureness,
                named_count=len(named),
            )

    def _value(self, one: SeenKey) -> float | None:
        """Say how surely a value is one of this layout's; `None` where it cannot be."""
        if one.kind != self._kind or isinstance(one.value, Flaw):
            return None
        if is_presence(self._side.codec):
            return self._presence(one.value)
        row = self._decode(one.value)
        if isinstance(row, Flaw) or self._status_of(row) == Status.MALFORMED:
            return None
        names = {name for name in row if isinstance(name, str)}
        # Of an array nothing can be known by names: that it can be read at all is much.
        return LEAST if row and not names else explained(names, self._known)

    def _presence(self, value: Value) -> float | None:
        assert isinstance(value, bytes), "its kind is string"
        if not is_opaque(self._side.codec):
            is_flag = len(value) <= _SHORT and value[:1] not in {b"{", b"["}
            return 0.0 if is_flag else None
        begins = _FIRST_BYTES.get(self._side.codec[0])
        return LEAST if begins is not None and begins.match(value) else None

    def _name(self, name: bytes, prefix: bytes) -> float:
        """Say how much the name itself says."""
        is_said = self._is_telling or (is_presence(self._side.codec) and bool(self._side.prefix))
        return LEAST if is_said and self._matches(name, prefix) else 0.0

    def _by_prefix(
        self, seen: Sequence[SeenKey], mine: Iterable[int]
    ) -> Iterator[tuple[bytes, list[int]]]:
        """Find out under which prefixes this layout's keys lie.

        The library's own comes first; then one with another before it, as caches add them;
        then what the names have in common up to a separator.
        """
        default = self._side.prefix.encode()
        rest: defaultdict[bytes, list[int]] = defaultdict(list)
        found: defaultdict[bytes, list[int]] = defaultdict(list)
        for at in mine:
            name = seen[at].name
            begins = name.find(default)
            prefix = name[: begins + len(default)] if default else b""
            if begins >= 0 and self._matches(name, prefix):
                found[prefix].append(at)
            else:
                rest[name.partition(b":")[0]].append(at)
        yield from found.items()
        if is_presence(self._side.codec) and not is_opaque(self._side.codec):
            # A flag under a name that nobody knows is anything.
            return
        for places in rest.values():
            names = [seen[at].name for at in places]
            for shared in _shared(names):
                matching = [at for at in places if self._matches(seen[at].name, shared)]
                if 2 * len(matching) > len(places):
                    yield shared, matching
                    break

    def _matches(self, name: bytes, prefix: bytes) -> bool:
        return self._match(name[len(prefix) :]) is not None

    def _is_beside(self, name: bytes, prefix: bytes) -> bool:
        rest = name[len(prefix) :]
        return any(match(rest) for match in self._besides)

    def _is_named(self, name: bytes, prefix: bytes) -> bool:
        is_there = name.startswith(prefix)
        return is_there and (self._matches(name, prefix) or self._is_beside(name, prefix))


def _shared(names: Sequence[bytes]) -> list[bytes]:
    """Give what all names begin with, up to each separator: the longest first.

    >>> _shared([b"app:idem:a-1", b"app:idem:a-2"]), _shared([b"a", b"b"])
    ([b'app:idem:', b'app:'], [])
    """
    first, last = min(names), max(names)
    pairs = zip(first, last, strict=False)
    length = next((at for at, (one, other) in enumerate(pairs) if one != other), len(first))
    ends = [match.end() for match in _SEPARATOR.finditer(first[:length])]
    return [first[:end] for end in reversed(ends)]

"""Keys that hold many records each: told by their type, their name, and some of what they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from idemctl.domain.records import Flaw, Status
from idemctl.layouts.codecs import decoding, is_presence
from idemctl.layouts.containers import Container
from idemctl.layouts.detect.claims import LEAST, Claim
from idemctl.layouts.patterns import matching
from idemctl.layouts.statuses import StatusReader

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from idemctl.layouts.codecs import Value
    from idemctl.layouts.detect.seen import SeenKey
    from idemctl.layouts.model import Layout, RedisLayout

_KINDS = {Container.SET_MEMBER: "set", Container.HASH_FIELD: "hash"}


def claims_on_containers(
    layout: Layout, side: RedisLayout, seen: Sequence[SeenKey]
) -> Iterator[Claim]:
    """Claim the key that has the library's own name, if all that was seen in it is read right.

    Of one that is too large to be looked into, name and type have to do.
    """
    name = side.prefix.encode()
    for at, one in enumerate(seen):
        if one.name != name or one.kind != _KINDS[side.container]:
            continue
        if isinstance(one.value, Flaw):
            yield _claim(layout, one, at, LEAST)
        elif isinstance(one.value, dict) and one.value and _reads(side, one.value):
            yield _claim(layout, one, at, 1.0)


def _claim(layout: Layout, one: SeenKey, at: int, sure: float) -> Claim:
    return Claim(layout=layout, prefix=one.name, sureness={at: sure}, named_count=1)


def _reads(side: RedisLayout, held: Mapping[str, bytes | None]) -> bool:
    match = matching(side.key)
    if not all(match(name.encode(errors="surrogateescape")) for name in held):
        return False
    return is_presence(side.codec) or all(
        value is not None and _is_read(side, value) for value in held.values()
    )


def _is_read(side: RedisLayout, value: Value) -> bool:
    row = decoding(side.codec)(value)
    return not isinstance(row, Flaw) and StatusReader(side.status).of(row) != Status.MALFORMED

"""Reads records of which only the presence says something: their lengths, and not one byte."""

from __future__ import annotations

from typing import TYPE_CHECKING

from idemctl.domain.records import Flaw
from idemctl.stores.redis.bursts import KEY
from idemctl.stores.redis.fetch import GONE, Fetcher
from idemctl.stores.redis.translation import is_wrong_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from idemctl.layouts.codecs import Value
    from idemctl.layouts.model import RedisLayout
    from idemctl.stores.redis.bulk import Lane
    from idemctl.stores.redis.fetch import Rows


class PresenceFetcher(Fetcher):
    """Asks one lane for the length of strings, each with its expiry; none is looked at twice."""

    def __init__(self, lane: Lane, layout: RedisLayout, prefix: bytes) -> None:
        super().__init__(lane, layout, prefix)
        self._first = (b"STRLEN", KEY)

    def receive(self, keys: Sequence[bytes], rows: Rows) -> list[bytes]:
        """See `Fetcher.receive`."""
        now = self._now(self._lane.receive()[0]) if self._is_relative else 0
        replies = self._lane.receive()
        lengths, expiries = replies[::2], replies[1::2]
        values: list[Value | Flaw] = [b""] * len(keys)
        if set(map(type, replies)) != {int} or GONE in expiries:
            there = [at for at, expiry in enumerate(expiries) if self._lane.checked(expiry) != GONE]
            keys, lengths, expiries = (
                [column[at] for at in there] for column in (keys, lengths, expiries)
            )
            values = [Flaw.OTHER_TYPE if is_wrong_type(one) else b"" for one in lengths]
            lengths = [0 if is_wrong_type(one) else self._lane.checked(one) for one in lengths]
        rows.add(keys, values, expiries, now, lengths)
        return []

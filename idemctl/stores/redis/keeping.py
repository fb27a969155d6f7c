"""Witness and freeze in Redis: two keys of idemctl's own, beside the records."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

from idemctl.domain import freezes, witness
from idemctl.domain.own_keys import own_key
from idemctl.domain.purposes import Purpose
from idemctl.errors import Unreachable
from idemctl.stores.keeping import Process
from idemctl.stores.redis.account import read_account
from idemctl.stores.redis.connect import database_of
from idemctl.stores.redis.describe import read_clock
from idemctl.stores.redis.opening import open_lane
from idemctl.stores.redis.reads import EVAL_PROBE, SET_PROBE
from idemctl.stores.redis.rights import Need, named, needs_of_cluster, try_rights, writing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from idemctl.domain.freezes import Freeze
    from idemctl.domain.secrets import Secret
    from idemctl.domain.witness import Witness
    from idemctl.stores.answers import Right
    from idemctl.stores.redis.bulk import Lane

T = TypeVar("T")

_LONGEST = b"65535"
_MILLISECOND = timedelta(milliseconds=1)
_SWAP = b"""\
local seen = redis.call('GETRANGE', KEYS[1], 0, -1)
if seen ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
return 1
"""
"""Compares the bytes that were read: whoever wrote meanwhile is not overwritten. It calls nothing
but what is called without it, too, so that nobody needs more rights for it."""
_RULES = (Purpose.STORE,)
_BEATS = (Purpose.GC, Purpose.RECONCILE, Purpose.STORE)
"""All of them raise the witness, and freeze a store whose Postgres went back in time."""


class RedisKeeping:
    """See `stores.keeping.KeepsInRedis`."""

    def __init__(
        self, *, url: Secret, store: str, has_witness: bool, writable: bool, application: str
    ) -> None:
        self._url = url
        self._has_witness = has_witness
        self._own = own_key(store, "")
        self._witness = own_key(store, "witness")
        self._freeze = own_key(store, "freeze")
        self.place = f"redis {own_key(store, '*').decode()}"
        self._writable = writable
        self._application = application
        self._kept: Lane | None = None

    def witness(self) -> Witness | None:
        """See `Keeps.witness`."""
        return self._read(self._witness, witness.decoded)

    def write_witness(self, witness: Witness, *, instead_of: Witness | None) -> bool:
        """See `Keeps.write_witness`; it has no end, and lives as long as what it tells of."""
        seen = b"" if instead_of is None else instead_of.encoded()
        told: int = self._lane.demand(b"EVAL", _SWAP, b"1", self._witness, seen, witness.encoded())
        return told == 1

    def freeze(self, now: datetime | None = None) -> Freeze | None:
        """See `Keeps.freeze`; the key ends with it, by the server's own clock."""
        del now
        return self._read(self._freeze, freezes.decoded)

    def write_freeze(self, freeze: Freeze) -> None:
        """See `Keeps.write_freeze`."""
        length = b"%d" % max(1, (freeze.until - freeze.frozen_at) // _MILLISECOND)
        self._lane.demand(b"SET", self._freeze, freeze.encoded(), b"PX", length)

    def thaw(self) -> bool:
        """See `Keeps.thaw`; a key that ended long ago is gone, and nobody needs a right to DEL."""
        told = self._lane.demand(b"SET", self._freeze, b"", b"XX", b"PXAT", b"1")
        return told is not None

    def process(self) -> Process:
        """See `KeepsInRedis.process`."""
        account, now = read_account(self._lane), read_clock(self._lane)
        if account.is_loading:
            raise Unreachable(
                f"{self.place}: cannot judge: the server is loading its data",
                hint="wait until it has",
            )
        return Process(
            now=now,
            run_id=account.run_id,
            started_at=None if account.uptime is None else now - account.uptime,
            flush_calls=account.flush_calls,
        )

    def rights(self) -> Sequence[Right]:
        """See `KeepsOnServer.rights`."""
        return try_rights(self._lane, self._needs(self._lane), database_of(self._url))

    def _needs(self, lane: Lane) -> Iterator[Need]:
        keys = named(self._own) + b"*"
        yield from needs_of_cluster(lane, b"SLOTS")
        yield Need((b"INFO", b"server"))
        yield Need((b"TIME",))
        yield Need((b"GETRANGE", self._freeze, b"0", b"0"), keys)
        # Without a witness nobody freezes it but who is asked to.
        yield writing(SET_PROBE, self._freeze, keys, _BEATS if self._has_witness else _RULES)
        if self._has_witness:
            yield writing(EVAL_PROBE, self._freeze, b"", _BEATS)

    def close(self) -> None:
        """See `Keeps.close`."""
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    @property
    def _lane(self) -> Lane:
        if self._kept is None or not self._kept.is_idle():
            self._kept = open_lane(
                self._url,
                place=self.place,
                application=self._application,
                writable=self._writable,
            )
        return self._kept

    def _read(self, key: bytes, decoded: Callable[[bytes], T]) -> T | None:
        text: bytes = self._lane.demand(b"GETRANGE", key, b"0", _LONGEST)
        if not text:
            return None
        try:
            return decoded(text)
        except ValueError:
            raise Unreachable(
                f"{self.place}: cannot judge: {key.decode()} holds something else",
                hint="see who else writes keys that begin with idemctl:, and delete that one",
            ) from None

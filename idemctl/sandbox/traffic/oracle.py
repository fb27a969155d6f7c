"""The judge of the traffic: which versions are dead, and which reads found one of them.

A version is retired when the application has removed or replaced it in Redis, after the
commit in Postgres. A read looks up what is retired before it starts, so what it finds of
that was really dead already, whatever else happens meanwhile.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from idemctl.sandbox.traffic.ledger import BadRead, KeyState, Ledger, Version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import redis

    from idemctl.sandbox.traffic.ledger import Key

APP = "app"
"""What only the application writes into a value, under `by`."""
EXPIRED_FOR = timedelta(seconds=2)
"""How long a result may stay readable after its promise is over."""

_EXAMPLES = 20
_MILLISECOND = timedelta(milliseconds=1)
_NONE = Version(0, 0, 0)


class _Retired(NamedTuple):
    version: Version
    """The greatest one that is dead."""
    at: float


class _Owner(NamedTuple):
    version: Version
    granted_ms: int
    lease_until_ms: int


class _KeyMemory:
    """What is known of one key; every change is made under its lock."""

    __slots__ = ("lock", "owners", "promises", "retired", "state")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.retired = _Retired(_NONE, 0.0)
        self.owners: list[_Owner] = []
        self.promises: dict[Version, int] = {}
        self.state: KeyState | None = None


class Oracle:
    """Remembers what the application did, and judges what Redis answers. For many threads."""

    def __init__(self, keys: Iterable[Key], *, clock: Callable[[], int]) -> None:
        self.clock = clock
        """The database's time, in milliseconds since 1970."""
        self._keys = {key: _KeyMemory() for key in keys}
        self._counting = threading.Lock()
        self._operations: Counter[str] = Counter()
        self._read_count = self._tool_read_count = self._two_owners_count = 0
        self._bad: Counter[bool] = Counter()
        self._examples: list[BadRead] = []

    def count(self, kind: str) -> None:
        """Count an operation of the application."""
        with self._counting:
            self._operations[kind] += 1

    def claimed(self, key: Key, version: Version, *, granted_ms: int, lease_until_ms: int) -> None:
        """Note that Postgres granted a key; a second owner beside a live one is counted."""
        memory = self._keys[key]
        granted = _Owner(version, granted_ms, lease_until_ms)
        with memory.lock:
            others = [one for one in memory.owners if one.version != version]
            # Threads may tell of two claims in the wrong order: the times decide.
            beside = any(
                max(one.granted_ms, granted_ms) < min(one.lease_until_ms, lease_until_ms)
                for one in others
            )
            memory.owners = [one for one in others if one.lease_until_ms > granted_ms]
            memory.owners.append(granted)
        if beside:
            with self._counting:
                self._two_owners_count += 1

    def renewed(self, key: Key, version: Version, *, lease_until_ms: int) -> None:
        """Note a longer lease, after its commit."""
        memory = self._keys[key]
        with memory.lock:
            memory.owners = [
                one._replace(lease_until_ms=lease_until_ms) if one.version == version else one
                for one in memory.owners
            ]

    def ending(self, key: Key, version: Version) -> None:
        """Note that an owner is about to give its key up: before the commit that does."""
        memory = self._keys[key]
        with memory.lock:
            memory.owners = [one for one in memory.owners if one.version != version]

    def committed(self, key: Key, version: Version, *, expires_ms: int | None = None) -> None:
        """Note what Postgres holds now; `expires_ms` is the promise of a result."""
        memory = self._keys[key]
        with memory.lock:
            if expires_ms is not None:
                memory.promises[version] = expires_ms
            _advance(memory, KeyState(version, in_postgres=True, in_redis=False))

    def deleted(self, key: Key, version: Version) -> None:
        """Note that Postgres holds the key no longer."""
        memory = self._keys[key]
        with memory.lock:
            _advance(memory, KeyState(version, in_postgres=False, in_redis=False))

    def written(self, key: Key, version: Version) -> None:
        """Note that Redis holds this version, and therefore nothing older."""
        self._told(key, version, retired=version.before)

    def removed(self, key: Key, version: Version) -> None:
        """Note that this version, and what was older, is gone from Redis."""
        self._told(key, version, retired=version)

    def read(self, client: redis.Redis, keys: Sequence[Key]) -> list[dict[str, Any] | None]:
        """Look keys up in Redis in one round trip, judge what comes, and give it."""
        retired = [self._keys[key].retired for key in keys]
        started, started_ms = time.monotonic(), self.clock()
        values: list[bytes | None] = client.mget([key.name for key in keys])  # type: ignore[assignment] # The client decodes nothing.
        documents = [_document(value) for value in values]
        found = [one for one in documents if one is not None]
        with self._counting:
            self._read_count += len(keys)
            self._tool_read_count += sum(one.get("by") != APP for one in found)
        for key, document, dead in zip(keys, documents, retired, strict=True):
            if document is not None:
                self._judge(key, document, dead, started=started, started_ms=started_ms)
        return documents

    def ledger(self) -> Ledger:
        """Give what is known so far."""
        with self._counting:
            return Ledger(
                operations=dict(self._operations),
                read_count=self._read_count,
                tool_read_count=self._tool_read_count,
                bad_reads_by_app_count=self._bad[False],
                bad_reads_by_tool_count=self._bad[True],
                two_owners_count=self._two_owners_count,
                examples=tuple(self._examples),
                keys={
                    key: memory.state
                    for key, memory in self._keys.items()
                    if memory.state is not None
                },
            )

    def _told(self, key: Key, version: Version, *, retired: Version) -> None:
        memory = self._keys[key]
        with memory.lock:
            if retired > memory.retired.version:
                memory.retired = _Retired(retired, time.monotonic())
                memory.promises = {
                    one: until for one, until in memory.promises.items() if one > retired
                }
            if memory.state is not None and memory.state.version == version:
                memory.state = memory.state._replace(in_redis=True)

    def _judge(
        self,
        key: Key,
        document: dict[str, Any],
        dead: _Retired,
        *,
        started: float,
        started_ms: int,
    ) -> None:
        version = _version(document)
        if version is None:
            self._blame(key, document, None, "unreadable", timedelta())
        elif version <= dead.version:
            late_for = timedelta(seconds=started - dead.at)
            self._blame(key, document, version, "retired", late_for)
        else:
            # No promise is known of a lock, nor of a result that was committed just now.
            expires_ms = self._keys[key].promises.get(version, started_ms)
            late_for = (started_ms - expires_ms) * _MILLISECOND
            if late_for > EXPIRED_FOR:
                self._blame(key, document, version, "expired", late_for)

    def _blame(
        self,
        key: Key,
        document: dict[str, Any],
        version: Version | None,
        reason: str,
        late_for: timedelta,
    ) -> None:
        by_tool = document.get("by") != APP
        with self._counting:
            self._bad[by_tool] += 1
            if len(self._examples) < _EXAMPLES:
                self._examples.append(
                    BadRead(
                        name=key.name,
                        reason=reason,
                        by_tool=by_tool,
                        version=version,
                        late_for=late_for,
                    )
                )


def _advance(memory: _KeyMemory, state: KeyState) -> None:
    # The thread that committed first may be the last to tell of it.
    if memory.state is None or state.version >= memory.state.version:
        memory.state = state


def _document(value: bytes | None) -> dict[str, Any] | None:
    """Decode a value; what is no record becomes one without a version."""
    if value is None:
        return None
    try:
        document = msgspec.json.decode(value)
    except msgspec.DecodeError:
        return {}
    return document if isinstance(document, dict) else {}


def _version(document: dict[str, Any]) -> Version | None:
    epoch, fence, status = (document.get(name) for name in ("epoch", "fence", "status"))
    if isinstance(epoch, int) and isinstance(fence, int) and isinstance(status, str):
        return Version.of(epoch=epoch, fence=fence, status=status)
    return None

"""Redis for the seed: clearing its own prefixes, and writes in bulk.

Commands are packed by hand and sent over redis-py's own connection, several batches in
flight: a pipeline object costs more than Redis itself.
"""

from __future__ import annotations

from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import redis
from redis import exceptions

from idemctl.errors import Denied, Refused, Unreachable

if TYPE_CHECKING:
    from collections.abc import Iterator

PREFIXES = {
    "payments": b"idem:",
    "webhooks": b"seen:",
    "messages": b"path:",
    "deliveries": b"body:",
}

_SCAN_COUNT = 5_000
_BATCH = 1_000
_IN_FLIGHT = 4
"""Batches sent and not yet answered; their answers are a few bytes each, so nobody blocks."""


@contextmanager
def connected(url: str) -> Iterator[redis.Redis]:
    """Connect, and turn what the driver raises into errors that carry no password.

    Raises:
        Unreachable: no server answers there, or it went away or is loading.
        Denied: the user may not write.
        Refused: the server's memory limit is reached.
    """
    client = redis.Redis.from_url(url)
    try:
        client.ping()
        yield client
    except (exceptions.AuthenticationError, exceptions.NoPermissionError):
        raise Denied(
            "Redis does not let this user write the sandbox's keys",
            hint="use the URL that is printed by: idemctl sandbox env",
        ) from None
    except exceptions.OutOfMemoryError:
        raise Refused(
            "Redis has reached its memory limit",
            hint="seed fewer: idemctl sandbox seed --records N",
        ) from None
    except (exceptions.ConnectionError, exceptions.TimeoutError):
        raise Unreachable(
            "the sandbox's Redis does not answer", hint="idemctl sandbox up"
        ) from None
    finally:
        client.close()


def clear(client: redis.Redis) -> None:
    """Unlink every key under the prefixes of the sandbox, and no other."""
    prefixes = tuple(PREFIXES.values())
    cursor = 0
    while True:
        # redis-py types names as text, whatever the connection is set to.
        page: tuple[int, list[Any]] = client.scan(cursor, count=_SCAN_COUNT)
        cursor, names = page
        own = [name for name in names if name.startswith(prefixes)]
        if own:
            client.unlink(*own)
        if cursor == 0:
            return


class Bulk:
    """Writes on one connection, several batches in flight. Ends with `finish`."""

    def __init__(self, client: redis.Redis) -> None:
        self._pool = client.connection_pool
        # Any: redis-py leaves the methods of a connection untyped.
        self._connection: Any = self._pool.get_connection()
        self._packed: list[bytes] = []
        self._unanswered: deque[int] = deque()

    def set(self, name: bytes, value: bytes, *, until_ms: int | None) -> None:
        """Write a string that expires at `until_ms`; with `None` it never does."""
        if until_ms is None:
            self.command(b"SET", name, value)
            return
        at = b"%d" % until_ms
        self._add(
            b"*5\r\n$3\r\nSET\r\n$%d\r\n%b\r\n$%d\r\n%b\r\n$4\r\nPXAT\r\n$%d\r\n%b\r\n"
            % (len(name), name, len(value), value, len(at), at)
        )

    def command(self, *parts: bytes) -> None:
        """Send any other command."""
        packed = b"".join(b"$%d\r\n%b\r\n" % (len(part), part) for part in parts)
        self._add(b"*%d\r\n" % len(parts) + packed)

    def finish(self) -> None:
        """Send what is left and wait for every answer."""
        self._send()
        while self._unanswered:
            self._receive()

    def close(self) -> None:
        """Give the connection back; one with answers outstanding is closed instead."""
        if self._unanswered:
            self._connection.disconnect()
        self._pool.release(self._connection)

    def _add(self, packed: bytes) -> None:
        self._packed.append(packed)
        if len(self._packed) >= _BATCH:
            self._send()

    def _send(self) -> None:
        if not self._packed:
            return
        self._unanswered.append(len(self._packed))
        self._connection.send_packed_command([b"".join(self._packed)])
        self._packed.clear()
        while len(self._unanswered) > _IN_FLIGHT:
            self._receive()

    def _receive(self) -> None:
        for _ in range(self._unanswered[0]):
            self._connection.read_response()
        self._unanswered.popleft()

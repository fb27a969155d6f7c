"""Replies read in bulk, by the parser that redis-py uses itself."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import hiredis
from redis import exceptions
from redis.connection import DefaultParser

if TYPE_CHECKING:
    from idemctl.stores.redis.connect import Wire
    from idemctl.stores.redis.sieve import Sieve

_AT_ONCE = 256 * 1024
_NOTHING = object()
"""What the parser gives while a reply is not whole."""


class Replies:
    """What arrives on one connection, in the order of what was sent."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._reader = hiredis.Reader(
            protocolError=exceptions.InvalidResponse,
            replyError=self._error,
            notEnoughData=_NOTHING,
        )
        self._buffer = bytearray(_AT_ONCE)
        self._fatal: exceptions.ConnectionError | None = None
        self.sieve: Sieve | None = None
        """What everything goes through first, where something has to be left out."""

    def read(self, count: int) -> list[Any]:
        """Read so many replies; one that is an error is given as a value.

        Raises:
            RedisError: the connection was lost, the server was silent for too long, or it
                loads its data and can answer nothing.
        """
        replies: list[Any] = []
        while True:
            whole = iter(self._reader.gets, _NOTHING)
            replies += islice(whole, count - len(replies))
            if len(replies) == count:
                break
            self._feed()
        if self._fatal is not None:
            raise self._fatal
        return replies

    def _error(self, said: str) -> Exception:
        error: Exception = DefaultParser.parse_error(said)  # type: ignore[no-untyped-call] # Public, and untyped.
        if isinstance(error, exceptions.ConnectionError):
            self._fatal = error
        return error

    def _feed(self) -> None:
        try:
            arrived = self._wire.socket.recv_into(self._buffer)
        except TimeoutError:
            raise exceptions.TimeoutError("no answer in time") from None
        except OSError as error:
            raise exceptions.ConnectionError(str(error)) from error
        if not arrived:
            raise exceptions.ConnectionError("closed by the server")
        if self.sieve is not None:
            self._reader.feed(self.sieve.sifted(bytes(self._buffer[:arrived])))
            return
        self._reader.feed(self._buffer, 0, arrived)  # type: ignore[arg-type] # Any buffer will do.

"""Traffic for the sandbox: an application that uses its keys, and the oracle of its reads.

It works on bare drivers and shares no code with what idemctl does to the same stores, so
that it can tell whether idemctl did any harm.
"""

from __future__ import annotations

import random
import threading
import time
from typing import TYPE_CHECKING

from idemctl.sandbox.seed import postgres, redis
from idemctl.sandbox.traffic.ledger import BadRead, Key, KeyState, Ledger, Version
from idemctl.sandbox.traffic.oracle import Oracle
from idemctl.sandbox.traffic.workers import Reader, Worker

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["BadRead", "Key", "KeyState", "Ledger", "Traffic", "Version"]

_READERS = 2
_SCOPES = ("", "acme", "globex")


class Traffic:
    """An application at work on a few hot keys of the sandbox's payments.

    Workers claim, renew, complete, fail and release keys, Postgres first and then Redis by
    compare-and-set, and crash at any step; what they miss in Redis they ask Postgres. Readers
    look into Redis all the time. The same `seed` gives the same keys and the same wishes; what
    comes of them is up to the threads. It runs once.
    """

    def __init__(
        self, *, dsn: str, redis_url: str, workers: int = 4, keys: int = 64, seed: int = 1
    ) -> None:
        self._dsn = dsn
        self._redis_url = redis_url
        self._seed = seed
        rng = _generator(seed, "keys")
        self._keys = [
            Key(_SCOPES[at % len(_SCOPES)], f"ord_{rng.randbytes(12).hex()}") for at in range(keys)
        ]
        self._offset_ms = 0
        self._oracle = Oracle(self._keys, clock=self._now_ms)
        self._stopping = threading.Event()
        self._failures: list[Exception] = []
        self._threads = [
            threading.Thread(target=self._run, args=(act, f"{act.__name__}-{at}"), daemon=True)
            for act, count in ((self._serve, workers), (self._look, _READERS))
            for at in range(count)
        ]

    def start(self) -> None:
        """Let all threads begin; the schema of the seed must be there.

        Raises:
            Unreachable: Postgres does not answer.
            Denied: the role may not enter.
        """
        with postgres.connected(self._dsn) as connection:
            now_ms = postgres.read_clock(connection) // 1_000
            self._offset_ms = now_ms - _monotonic_ms()
        for thread in self._threads:
            thread.start()

    def ledger(self) -> Ledger:
        """Tell what has happened so far.

        Raises:
            IdemctlError: a thread could not go on, because a store went away.
        """
        if self._failures:
            raise self._failures[0]
        return self._oracle.ledger()

    def stop(self) -> Ledger:
        """Let every thread finish its step, and tell what happened; no thread is left.

        Raises:
            IdemctlError: a thread could not go on, because a store went away.
        """
        self._stopping.set()
        for thread in self._threads:
            thread.join()
        return self.ledger()

    def _run(self, act: Callable[[random.Random], None], name: str) -> None:
        try:
            act(_generator(self._seed, name))
        except Exception as error:  # noqa: BLE001 - It is raised where somebody asks.
            self._failures.append(error)

    def _serve(self, rng: random.Random) -> None:
        with (
            postgres.connected(self._dsn) as connection,
            redis.connected(self._redis_url) as client,
        ):
            Worker(
                connection,
                client,
                oracle=self._oracle,
                keys=self._keys,
                rng=rng,
                stopping=self._stopping,
            ).run()

    def _look(self, rng: random.Random) -> None:
        with redis.connected(self._redis_url) as client:
            Reader(
                client, oracle=self._oracle, keys=self._keys, rng=rng, stopping=self._stopping
            ).run()

    def _now_ms(self) -> int:
        return self._offset_ms + _monotonic_ms()


def _monotonic_ms() -> int:
    return time.monotonic_ns() // 1_000_000


def _generator(seed: int, purpose: str) -> random.Random:
    return random.Random(f"{seed} {purpose}")  # noqa: S311 - It draws a rehearsal, no secret.

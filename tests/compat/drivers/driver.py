"""What every driver shares: where the servers are, a crash, and what it tells in the end.

Runs in the environment of the libraries, and knows nothing of idemctl.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable


def redis_url() -> str:
    return os.environ["REDIS_URL"]


def dsn() -> str:
    return os.environ["DATABASE_URL"]


def set_up_django(*apps: str, **more: object) -> None:
    """Let Django keep its models in Postgres."""
    import django
    from django.conf import settings

    where = urlsplit(dsn())
    database = {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": where.path[1:],
        "USER": where.username,
        "PASSWORD": where.password,
        "HOST": where.hostname,
        "PORT": where.port,
    }
    settings.configure(INSTALLED_APPS=apps, USE_TZ=True, DATABASES={"default": database}, **more)
    django.setup()


class Told:
    """What was done, record by record."""

    def __init__(self) -> None:
        self.records: list[dict[str, str]] = []

    def has(self, side: str, key: str, status: str) -> None:
        """Say that a store has to remember a key so."""
        self.records.append({"side": side, "key": key.encode().hex(), "status": status})

    def crash(
        self, side: str, key: str, status: str | None, begin: Callable[[str], object]
    ) -> None:
        """Begin work on a key in a process of its own, which is killed in the middle of it."""
        child = os.fork()
        if not child:
            begin(key)
            os.kill(os.getpid(), signal.SIGKILL)
        _, ended = os.waitpid(child, 0)
        assert os.WTERMSIG(ended) == signal.SIGKILL
        if status is not None:
            self.has(side, key, status)


def run(live: Callable[[Told], None]) -> None:
    """Live through it, and tell."""
    told = Told()
    live(told)
    json.dump(told.records, sys.stdout)

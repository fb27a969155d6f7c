"""Work for worker processes, which must find it by its name."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from idemctl.domain.collection import Chunk
from idemctl.errors import Denied

if TYPE_CHECKING:
    from collections.abc import Generator

    from idemctl.stores.answers import Shard


@dataclass(frozen=True)
class Count:
    """Says its shard's number so many times."""

    steps_count: int

    def steps(self, shard: Shard) -> Generator[Chunk]:
        for number in range(self.steps_count):
            yield Chunk(part=str(shard), took=timedelta(0), deleted=number)


@dataclass(frozen=True)
class Endless:
    """Goes on, marking each step on disk, until it is asked to stop."""

    folder: str

    def steps(self, shard: Shard) -> Generator[Chunk]:
        while True:
            with (Path(self.folder) / f"{shard.index}").open("a") as marks:
                marks.write("x")
            yield Chunk(part=str(shard), took=timedelta(0), deleted=1)
            time.sleep(0.001)


@dataclass(frozen=True)
class Fail:
    """The first shard fails as stores fail; the others would go on for good."""

    folder: str

    def steps(self, shard: Shard) -> Generator[Chunk]:
        if shard.index == 0:
            raise Denied("no right", hint="GRANT it")
        yield from Endless(self.folder).steps(shard)


@dataclass(frozen=True)
class Crash:
    """Fails as nobody foresaw, with a secret in hand."""

    secret: str

    def steps(self, shard: Shard) -> Generator[Chunk]:
        raise ZeroDivisionError(self.secret)
        yield


@dataclass(frozen=True)
class Silent:
    """Has nothing to tell for long enough to be missed."""

    def steps(self, shard: Shard) -> Generator[Chunk]:
        del shard
        time.sleep(2)
        yield Chunk(part="late", took=timedelta(0))

"""Tables in memory for tests of operations, sound ones and ones with something wrong."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from idemctl.documents import parse_document, read_model, shipped
from idemctl.domain.collection import Chunk
from idemctl.layouts.model import Layout
from idemctl.run.pace import PaceName
from idemctl.run.run import Run
from idemctl.run.target import Target
from idemctl.stores.answers import WHOLE, Right
from idemctl.stores.memory import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence

    from idemctl.domain.purposes import Purpose
    from idemctl.domain.retention import Retention
    from idemctl.errors import IdemctlError
    from idemctl.layouts.model import PostgresLayout
    from idemctl.stores.answers import Description, Shard

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def layout(name: str = "reference") -> PostgresLayout:
    for file in shipped("layouts/presets"):
        read = read_model(parse_document(file.read_bytes(), file=file.name), Layout)
        if read.layout == name:
            assert read.postgres is not None
            return read.postgres
    raise AssertionError(name)


_LAYOUT = layout()


def row(
    key: str, *, expired_for: timedelta, status: str = "completed", **more: Any
) -> dict[str, Any]:
    return {
        "idempotency_key": key,
        "scope": "",
        "endpoint": "POST /v1/charges",
        "client": None,
        "fingerprint": None,
        "status": status,
        "lease_until": None,
        "fence": 1,
        "epoch": 1,
        "created_at": NOW - expired_for - DAY,
        "expires_at": NOW - expired_for,
    } | more


def some_rows(expired: int = 3, live: int = 2) -> list[dict[str, Any]]:
    return [row(f"old-{n}", expired_for=(n + 1) * HOUR) for n in range(expired)] + [
        row(f"new-{n}", expired_for=-(n + 1) * HOUR) for n in range(live)
    ]


class Table(MemoryStore):
    """The reference adapter, with what a test plants in it."""

    def __init__(self, rows: list[dict[str, Any]], plan: Plan) -> None:
        super().__init__(rows, _LAYOUT, lambda: NOW + plan.clock_is_off, batch_size=plan.batch_size)
        self.plan = plan
        self.modes: list[bool] = []
        """How it was opened: whether writable."""
        self.closed = 0

    def describe(self) -> Description:
        if self.plan.describe_fails is not None:
            raise self.plan.describe_fails
        return replace(super().describe(), **self.plan.description)

    def rights(self) -> Sequence[Right]:
        return self.plan.rights

    def survey(self, retention: Retention, shard: Shard = WHOLE) -> Generator[Chunk]:
        yield from self._planned(super().survey(retention, shard))

    def collect(
        self, retention: Retention, shard: Shard = WHOLE, limit: int | None = None
    ) -> Generator[Chunk]:
        yield from self._planned(super().collect(retention, shard, limit))

    def oldest_expired(self, retention: Retention) -> datetime | None:
        if self.plan.look_back_fails is not None:
            raise self.plan.look_back_fails
        return super().oldest_expired(retention)

    def close(self) -> None:
        self.closed += 1

    def _planned(self, chunks: Iterator[Chunk]) -> Generator[Chunk]:
        for _ in range(self.plan.troubles):
            yield Chunk(part="memory", took=timedelta(0), trouble="locked by another session")
        if self.plan.failure is None:
            yield from chunks
        else:
            yield from itertools.islice(chunks, self.plan.fails_after)
            raise self.plan.failure

    @property
    def keys(self) -> list[str]:
        return [one["idempotency_key"] for one in self.rows]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is wrong with a table."""

    batch_size: int = 1
    description: Mapping[str, Any] = field(default_factory=dict)
    rights: tuple[Right, ...] = ()
    describe_fails: IdemctlError | None = None
    troubles: int = 0
    fails_after: int = 0
    failure: IdemctlError | None = None
    look_back_fails: IdemctlError | None = None
    clock_is_off: timedelta = timedelta(0)


@dataclass(frozen=True)
class Opener:
    """Opens the same table again and again."""

    table: Table

    def open(self, *, writable: bool) -> Table:
        self.table.modes.append(writable)
        return self.table


def target(
    store: str = "payments", rows: list[dict[str, Any]] | None = None, **plan: Any
) -> tuple[Target, Table]:
    table = Table(some_rows() if rows is None else rows, Plan(**plan))
    return Target(store=store, opens=Opener(table)), table


def right(name: str, grant: str, *purposes: Purpose, granted: bool = False) -> Right:
    return Right(name=name, granted=granted, needed_for=purposes, rule=grant[:-1], grant=grant)


def a_run(**more: Any) -> Run:
    return Run(verb="gc", pace_name=PaceName.FULL, **more)


@dataclass
class Follower:
    """A journal and a progress that remember."""

    heard: list[tuple[Any, ...]] = field(default_factory=list)
    fails: IdemctlError | None = None
    waited: list[str] = field(default_factory=list)

    def write(self, event: str, facts: Mapping[str, object]) -> None:
        if self.fails is not None:
            raise self.fails
        self.heard.append((event, dict(facts)))

    def waits(self, why: str) -> None:
        self.waited.append(why)

    def at(self, what: str, done: float, counts: Mapping[str, int]) -> None:
        self.heard.append((what, done, dict(counts)))

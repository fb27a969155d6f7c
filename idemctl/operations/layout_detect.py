"""layout detect: which layouts write into the databases at hand?

Gather: the columns of tables, and some keys with what they hold. Decide: which layouts fit,
and whether what is configured does. Nothing is changed, and nobody's name is taken as proof.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from idemctl.domain.fit import Fit
from idemctl.domain.outcomes import WhyStopped
from idemctl.domain.records import Status
from idemctl.domain.sight import Engine
from idemctl.errors import ExitStatus, IdemctlError, worst
from idemctl.layouts.detect import (
    Candidate,
    Mismatch,
    Place,
    Verdict,
    claims_on_keys,
    claims_on_table,
    layouts_of,
    place_of,
    settled,
    why_no_prefix,
    why_no_table,
)
from idemctl.run.run import Stopped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from idemctl.layouts.detect import Configured, SeenKey, SeenTable, TableClaim
    from idemctl.layouts.model import Layout, PostgresLayout
    from idemctl.run.run import Run
    from idemctl.stores.exploring import ListsTables, ShowsKeys
    from idemctl.stores.ports import Opens

_MOST_FLAWED = 0.1
"""Where more of a table's rows fit no status than this, the layout is another one's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """A database in Postgres, and what is configured there."""

    configured: tuple[Configured, ...]
    explore: Callable[[], ListsTables]
    through: Callable[[PostgresLayout, str], Opens]
    """How a table is opened through a layout."""
    variable: str
    """The environment variable that leads there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyspace:
    """A database in Redis, and what is configured there."""

    configured: tuple[Configured, ...]
    explore: Callable[[], ShowsKeys]
    variable: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of looking."""

    places: tuple[Place, ...]
    mismatches: tuple[Mismatch, ...]
    table_count: int
    key_count: int
    failures: tuple[IdemctlError, ...] = ()
    why_stopped: WhyStopped = WhyStopped.DONE

    @property
    def status(self) -> ExitStatus:
        """The exit status of the whole."""
        is_open = any(place.verdict is not Verdict.FOUND for place in self.places)
        found = ExitStatus.FINDINGS if is_open or self.mismatches else ExitStatus.OK
        statuses = [failure.status for failure in self.failures]
        return worst([found, self.why_stopped.status, *statuses])


def detect(
    databases: Iterable[Database],
    keyspaces: Iterable[Keyspace],
    layouts: Sequence[Layout],
    run: Run,
    *,
    sample: int,
) -> Outcome:
    """Look through databases; one that does not answer is a part of the outcome.

    Args:
        databases: those in Postgres.
        keyspaces: those in Redis.
        layouts: all that come into question.
        run: asked between steps whether to go on.
        sample: how many keys of each keyspace, and rows of each table, are looked at, about.
    """
    looker = _Looker(layouts, run, sample)
    why_stopped = WhyStopped.DONE
    try:
        for database in databases:
            looker.look_through(database)
        for keyspace in keyspaces:
            looker.look_at(keyspace)
    except Stopped as stopped:
        why_stopped = stopped.why
    return Outcome(
        places=tuple(looker.places),
        mismatches=tuple(looker.mismatches),
        table_count=looker.table_count,
        key_count=looker.key_count,
        failures=tuple(looker.failures),
        why_stopped=why_stopped,
    )


class _Looker:
    """Goes from database to database, and keeps what was found."""

    def __init__(self, layouts: Sequence[Layout], run: Run, sample: int) -> None:
        self.places: list[Place] = []
        self.mismatches: list[Mismatch] = []
        self.failures: list[IdemctlError] = []
        self.table_count = self.key_count = 0
        self._layouts, self._run, self._sample = layouts, run, sample

    def look_through(self, database: Database) -> None:
        """Tell tables by their columns, and then by their rows."""
        try:
            with closing(database.explore()) as explored:
                tables = explored.tables()
            self.table_count += len(tables)
            found = [place for table in tables for place in self._table(database, table, tables)]
        except IdemctlError as error:
            self.failures.append(error)
            return
        self.places += found
        known = {str(table): table.name for table in tables}
        for configured in database.configured:
            why = why_no_table(configured, known, found)
            self._hold_against(configured, Engine.POSTGRES, why, found)

    def look_at(self, keyspace: Keyspace) -> None:
        """Tell keys by what they hold."""
        seen: list[SeenKey] = []
        try:
            with closing(keyspace.explore()) as explored:
                for some in explored.keys(self._sample):
                    seen += some
                    self._run.checkpoint(units=max(len(some), 1))
        except IdemctlError as error:
            self.failures.append(error)
            return
        self.key_count += len(seen)
        names = [one.name for one in seen]
        found = [
            place_of(one, keyspace.variable) for one in settled(claims_on_keys(seen, self._layouts))
        ]
        self.places += found
        for configured in keyspace.configured:
            why = why_no_prefix(configured, names, found)
            self._hold_against(configured, Engine.REDIS, why, found)

    def _table(
        self, database: Database, table: SeenTable, tables: Sequence[SeenTable]
    ) -> Iterator[Place]:
        others = {one.name for one in tables if one.schema == table.schema}
        claims = claims_on_table(table, self._layouts, others)
        candidates = [
            candidate
            for claim in claims
            if (candidate := self._tried(database, claim, str(table))) is not None
        ]
        if not candidates:
            return
        by_name = [claim.layout for claim in claims if claim.has_its_name]
        named = [one for one in candidates if one.layout in by_name]
        if len(named) == 1:
            # Columns and rows fit several alike: then the name may speak.
            candidates = named
        yield Place(
            engine=Engine.POSTGRES,
            variable=database.variable,
            place=str(table),
            prefix=b"",
            verdict=Verdict.FOUND if len(candidates) == 1 else Verdict.AMBIGUOUS,
            candidates=tuple(candidates),
        )

    def _tried(self, database: Database, claim: TableClaim, table: str) -> Candidate | None:
        """Read some rows through a layout; `None` where too many fit no status."""
        with closing(database.through(claim.side, table).open(writable=False)) as store:
            fit = Fit(now=store.clock())
            for batch in store.sample():
                fit.see(batch)
                self._run.checkpoint(units=max(len(batch), 1))
                if fit.seen >= self._sample:
                    break
        flawed = fit.by_status[Status.MALFORMED]
        if flawed > _MOST_FLAWED * fit.seen or any(fit.absurd.values()):
            return None
        known = f"{len(claim.known)} of {len(claim.table.columns)} columns are its own"
        identity = " and ".join(filter(None, (claim.side.scope, claim.side.key)))
        is_unique = f"{'' if claim.is_unique else 'not '}unique by {identity}"
        return Candidate(
            layout=claim.layout,
            sure=claim.share,
            read_count=fit.seen - flawed,
            seen_count=fit.seen,
            evidence=(known, is_unique),
        )

    def _hold_against(
        self, configured: Configured, engine: Engine, why: str | None, found: Sequence[Place]
    ) -> None:
        if why is None or not configured.is_said:
            return
        same = [place for place in found if configured.layout in layouts_of(place)]
        mismatch = Mismatch(
            configured=configured, engine=engine, why=why, suggests=tuple(same or found)
        )
        self.mismatches.append(mismatch)

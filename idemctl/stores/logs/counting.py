"""One reading of some files: counts, faults, and a look at what is wrong."""

from __future__ import annotations

import itertools
from dataclasses import astuple
from typing import TYPE_CHECKING

from idemctl.domain.traffic import Fault, Hit, Sample, Traffic
from idemctl.stores.logs import statements

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from idemctl.stores.logs.database import Database
    from idemctl.stores.logs.statements import Fields

_SAMPLES = 3
_SHOWN_BYTES = 80
_TELLING = {Fault.NO_INSTANT: "at", Fault.UNKNOWN_OUTCOME: "outcome"}
_SEARCHED_LINES = 2_000_000
"""Lines that are looked at for a sample of those that are no JSON."""


class Counting:
    """One reading: the statements, in order."""

    def __init__(
        self,
        database: Database,
        files: Sequence[Path],
        fields: Fields,
        watch: Callable[[], None],
    ) -> None:
        self._database = database
        self._files = files
        self._fields = fields
        self._watch = watch
        self._lines = statements.lines(files, fields)

    def count(self) -> None:
        """Group all lines, once."""
        self._database.run(statements.count(self._lines))

    def faults(self) -> dict[str, int]:
        """Count the lines by what is wrong with them; those that are well go by ''."""
        return dict(self._database.run(statements.FAULTS).fetchall())

    def traffic(self) -> Traffic:
        """Give the counts as columns."""
        endpoints, clients = self._names_of("endpoint"), self._names_of("client")
        counts = self._database.run(statements.CODED).fetchnumpy()
        return Traffic(
            bucket=counts["bucket"],
            endpoint=counts["endpoint"],
            client=counts["client"],
            requests=counts["requests"],
            hits={hit: counts[hit] for hit in Hit},
            endpoints=endpoints,
            clients=clients,
        )

    def samples(self, faults: Iterable[Fault]) -> Iterator[Sample]:
        """Show a few of the lines that could not be read."""
        for fault in faults:
            if fault is Fault.NOT_JSON:
                seen = list(itertools.islice(self._not_json(), _SAMPLES))
            else:
                statement = statements.sample(self._lines, _TELLING[fault], fault, _SAMPLES)
                rows = self._database.run(statement).fetchall()
                seen = [b"(none)" if row[0] is None else row[0].encode() for row in rows]
            yield from (Sample(fault=fault, seen=one[:_SHOWN_BYTES]) for one in seen)

    def _names_of(self, column: str) -> tuple[str, ...]:
        self._database.run(statements.code(column))
        return tuple(row[0] for row in self._database.run(statements.names(column)).fetchall())

    def _not_json(self) -> Iterator[bytes]:
        import msgspec

        names = astuple(self._fields)
        for number, line in enumerate(itertools.islice(_raw(self._files), _SEARCHED_LINES)):
            if not number % 10_000:
                self._watch()
            try:
                document = msgspec.json.decode(line)
            except (msgspec.DecodeError, RecursionError):
                yield line
                continue
            if not isinstance(document, dict) or all(document.get(one) is None for one in names):
                yield line


def _raw(files: Iterable[Path]) -> Iterator[bytes]:
    """Give the lines of all files as they stand, blank ones left out."""
    import gzip

    for file in files:
        with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as stream:
            for line in stream:
                if bare := line.strip():
                    yield bare

"""The files of a log, found and read."""

from __future__ import annotations

import glob
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from idemctl.domain.traffic import Fault, Reading
from idemctl.errors import ConfigError, Denied
from idemctl.stores.logs.counting import Counting
from idemctl.stores.logs.database import opened
from idemctl.stores.logs.statements import UNKEYED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from idemctl.stores.logs.statements import Fields


@dataclass(frozen=True, slots=True, kw_only=True)
class HitLog:
    """The logs of one application."""

    store: str | None = None
    """Whose they are; None for files of no store in particular."""
    files: tuple[Path, ...]
    """Paths, or patterns with `*`."""
    fields: Fields
    named_in: str
    """Where the files are named, for an error's sake: `idemctl.yaml:7:11`."""
    gentle: bool = True
    """Whether one processor has to do."""

    def read(self, watch: Callable[[], None]) -> Reading:
        """Count every line; `watch` is called meanwhile, and ends the reading by raising.

        Raises:
            ConfigError: the extra is not installed, or a file is not there.
            Denied: a file may not be read.
            Unreachable: a file cannot be read to its end.
        """
        files = list(self._files())
        with opened(1 if self.gentle else os.cpu_count() or 1, watch) as database:
            job = Counting(database, files, self.fields, watch)
            job.count()
            counts = job.faults()
            faults = {fault: counts[fault] for fault in Fault if counts.get(fault)}
            return Reading(
                traffic=job.traffic(),
                line_count=sum(counts.values()),
                unkeyed_count=counts.get(UNKEYED, 0),
                unreadable=faults,
                samples=tuple(job.samples(faults)) if faults else (),
            )

    def _files(self) -> Iterator[Path]:
        """Give each file once, whatever names and patterns lead to it."""
        seen: set[Path] = set()
        for named in self.files:
            is_plain = named.exists() or not glob.has_magic(str(named))
            for file in [named] if is_plain else self._matching(named):
                if not file.is_file():
                    what = "is no file" if file.exists() else "there is no such file"
                    raise ConfigError(
                        f"{self.named_in}: {file}: {what}", hint="name the logs of hits"
                    )
                if file.resolve() not in seen:
                    seen.add(file.resolve())
                    yield _readable(file.resolve())
        if not seen:
            raise ConfigError(
                f"{self.named_in}: no file matches {', '.join(map(str, self.files))}",
                hint="name the logs of hits",
            )

    @staticmethod
    def _matching(pattern: Path) -> list[Path]:
        found = (Path(one) for one in glob.glob(str(pattern), recursive=True))  # noqa: PTH207 - pathlib cannot take an absolute pattern.
        return sorted(one for one in found if one.is_file())


def _readable(file: Path) -> Path:
    try:
        with file.open("rb"):
            return file
    except PermissionError:
        raise Denied(f"{file} may not be read", hint="run as a user who may read it") from None

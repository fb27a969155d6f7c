"""layout check: are layout files valid, and what do they let anybody see?

Gather: each file is read with the places of all that stands in it. Decide: its sight, failure
mode by failure mode. There is nothing to apply.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from idemctl.documents import InvalidDocument, read_document, read_model
from idemctl.domain.sight import Engine, FailureMode, Sight, view
from idemctl.errors import ConfigError, ExitStatus, worst
from idemctl.layouts.model import Layout
from idemctl.layouts.sight import sight_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from idemctl.documents import Problem
    from idemctl.domain.sight import View
    from idemctl.layouts.model import Side
    from idemctl.run.run import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class SideSight:
    """What one side of a layout shows."""

    engine: Engine
    sight: frozenset[Sight]
    views: tuple[View, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What came of one file."""

    file: Path
    layout: Layout | None = None
    """`None` where it could not be understood."""
    sides: tuple[SideSight, ...] = ()
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a check."""

    files: tuple[Checked, ...]
    failures: tuple[ConfigError, ...] = ()
    """What kept files from being read; the others were checked all the same."""

    @property
    def status(self) -> ExitStatus:
        """The exit status of the whole."""
        is_wrong = any(one.problems for one in self.files)
        statuses = [failure.status for failure in self.failures]
        return worst([*statuses, ExitStatus.FINDINGS if is_wrong else ExitStatus.OK])


def check(files: Iterable[Path], run: Run) -> Outcome:
    """Check each file; one that is invalid is a finding, for it is what is under test.

    Raises:
        ConfigError: no file could be read.
    """
    done: list[Checked] = []
    failures: list[ConfigError] = []
    for file in dict.fromkeys(files):
        run.checkpoint()
        try:
            done.append(_checked(file))
        except ConfigError as failure:
            failures.append(failure)
    if failures and not done:
        raise failures[0]
    return Outcome(files=tuple(done), failures=tuple(failures))


def _checked(file: Path) -> Checked:
    try:
        layout = read_model(read_document(file), Layout)
    except InvalidDocument as invalid:
        return Checked(file=file, problems=tuple(invalid.problems))
    return Checked(file=file, layout=layout, sides=tuple(_sides(layout)))


def _sides(layout: Layout) -> Iterator[SideSight]:
    sides: list[tuple[Engine, Side | None]] = [
        (Engine.POSTGRES, layout.postgres),
        (Engine.REDIS, layout.redis),
    ]
    is_paired = layout.postgres is not None and layout.redis is not None
    for engine, side in sides:
        if side is not None:
            # A twin is a matter of the configuration; a layout of both sides is meant for it.
            sight = sight_of(side) | ({Sight.TWIN} if is_paired else set())
            views = tuple(view(mode, sight) for mode in FailureMode)
            yield SideSight(engine=engine, sight=frozenset(sight), views=views)

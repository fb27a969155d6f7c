"""layout check: are layout files valid, and what do they let anybody see?

Gather: each file is read with the places of all that stands in it. Decide: its sight, failure
mode by failure mode. There is nothing to apply.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING

from idemctl.checks.registry import BY_CODE, CHECKS
from idemctl.documents import InvalidDocument, Problem, read_document, read_model
from idemctl.domain.fit import Fit
from idemctl.domain.sight import Engine, FailureMode, Sight, view
from idemctl.errors import ExitStatus, worst
from idemctl.layouts.model import Layout, Statuses
from idemctl.layouts.sight import sight_of
from idemctl.run.files import check_each

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from idemctl.documents import Document
    from idemctl.domain.records import Status
    from idemctl.domain.sight import View
    from idemctl.errors import ConfigError
    from idemctl.layouts.model import Side
    from idemctl.run.run import Run
    from idemctl.run.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class SideSight:
    """What one side of a layout shows."""

    engine: Engine
    sight: frozenset[Sight]
    views: tuple[View, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """How one side of a layout reads the records of a store."""

    store: str
    place: str
    fit: Fit
    never: tuple[Status, ...]
    """Statuses that it tells apart, and no record of the sample has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What came of one file."""

    file: Path
    layout: Layout | None = None
    """`None` where it could not be understood."""
    sides: tuple[SideSight, ...] = ()
    tried: tuple[Tried, ...] = ()
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
        is_wrong = any(
            one.problems or any(tried.fit.is_off for tried in one.tried) for one in self.files
        )
        statuses = [failure.status for failure in self.failures]
        return worst([*statuses, ExitStatus.FINDINGS if is_wrong else ExitStatus.OK])


def check(
    files: Iterable[Path],
    run: Run,
    live: Callable[[Layout], Iterable[Target]] | None = None,
    *,
    sample: int = 0,
) -> Outcome:
    """Check each file; one that is invalid is a finding, for it is what is under test.

    Args:
        files: layout files; one that is named twice is checked once.
        run: asked now and then whether to go on.
        live: gives what is to be read through a layout, where it is to be tried on stores.
        sample: how many records of each are looked at, about.

    Raises:
        IdemctlError: a store cannot be read.
        ConfigError: no file could be read.
    """

    def looked_at(file: Path) -> Checked:
        one = _checked(file)
        if live is None or one.layout is None:
            return one
        return replace(one, tried=tuple(_tried(live(one.layout), one.layout, sample, run)))

    done, failures = check_each(files, looked_at, run)
    return Outcome(files=done, failures=failures)


def _checked(file: Path) -> Checked:
    try:
        document = read_document(file)
        layout = read_model(document, Layout)
    except InvalidDocument as invalid:
        return Checked(file=file, problems=tuple(invalid.problems))
    return Checked(
        file=file,
        layout=layout,
        sides=tuple(_sides(layout)),
        problems=tuple(_problems(document, layout)),
    )


def _problems(document: Document, layout: Layout) -> Iterator[Problem]:
    """Find codes of checks that can never speak of a side: what is said there reaches nobody."""
    for engine, side in _engines(layout):
        made = [
            check.code
            for check in CHECKS
            if engine in check.engines and side.pattern in check.patterns
        ]
        for code in side.breaks:
            if code in made:
                continue
            place = document.place((engine.value, "breaks", code), key=True)
            if code in BY_CODE:
                says = f"is never made of {side.pattern.label} in {engine.value}"
            else:
                close = get_close_matches(code, made, n=1)
                rest = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(made)}"
                says = f"is unknown; {rest}"
            yield Problem(place, f"{engine.value}.breaks: the check {code!r} {says}")


def _tried(targets: Iterable[Target], layout: Layout, sample: int, run: Run) -> Iterator[Tried]:
    for target in targets:
        side = layout.postgres if target.engine is Engine.POSTGRES else layout.redis
        assert side is not None, "only such targets are given"
        known = side.status.conditions() if isinstance(side.status, Statuses) else []
        with closing(target.opens.open(writable=False)) as store:
            place = store.describe().place
            fit = Fit(now=store.clock())
            for batch in store.sample():
                fit.see(batch)
                if fit.seen >= sample:
                    break
                run.checkpoint()
        never = tuple(fit.never([status for status, _ in known]))
        yield Tried(store=target.store, place=place, fit=fit, never=never)


def _engines(layout: Layout) -> list[tuple[Engine, Side]]:
    sides: list[tuple[Engine, Side | None]] = [
        (Engine.POSTGRES, layout.postgres),
        (Engine.REDIS, layout.redis),
    ]
    return [(engine, side) for engine, side in sides if side is not None]


def _sides(layout: Layout) -> Iterator[SideSight]:
    is_paired = layout.postgres is not None and layout.redis is not None
    for engine, side in _engines(layout):
        # A twin is a matter of the configuration; a layout of both sides is meant for it.
        sight = sight_of(side) | ({Sight.TWIN} if is_paired else set())
        views = tuple(view(mode, sight) for mode in FailureMode)
        yield SideSight(engine=engine, sight=frozenset(sight), views=views)

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
from idemctl.documents import InvalidDocument, Problem, read_model
from idemctl.domain.fit import Fit
from idemctl.domain.proofs import Claim, Proof, doubt
from idemctl.domain.sight import Engine, FailureMode, Sight, view
from idemctl.errors import ConfigError, ExitStatus, worst
from idemctl.layouts.model import Layout
from idemctl.layouts.sides import Statuses
from idemctl.layouts.sight import sight_of
from idemctl.run.files import check_each

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from idemctl.documents import Document
    from idemctl.domain.records import Status
    from idemctl.domain.sight import View
    from idemctl.layouts.sides import Side
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
    doubt: str | None
    """Why it is no proof, so that nothing may be written through the layout."""
    unremembered: ConfigError | None = None
    """What kept the result out of the state folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """How layouts are tried on stores."""

    targets: Callable[[Layout], Iterable[Target]]
    """Gives what is to be read through a layout."""
    remember: Callable[[Proof], None]
    """Keeps what came of it, for whoever wants to write."""
    sample: int
    """How many records of each are looked at, about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What came of one file."""

    file: Path
    layout: Layout | None = None
    """`None` where it could not be understood."""
    digest: str = ""
    """SHA-256 of its content, in hex."""
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
    read: Callable[[Path], Document],
    trial: Trial | None = None,
) -> Outcome:
    """Check each file; one that is invalid is a finding, for it is what is under test.

    Args:
        files: layout files; one that is named twice is checked once.
        run: asked now and then whether to go on.
        read: reads a file.
        trial: how they are to be tried on stores, if they are.

    Raises:
        IdemctlError: a store cannot be read.
        ConfigError: no file could be read.
    """

    def looked_at(file: Path) -> Checked:
        one = _checked(file, read)
        if trial is None or one.layout is None:
            return one
        return replace(one, tried=tuple(_tried(one.layout, one.digest, trial, run)))

    done, failures = check_each(files, looked_at, run)
    return Outcome(files=done, failures=failures)


def _checked(file: Path, read: Callable[[Path], Document]) -> Checked:
    try:
        document = read(file)
        layout = read_model(document, Layout)
    except InvalidDocument as invalid:
        return Checked(file=file, problems=tuple(invalid.problems))
    return Checked(
        file=file,
        layout=layout,
        digest=document.digest,
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


def _tried(layout: Layout, digest: str, trial: Trial, run: Run) -> Iterator[Tried]:
    for target in trial.targets(layout):
        side = layout.postgres if target.engine is Engine.POSTGRES else layout.redis
        assert side is not None, "only such targets are given"
        known = side.status.conditions() if isinstance(side.status, Statuses) else []
        with closing(target.opens.open(writable=False)) as store:
            place = target.named(store.describe().place)
            fit = Fit(now=store.clock())
            for batch in store.sample():
                fit.see(batch)
                if fit.seen >= trial.sample:
                    break
                run.checkpoint()
        never = tuple(fit.never([status for status, _ in known]))
        tried = Tried(
            store=target.store, place=place, fit=fit, never=never, doubt=doubt(fit, never)
        )
        if layout.proven == "source":
            tried = _remembered(tried, target, digest, trial, run)
        yield tried


def _remembered(tried: Tried, target: Target, digest: str, trial: Trial, run: Run) -> Tried:
    """Keep what came of it; a failure withdraws what an earlier try has proven."""
    claim = Claim(store=target.store, engine=target.engine.value, where=target.where, digest=digest)
    proof = Proof(
        claim=claim,
        place=tried.place,
        at=run.started_at,
        records=tried.fit.seen,
        holds=tried.doubt is None,
    )
    try:
        trial.remember(proof)
    except ConfigError as error:
        # What was read is read, and has to be told.
        return replace(tried, unremembered=error)
    return tried


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

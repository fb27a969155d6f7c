"""runs check and runs undo: is an archive whole, what of it is back, and bringing back the rest.

Both walk through the files twice: once to learn which batches count and whether all is
intact, once to ask the table for each record. Undo puts back what is absent, and touches
nothing that is there.
"""

from __future__ import annotations

from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from idemctl.domain.archived import Restored, Shape, Sums, Taken
from idemctl.domain.outcomes import WhyStopped
from idemctl.domain.sight import Engine
from idemctl.errors import ConfigError, ExitStatus, IdemctlError, Refused, worst
from idemctl.run.run import Stopped
from idemctl.run.writing import writing
from idemctl.state.archive import ArchiveReader, Heading, Void

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from idemctl.domain.told_runs import Part, PastRun
    from idemctl.run.run import Run
    from idemctl.run.target import Target
    from idemctl.stores.archiving import Restorer
    from idemctl.stores.ports import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Archived:
    """One file, read through."""

    file: Path
    heading: Heading
    sums: Sums
    """Without batches that were rolled back."""
    voids: frozenset[int]
    has_end: bool
    is_torn: bool
    damaged: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """What came of the records of one store."""

    store: str
    files: tuple[Archived, ...]
    journal: Sums
    """What the journal says that went."""
    was_cut_off: bool
    """Whether the run did not come to its end, so that its journal may lack what it did last."""
    found: Restored = field(default_factory=Restored)
    why_stopped: WhyStopped = WhyStopped.DONE

    @property
    def sums(self) -> Sums:
        """What the archive holds."""
        return sum((one.sums for one in self.files), start=Sums())

    @property
    def damaged(self) -> int:
        """How many parts of the files are not what was written."""
        return sum(one.damaged for one in self.files)

    @property
    def agrees(self) -> bool:
        """Whether archive and journal tell of the same."""
        archive = self.sums.records, self.sums.children
        journal = self.journal.records, self.journal.children
        longer = all(ours >= its for ours, its in zip(archive, journal, strict=True))
        return archive == journal or (self.was_cut_off and longer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a check, of a look before an undo, or of an undo."""

    past: PastRun
    undone: tuple[Undone, ...]
    apply: bool = False
    is_check: bool = False
    failures: tuple[IdemctlError, ...] = ()

    @property
    def status(self) -> ExitStatus:
        """The exit status of the whole."""
        statuses = [failure.status for failure in self.failures]
        doubtful = ExitStatus.FINDINGS if self.is_check else ExitStatus.PARTIAL
        for one in self.undone:
            statuses.append(one.why_stopped.status)
            if one.damaged or (self.is_check and not one.agrees):
                statuses.append(doubtful)
            if one.found.refused or one.why_stopped is not WhyStopped.DONE:
                statuses.append(ExitStatus.PARTIAL)
        return worst(statuses)


class Undo:
    """The archive of one run beside the stores that it came from."""

    def __init__(
        self,
        past: PastRun,
        files: Sequence[Path],
        parts: Sequence[Part],
        targets: Sequence[Target],
        *,
        are_named: bool,
    ) -> None:
        """Read every file through.

        Args:
            past: the run that wrote them.
            files: those of its archive.
            parts: what its journal tells.
            targets: the sides of the chosen stores.
            are_named: whether somebody named these stores, and no others are meant.

        Raises:
            ConfigError: there is none, or one cannot be read.
            Refused: no chosen store is the one that they came from.
        """
        self.past = past
        if not files:
            raise ConfigError(
                f"{past.run_id}: no archive of this run is there",
                hint="name the folder that gc --archive wrote to: --archive DIR",
            )
        self._archived = [_read_through(file) for file in files]
        self._parts = parts
        self._targets = {one.store: one for one in targets if one.engine is Engine.POSTGRES}
        held = dict.fromkeys(one.heading.store for one in self._archived)
        self.stores = [name for name in held if name in self._targets]
        lost = [name for name in held if name not in self._targets]
        if lost and not (are_named and self.stores):
            raise Refused(
                f"{past.run_id}: its archive holds records of {', '.join(lost)}, "
                "and that is none of the chosen stores",
                hint="check --store and the configuration; nothing was changed",
            )

    def look(self, run: Run, *, is_check: bool = False) -> Outcome:
        """Find out what is there and what is not; changes nothing."""
        return self._through(run, apply=False, is_check=is_check)

    def apply(self, run: Run) -> Outcome:
        """Put back what is absent."""
        return self._through(run, apply=True, is_check=False)

    def _through(self, run: Run, *, apply: bool, is_check: bool) -> Outcome:
        done, failures = [], []
        for store in self.stores:
            undone, failure = self._one(store, run, apply=apply)
            done.append(undone)
            failures += [failure] if failure is not None else []
            if undone.why_stopped is not WhyStopped.DONE:
                break
        return Outcome(
            past=self.past,
            undone=tuple(done),
            apply=apply,
            is_check=is_check,
            failures=tuple(failures),
        )

    def _one(self, name: str, run: Run, *, apply: bool) -> tuple[Undone, IdemctlError | None]:
        told = [one for one in self._parts if one.store == name]
        undone = Undone(
            store=name,
            files=tuple(one for one in self._archived if one.heading.store == name),
            journal=Sums(
                batches=sum(one.batches for one in told),
                records=sum(one.deleted for one in told),
                children=sum(one.children for one in told),
            ),
            was_cut_off=self.past.exit != ExitStatus.OK,
        )
        found, why = Restored(), WhyStopped.DONE
        failure: IdemctlError | None = None
        with ExitStack() as stack:
            try:
                store = self._targets[name].opens.open(writable=apply)
                stack.enter_context(closing(store))
                if apply:
                    # Under the lock of gc: neither takes what the other one brings.
                    stack.enter_context(writing(name, store, run, purpose="gc"))
                for step in _steps(undone.files, store, apply=apply):
                    found += step
                    _tell(run, undone, step, found, apply=apply)
                    run.checkpoint(step.took, step.units)
            except Stopped as stopped:
                why = stopped.why
                failure = run.frozen if why is WhyStopped.FROZEN else None
            except IdemctlError as error:
                failure = error
        return replace(undone, found=found, why_stopped=why), failure


def _steps(files: Sequence[Archived], store: Store, *, apply: bool) -> Iterator[Restored]:
    for archived in files:
        restorer = store.restorer(archived.heading.origin)
        work = restorer.restore if apply else restorer.look
        yield from _of_file(archived, restorer, work)


def _of_file(
    archived: Archived, restorer: Restorer, work: Callable[[Taken], Iterator[Restored]]
) -> Iterator[Restored]:
    reader = ArchiveReader(archived.file)
    for frame in reader.frames():
        if isinstance(frame, Shape):
            restorer.expect(frame)
        elif isinstance(frame, Taken) and reader.number not in archived.voids:
            yield from work(frame)


def _read_through(file: Path) -> Archived:
    reader = ArchiveReader(file)
    heading: Heading | None = None
    sums, before, last = Sums(), Sums(), 0
    voids: set[int] = set()
    for frame in reader.frames():
        if isinstance(frame, Heading):
            heading = frame
        elif isinstance(frame, Taken):
            sums, before, last = sums.plus(frame), sums, reader.number
        elif isinstance(frame, Void):
            voids.add(frame.frame)
            sums = before if frame.frame == last else sums
    if heading is None:
        raise ConfigError(
            f"archive {file}: damaged where it says whose records it holds",
            hint="take it from a backup of the folder; the other files of the run are read alone "
            "in a folder of their own",
        )
    return Archived(
        file=file,
        heading=heading,
        sums=sums,
        voids=frozenset(voids),
        has_end=reader.has_end,
        is_torn=reader.is_torn,
        damaged=reader.damaged,
    )


def _tell(run: Run, undone: Undone, step: Restored, found: Restored, *, apply: bool) -> None:
    done = found.units / max(undone.sums.records, 1)
    counts = {"looked at": found.units, "back" if apply else "absent": found.restored}
    run.progress.at(f"{undone.store} archive", done, counts)
    if apply and step.units:
        facts = {
            "store": undone.store,
            "restored": step.restored,
            "children": step.children,
            "renewed": step.renewed,
            "same": step.same,
            "refused": step.refused,
        }
        run.journal.write("restore", facts)

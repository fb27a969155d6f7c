"""What one command works with."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from idemctl.bootstrap.layouts import Catalogue
from idemctl.errors import ConfigError, IdemctlError, Refused, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from idemctl.bootstrap.exploring import Exploration
    from idemctl.bootstrap.roads import Roads
    from idemctl.bootstrap.sides import Sides
    from idemctl.domain.past_runs import PastRun
    from idemctl.domain.purposes import Purpose
    from idemctl.layouts.model import Layout
    from idemctl.run.audited import Surroundings
    from idemctl.run.keeper import Keeper
    from idemctl.run.run import Run
    from idemctl.run.target import Pair, Target
    from idemctl.settings import Settings
    from idemctl.state.archive import ArchiveFolder
    from idemctl.state.folder import StateFolder
    from idemctl.state.history import History
    from idemctl.state.journal import FileJournal
    from idemctl.state.measures import Measures
    from idemctl.state.proofs import Proofs
    from idemctl.state.repeats import Repeats
    from idemctl.state.suspects import SuspectsFile


class Workplace:
    """What one command works with, read from settings when it is first needed."""

    def __init__(
        self,
        *,
        config: Path | None,
        stores: tuple[str, ...],
        environ: Mapping[str, str],
        folder: Path,
        settings: Settings | None = None,
    ) -> None:
        self._config = config
        self._stores = stores
        self._environ = environ
        self._folder = folder
        if settings is not None:
            self.settings = settings

    @cached_property
    def settings(self) -> Settings:
        """What flags, environment and files say."""
        from idemctl.settings import Flags, load_settings

        flags = Flags(config=self._config, stores=self._stores)
        return load_settings(flags, self._environ, self._folder)

    def targets(self, run: Run, *, writes: bool = False) -> list[Target]:
        """List both sides of every chosen store, Postgres first.

        Args:
            run: whose name the stores' administrators see.
            writes: whether the verb will change what it works on.

        Raises:
            UsageError: it writes, and several stores are configured but none was named.
            Refused: it writes, and how the store is read is only taken for granted.
        """
        if writes:
            self._refuse_unnamed()
            self.refuse_guess()
        chosen = self.settings.chosen()
        targets = [side for name in chosen for side in self._sides.of(name, run, writes=writes)]
        if writes:
            # Here every verb that writes gets what it writes to: none can leave freezes out.
            run.keepers = self._keepers(targets, run)
        return targets

    def keepers(self, run: Run, *, writes: bool = False) -> Mapping[str, Keeper]:
        """Give the keepers of witness and freeze of the chosen stores, by name.

        Raises:
            UsageError: as `targets` does; no layout stands in the way of a freeze.
        """
        if writes:
            self._refuse_unnamed()
        return self._keepers(self.targets(run), run)

    def _keepers(self, targets: Sequence[Target], run: Run) -> Mapping[str, Keeper]:
        from idemctl.bootstrap.keepers import keepers

        return keepers(self.settings, self.catalogue, targets, self._paired(targets), run)

    def _refuse_unnamed(self) -> None:
        chosen = self.settings.chosen()
        if not self.settings.asked and len(chosen) > 1:
            raise UsageError(
                "several stores are configured, and this command changes what it works on",
                hint="name them: " + " ".join(f"--store {name}" for name in chosen),
            )

    def refuse_guess(self) -> None:
        """Say no where no file names a store: what writes goes by no guess."""
        if not self.settings.names_stores:
            raise Refused(
                "no configuration names a store, and by a guess at its layout nothing is changed",
                hint="idemctl layout detect --write makes an idemctl.yaml of what is there, to be "
                "looked through",
            )

    def targets_through(self, layout: Layout, run: Run) -> list[Target]:
        """List the sides of the chosen stores that a layout describes, to be read through it."""
        return [
            side
            for name in self.settings.chosen()
            for side in self._sides.of(name, run, writes=False, through=layout)
        ]

    def exploration(self, run: Run) -> Exploration:
        """List the databases that the chosen stores lead to, each once."""
        from idemctl.bootstrap.exploring import Explorer

        return Explorer(self.settings, self.catalogue, run).exploration()

    def found(self, run: Run) -> tuple[Workplace, Surroundings]:
        """Give a workplace whose stores are those that can be found, where no file names any.

        Only for verbs that change nothing: what is found is taken for what it looks like.

        Raises:
            ConfigError: nothing is found.
        """
        from idemctl.bootstrap.finding import find
        from idemctl.run.audited import Surroundings

        if self.settings.names_stores:
            return self, Surroundings()
        found, surroundings = find(self.settings, self.catalogue, run)
        return self._with(found), surroundings

    def on_replicas(self) -> Workplace:
        """Give a workplace that reads Postgres from replicas.

        Only for verbs that change nothing.

        Raises:
            ConfigError: a chosen store names none.
        """
        return self._with(self.settings.on_replicas())

    def _with(self, settings: Settings) -> Workplace:
        return Workplace(
            config=self._config,
            stores=self._stores,
            environ=self._environ,
            folder=self._folder,
            settings=settings,
        )

    def pairs(self, run: Run, *, writes: bool = False) -> list[Pair]:
        """List the chosen stores that are pairs: both sides, with what the file says of them.

        Raises:
            UsageError: as `targets` does.
        """
        return self._paired(self.targets(run, writes=writes))

    def _paired(self, targets: Sequence[Target]) -> list[Pair]:
        from idemctl.run.target import Pair

        sides: dict[str, list[Target]] = {}
        for target in targets:
            sides.setdefault(target.store, []).append(target)
        chosen = self.settings.chosen()
        return [
            Pair(
                store=name,
                postgres=both[0],
                redis=both[1],
                redis_ttl=redis.ttl,
                transcript=self._sides.transcript(name),
                write_order=chosen[name].write_order,
                on_redis_miss=chosen[name].on_redis_miss,
            )
            for name, both in sides.items()
            if not any(one.is_shared for one in both)
            and len(both) > 1
            and (redis := chosen[name].redis) is not None
        ]

    def needed_pairs(self, run: Run, *, writes: bool = False) -> list[Pair]:
        """List the chosen pairs, for a verb that can do nothing with a store alone.

        Raises:
            ConfigError: there is none, or a store that was named is none.
            UsageError: as `targets` does.
        """
        pairs = self.pairs(run, writes=writes)
        found = {pair.store for pair in pairs}
        alone = [name for name in self.settings.asked if name not in found]
        if alone or not pairs:
            from idemctl.bootstrap.sides import refuse_shared

            refuse_shared(self.settings, alone or self.settings.chosen())
            names = ", ".join(alone or self.settings.chosen())
            raise ConfigError(
                f"{names}: not kept in both Postgres and Redis, so there is nothing to compare",
                hint="name a store with postgres and redis, or set DATABASE_URL and REDIS_URL",
            )
        return pairs

    @property
    def asks_for_stores(self) -> bool:
        """Whether stores were named, by an option or a variable; reads no file."""
        return bool(self._stores or self._environ.get("IDEMCTL_STORE"))

    def roads(self, run: Run, purposes: Sequence[Purpose]) -> Roads:
        """Find the ways to the servers of the chosen stores, for what is wanted of those."""
        from idemctl.bootstrap.roads import Roads

        settings, state, sides = self.settings, self._state, self._sides
        return Roads(settings, state, self.catalogue, sides, run=run, purposes=purposes)

    @cached_property
    def _sides(self) -> Sides:
        from idemctl.bootstrap.sides import Sides

        return Sides(self.settings, self.catalogue)

    @cached_property
    def catalogue(self) -> Catalogue:
        """The layouts that the stores name."""
        return Catalogue(self.settings, self.proofs)

    @cached_property
    def _state(self) -> StateFolder:
        from idemctl.state.folder import StateFolder

        return StateFolder(self.settings.state_folder)

    @cached_property
    def proofs(self) -> Proofs:
        """What layouts were tried on, and how well they read it."""
        from idemctl.state.proofs import Proofs

        return Proofs(self._state)

    @cached_property
    def history(self) -> History:
        """What earlier runs left behind."""
        from idemctl.state.history import History

        return History(self._state)

    def past(self, store: str, place: str) -> Sequence[PastRun] | None:
        """Tell earlier runs of gc on one table, oldest first; `None` where nobody can."""
        from idemctl.domain.past_runs import past_runs

        try:
            return past_runs(self.history.lately("gc"), store, place)
        except IdemctlError:
            return None

    @cached_property
    def measures(self) -> Measures:
        """How much earlier audits saw in each place."""
        from idemctl.state.measures import Measures

        return Measures(self._state)

    def suspects(self) -> SuspectsFile:
        """Open a file for differences that were seen once."""
        from idemctl.state.suspects import SuspectsFile

        return SuspectsFile(self._state)

    def repeats(self) -> Repeats:
        """Make room for keys that several records have."""
        from idemctl.state.repeats import Repeats

        return Repeats(self._state)

    def archive(self, folder: Path, run_id: str) -> ArchiveFolder:
        """Name the place of the rows that a run deletes, or deleted."""
        from idemctl.state.archive import ArchiveFolder

        return ArchiveFolder((self._folder / folder).absolute(), run_id)

    def journal(self, run: Run) -> FileJournal:
        """Open the journal of one run."""
        from idemctl.state.journal import FileJournal

        return FileJournal(self._state, run.id)

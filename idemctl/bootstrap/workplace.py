"""What one command works with."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from idemctl.bootstrap.layouts import Catalogue
from idemctl.bootstrap.openers import PostgresTableOpener, RedisKeyspaceOpener
from idemctl.errors import ConfigError, ExitStatus, Unsupported, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from idemctl.bootstrap.exploring import Exploration
    from idemctl.domain.policies import Policies
    from idemctl.layouts.model import Layout
    from idemctl.layouts.transcript import Transcript
    from idemctl.operations.doctor import Line
    from idemctl.run.run import Run
    from idemctl.run.target import Pair, Target
    from idemctl.settings import Settings, StoreSettings
    from idemctl.state.history import History
    from idemctl.state.journal import FileJournal
    from idemctl.state.repeats import Repeats
    from idemctl.state.suspects import SuspectsFile
    from idemctl.stores.logs import HitLog


class Workplace:
    """What one command works with, read from settings when it is first needed."""

    def __init__(
        self,
        *,
        config: Path | None,
        stores: tuple[str, ...],
        environ: Mapping[str, str],
        folder: Path,
    ) -> None:
        self._config = config
        self._stores = stores
        self._environ = environ
        self._folder = folder

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
        """
        chosen = self.settings.chosen()
        if writes and not self.settings.asked and len(chosen) > 1:
            raise UsageError(
                "several stores are configured, and this command changes what it works on",
                hint="name them: " + " ".join(f"--store {name}" for name in chosen),
            )
        return [
            side
            for name, store in chosen.items()
            for side in self._sides(name, store, run, writes=writes)
        ]

    def targets_through(self, layout: Layout, run: Run) -> list[Target]:
        """List the sides of the chosen stores that a layout describes, to be read through it."""
        chosen = self.settings.chosen().items()
        return [
            side
            for name, store in chosen
            for side in self._sides(name, store, run, writes=False, through=layout)
        ]

    def exploration(self, run: Run) -> Exploration:
        """List the databases that the chosen stores lead to, each once."""
        from idemctl.bootstrap.exploring import Explorer

        return Explorer(self.settings, self._catalogue, run).exploration()

    def pairs(self, run: Run, *, writes: bool = False) -> list[Pair]:
        """List the chosen stores that are pairs: both sides, with what the file says of them.

        Raises:
            UsageError: as `targets` does.
        """
        from idemctl.run.target import Pair

        sides: dict[str, list[Target]] = {}
        for target in self.targets(run, writes=writes):
            sides.setdefault(target.store, []).append(target)
        chosen = self.settings.chosen()
        return [
            Pair(
                store=name,
                postgres=both[0],
                redis=both[1],
                redis_ttl=redis.ttl,
                transcript=self._transcript(name, chosen[name]),
                write_order=chosen[name].write_order,
                on_redis_miss=chosen[name].on_redis_miss,
            )
            for name, both in sides.items()
            if len(both) > 1 and (redis := chosen[name].redis) is not None
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
            names = ", ".join(alone or self.settings.chosen())
            raise ConfigError(
                f"{names}: not kept in both Postgres and Redis, so there is nothing to compare",
                hint="name a store with postgres and redis, or set DATABASE_URL and REDIS_URL",
            )
        return pairs

    def hit_logs(self, run: Run, files: Sequence[Path] = ()) -> list[HitLog]:
        """List the logs of the chosen stores; or `files`, which need no configuration.

        Raises:
            ConfigError: there are none.
            UsageError: files are named, and several stores.
        """
        from idemctl.run.pace import PaceName
        from idemctl.settings.logs import NamedLogs, logs_as_of, logs_of_stores
        from idemctl.stores.logs import Fields, HitLog

        if not files:
            named = list(logs_of_stores(self.settings))
        elif self._stores or self._environ.get("IDEMCTL_STORE"):
            named = [logs_as_of(self.settings, files)]
        else:
            named = [NamedLogs(files=tuple(files))]
        return [
            HitLog(
                store=one.store,
                files=one.files,
                fields=Fields(**one.fields.model_dump()),
                named_in=one.named_in,
                gentle=run.pace_name is PaceName.GENTLE,
            )
            for one in named
        ]

    def known(self) -> Iterable[Line]:
        """Tell doctor what the configuration itself says."""
        from idemctl.operations.doctor import Line
        from idemctl.state.folder import StateFolder

        settings = self.settings
        where = str(settings.file) if settings.file else "none; taken from the environment"
        yield Line(store="", about="configuration", says=where)
        for sentence in settings.assumed:
            yield Line(store="", about="assumed", says=sentence)
        usable = StateFolder(settings.state_folder).is_usable()
        says = f"{settings.state_folder} ({settings.origin('state.folder')})"
        yield Line(
            store="",
            about="state",
            says=says if usable else f"{says}: this user cannot write there",
            status=ExitStatus.OK if usable else ExitStatus.CONFIG,
            fix=None if usable else "set state.folder, or IDEMCTL_STATE, to a folder of this user",
        )

    @cached_property
    def _catalogue(self) -> Catalogue:
        return Catalogue(self.settings)

    @cached_property
    def history(self) -> History:
        """What earlier runs left behind."""
        from idemctl.state.folder import StateFolder
        from idemctl.state.history import History

        return History(StateFolder(self.settings.state_folder))

    def suspects(self) -> SuspectsFile:
        """Open a file for differences that were seen once."""
        from idemctl.state.folder import StateFolder
        from idemctl.state.suspects import SuspectsFile

        return SuspectsFile(StateFolder(self.settings.state_folder))

    def repeats(self) -> Repeats:
        """Make room for keys that several records have."""
        from idemctl.state.folder import StateFolder
        from idemctl.state.repeats import Repeats

        return Repeats(StateFolder(self.settings.state_folder))

    def journal(self, run: Run) -> FileJournal:
        """Open the journal of one run."""
        from idemctl.state.folder import StateFolder
        from idemctl.state.journal import FileJournal

        return FileJournal(StateFolder(self.settings.state_folder), run.id)

    def _transcript(self, name: str, store: StoreSettings) -> Transcript | Unsupported:
        from idemctl.layouts.transcript import transcript

        assert store.postgres is not None
        assert store.redis is not None
        try:
            return transcript(
                self._catalogue.side(name, "postgres", store.postgres.layout),
                self._catalogue.side(name, "redis", store.redis.layout),
            )
        except Unsupported as error:
            # Only who writes needs it.
            return Unsupported(f"{name}: {error.message}", hint=error.hint)

    def _sides(
        self,
        name: str,
        store: StoreSettings,
        run: Run,
        *,
        writes: bool,
        through: Layout | None = None,
    ) -> Iterable[Target]:
        from idemctl.domain.policies import Policies
        from idemctl.domain.sight import Engine
        from idemctl.layouts.sight import sight_of
        from idemctl.run.target import Target

        application = f"idemctl {run.verb} {run.id}"
        policies = Policies() if store.policies is None else self._policies(store.policies)
        if store.postgres is not None and (through is None or through.postgres is not None):
            found = through or self._catalogue.layout(
                name, "postgres", store.postgres.layout, writes=writes
            )
            layout = found.postgres
            assert layout is not None
            yield Target(
                store=name,
                opens=PostgresTableOpener(
                    dsn=self.settings.postgres_dsn(name),
                    direct_dsn=self.settings.postgres_dsn(name, direct=writes),
                    table=store.postgres.table or layout.table,
                    layout=layout,
                    application=application,
                ),
                ttl=store.ttl,
                policies=policies,
                in_progress_means=layout.in_progress_means,
                sight=sight_of(layout),
                is_never_collected=layout.never_collected == "always",
                known_faults=found.known_faults(layout),
            )
        if store.redis is not None and (through is None or through.redis is not None):
            found = through or self._catalogue.layout(
                name, "redis", store.redis.layout, writes=writes
            )
            keyspace = found.redis
            assert keyspace is not None
            yield Target(
                store=name,
                opens=RedisKeyspaceOpener(
                    url=self.settings.redis_url(name),
                    prefix=store.redis.prefix or keyspace.prefix,
                    layout=keyspace,
                    application=application,
                ),
                expires_by_itself=True,
                # Redis keeps no record longer than its own TTL says: no other ttl speaks.
                in_progress_means=keyspace.in_progress_means,
                engine=Engine.REDIS,
                sight=sight_of(keyspace),
                keeps_for=store.redis.ttl,
                known_faults=found.known_faults(keyspace),
            )

    def _policies(self, file: Path) -> Policies:
        from idemctl.settings.policies import read_policies

        return read_policies(file)

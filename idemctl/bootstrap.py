"""The one place that wires: settings become stores, targets, history and runs.

Imported by every command, so it loads nothing heavy by itself; drivers are imported when a
store is opened.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from idemctl.errors import ConfigError, ExitStatus, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from idemctl.domain.policies import Policies
    from idemctl.domain.secrets import Secret
    from idemctl.layouts.model import Layout, PostgresLayout, RedisLayout
    from idemctl.operations.doctor import Line
    from idemctl.run.run import Run
    from idemctl.run.target import Target
    from idemctl.settings import Settings, StoreSettings
    from idemctl.state.history import History
    from idemctl.state.journal import FileJournal
    from idemctl.stores.ports import Store

_PRESETS = "layouts/presets"


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresTableOpener:
    """How to open a table. See `stores.ports.Opens`."""

    dsn: Secret
    direct_dsn: Secret
    table: str
    layout: PostgresLayout
    application: str

    def open(self, *, writable: bool) -> Store:
        """See `Opens.open`."""
        from idemctl.stores.postgres.table import PostgresTable

        return PostgresTable(
            dsn=self.dsn,
            direct_dsn=self.direct_dsn,
            table=self.table,
            layout=self.layout,
            writable=writable,
            application=self.application,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisKeyspaceOpener:
    """How to open a keyspace. See `stores.ports.Opens`."""

    url: Secret
    prefix: str
    layout: RedisLayout
    application: str

    def open(self, *, writable: bool) -> Store:
        """See `Opens.open`."""
        from idemctl.stores.redis.keyspace import RedisKeyspace

        return RedisKeyspace(
            url=self.url,
            prefix=self.prefix,
            layout=self.layout,
            writable=writable,
            application=self.application,
        )


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
    def history(self) -> History:
        """What earlier runs left behind."""
        from idemctl.state.folder import StateFolder
        from idemctl.state.history import History

        return History(StateFolder(self.settings.state_folder))

    def journal(self, run: Run) -> FileJournal:
        """Open the journal of one run."""
        from idemctl.state.folder import StateFolder
        from idemctl.state.journal import FileJournal

        return FileJournal(StateFolder(self.settings.state_folder), run.id)

    def _sides(
        self, name: str, store: StoreSettings, run: Run, *, writes: bool
    ) -> Iterable[Target]:
        from idemctl.domain.policies import Policies
        from idemctl.run.target import Target

        application = f"idemctl {run.verb} {run.id}"
        policies = Policies() if store.policies is None else self._policies(store.policies)
        if store.postgres is not None:
            layout = self._side(name, "postgres", store.postgres.layout)
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
            )
        if store.redis is not None:
            keyspace = self._side(name, "redis", store.redis.layout)
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
            )

    def _policies(self, file: Path) -> Policies:
        from idemctl.settings.policies import read_policies

        return read_policies(file)

    def _side(self, name: str, engine: str, layout: str) -> Any:
        """Find one side of the layout that a store names."""
        side = getattr(self._layout(name, engine, layout), engine)
        if side is None:
            raise ConfigError(
                f"{self.settings.origin(f'stores.{name}.{engine}.layout')}: "
                f"layout {layout} does not describe {engine}",
                hint=f"choose a layout that does, or remove {engine} from the store",
            )
        return side

    def _layout(self, name: str, engine: str, layout: str) -> Layout:
        from pathlib import Path

        from idemctl.documents import read_document, read_model
        from idemctl.layouts.model import Layout

        if layout.endswith(".yaml"):
            return read_model(read_document(Path(layout)), Layout)
        if layout not in self._catalogue:
            raise ConfigError(
                f"{self.settings.origin(f'stores.{name}.{engine}.layout')}: "
                f"there is no layout {layout}",
                hint="there are: " + ", ".join(sorted(self._catalogue)) + ", or the path of a file",
            )
        return self._catalogue[layout]

    @cached_property
    def _catalogue(self) -> dict[str, Layout]:
        from idemctl.documents import parse_document, read_model, shipped
        from idemctl.layouts.model import Layout

        documents = (
            parse_document(file.read_bytes(), file=file.name) for file in shipped(_PRESETS)
        )
        layouts = (read_model(document, Layout) for document in documents)
        return {layout.layout: layout for layout in layouts}

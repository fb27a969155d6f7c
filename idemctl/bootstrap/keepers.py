"""The keepers of configured stores: where each keeps its witness and its freeze."""

from __future__ import annotations

import getpass
import socket
from typing import TYPE_CHECKING

from idemctl.bootstrap.layouts import where_of
from idemctl.bootstrap.openers import PostgresKeepingOpener, RedisKeepingOpener
from idemctl.run.keeper import Keeper
from idemctl.state.folder import StateFolder
from idemctl.state.keeping import FolderKeeping

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from idemctl.bootstrap.layouts import Catalogue
    from idemctl.run.run import Run
    from idemctl.run.target import Pair, Target
    from idemctl.settings import Settings

_NO_SCHEMA = "state.schema is not configured, so idemctl has no tables of its own"
_NO_POSTGRES = "the store has no Postgres, where its row would be"


def keepers(
    settings: Settings,
    catalogue: Catalogue,
    sides: Iterable[Target],
    pairs: Iterable[Pair],
    run: Run,
) -> Mapping[str, Keeper]:
    """Make those of the chosen stores, by name."""
    first: dict[str, Target] = {}
    for side in sides:
        first.setdefault(side.store, side)
    paired = {pair.store: pair for pair in pairs}
    return {
        name: _keeper(side, settings, catalogue, paired.get(name), run)
        for name, side in first.items()
    }


def _keeper(
    side: Target, settings: Settings, catalogue: Catalogue, pair: Pair | None, run: Run
) -> Keeper:
    name = side.store
    store = settings.stores[name]
    application = f"idemctl {run.verb} {run.id}"
    postgres = redis = None
    why = _NO_POSTGRES
    if store.postgres is not None:
        why = _NO_SCHEMA
        layout = catalogue.layouts(name, "postgres")[0].postgres
        assert layout is not None, "the catalogue looks for it"
        if settings.own_schema is not None:
            why = ""
            postgres = PostgresKeepingOpener(
                dsn=settings.postgres_dsn(name),
                schema=settings.own_schema,
                store=name,
                table=where_of(store.postgres, layout),
                epoch_column=_column(layout.epoch),
                fence_column=_column(layout.fence),
                application=application,
            )
    if store.redis is not None:
        redis = RedisKeepingOpener(
            url=settings.redis_url(name), store=name, application=application
        )
    return Keeper(
        store=name,
        who=f"{_user()}@{socket.gethostname()}",
        folder=FolderKeeping(StateFolder(settings.state_folder), name),
        postgres=postgres,
        redis=redis,
        pair=pair,
        side=side,
        why_no_witness=why,
    )


def _column(path: object) -> str | None:
    """Give the column that a path leads to; what lies deeper comes from no sequence."""
    return path if isinstance(path, str) else None


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # Containers run under numbers that no user has.
        return "somebody"

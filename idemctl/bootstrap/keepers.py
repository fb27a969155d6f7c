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
    why = _NO_POSTGRES
    if settings.stores[name].postgres is not None:
        why = "" if settings.has_witness(name) else _NO_SCHEMA
    return Keeper(
        store=name,
        who=f"{_user()}@{socket.gethostname()}",
        folder=FolderKeeping(StateFolder(settings.state_folder), name),
        postgres=in_postgres(name, settings, catalogue, run),
        redis=in_redis(name, settings, run),
        pair=pair,
        side=side,
        why_no_witness=why,
    )


def in_postgres(
    name: str, settings: Settings, catalogue: Catalogue, run: Run
) -> PostgresKeepingOpener | None:
    """Make what opens the place of one store in Postgres, where there is one."""
    store = settings.stores[name]
    if store.postgres is None or settings.own_schema is None:
        return None
    layout = catalogue.layouts(name, "postgres")[0].postgres
    assert layout is not None, "the catalogue looks for it"
    return PostgresKeepingOpener(
        dsn=settings.postgres_dsn(name),
        schema=settings.own_schema,
        store=name,
        table=where_of(store.postgres, layout),
        epoch_column=_column(layout.epoch),
        fence_column=_column(layout.fence),
        application=run.application,
    )


def in_redis(name: str, settings: Settings, run: Run) -> RedisKeepingOpener | None:
    """Make what opens the place of one store in Redis, where there is one."""
    if settings.stores[name].redis is None:
        return None
    return RedisKeepingOpener(
        url=settings.redis_url(name),
        store=name,
        has_witness=settings.has_witness(name),
        application=run.application,
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

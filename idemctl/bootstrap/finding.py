"""The stores of a run that nobody configured: what is found where the environment leads."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from idemctl.bootstrap.exploring import Explorer
from idemctl.domain.outcomes import WhyStopped
from idemctl.domain.sight import Engine
from idemctl.errors import ConfigError
from idemctl.layouts.detect import stores_of, why_no_store
from idemctl.operations.layout_detect import detect
from idemctl.run.audited import Surroundings
from idemctl.settings.model import PostgresSettings, RedisSettings, StoreSettings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from idemctl.bootstrap.layouts import Catalogue
    from idemctl.layouts.detect import Place
    from idemctl.operations.layout_detect import Outcome
    from idemctl.run.run import Run
    from idemctl.settings import Settings

_SAMPLE = 1_000
"""Keys, and rows of a table, by which layouts are told."""


def find(settings: Settings, catalogue: Catalogue, run: Run) -> tuple[Settings, Surroundings]:
    """Look through the databases, and take each place that one layout fits for a store.

    Returns:
        Settings with those stores instead of the one that the environment makes up, and what
        there is beside them.

    Raises:
        ConfigError: everything was looked through, and no layout fits anything.
    """
    # What is asked for is a name of what is yet to be found.
    everywhere = Explorer(replace(settings, asked=()), catalogue, run).exploration()
    databases, keyspaces = everywhere.databases, everywhere.keyspaces
    outcome = detect(databases, keyspaces, everywhere.layouts, run, sample=_SAMPLE)
    stores = stores_of(outcome.places)
    left_out = {
        str(place): why for place in outcome.places if (why := why_no_store(place)) is not None
    }
    if not stores and not outcome.failures and outcome.why_stopped is WhyStopped.DONE:
        raise _nothing(outcome, left_out)
    found = replace(
        settings,
        stores={name: _store(sides) for name, sides in stores.items()},
        assumed=tuple(_sentences(stores, left_out)),
    )
    return found, Surroundings(
        left_out=left_out, failures=outcome.failures, why_stopped=outcome.why_stopped
    )


def _store(sides: Sequence[Place]) -> StoreSettings:
    """Write down what a store looks like, as a file would.

    The variables are the usual ones, or libpq's own, for nothing else leads anywhere.
    """
    found = {place.engine: place for place in sides}
    table, prefix = found.get(Engine.POSTGRES), found.get(Engine.REDIS)
    return StoreSettings(
        postgres=None
        if table is None
        else PostgresSettings(layout=_layout(table), table=table.place),
        redis=None
        if prefix is None
        else RedisSettings(layout=_layout(prefix), prefix=prefix.prefix.decode() or None),
    )


def _layout(place: Place) -> str:
    return place.candidates[0].layout.layout


def _sentences(stores: dict[str, tuple[Place, ...]], left_out: dict[str, str]) -> Iterator[str]:
    yield "No configuration names a store; each place is taken for what it looks like."
    for name, sides in stores.items():
        for place in sides:
            yield f"{place} is taken for layout {_layout(place)}, as store {name}."
    for where, why in left_out.items():
        yield f"{where} {why}; it is left out. Name the right layout in idemctl.yaml."


def _nothing(outcome: Outcome, left_out: dict[str, str]) -> ConfigError:
    looked_at = f"{outcome.table_count:,} tables and {outcome.key_count:,} keys were looked at"
    said = "; ".join(f"{place} {why}" for place, why in left_out.items())
    return ConfigError(
        f"nothing to work on: {looked_at}, and no one layout fits{f': {said}' if said else ''}",
        hint="idemctl layout list shows the layouts; name yours, and where, in idemctl.yaml",
    )

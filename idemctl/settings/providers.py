"""The providers that come with idemctl: for how long each may deliver the same thing again.

The figures stand in `providers.yaml` beside this module.
"""

from __future__ import annotations

import difflib
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from idemctl.documents import parse_document, read_model, shipped_text
from idemctl.domain.horizons import Certainty, Provider
from idemctl.settings.kinds import Day, Duration

if TYPE_CHECKING:
    from collections.abc import Mapping

_FILE = "settings/providers.yaml"
_CLOSE = 3


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    provider: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,62}$")]
    product: Annotated[str, Field(min_length=1)]
    windows: Literal["unknown"] | Annotated[list[Duration], Field(min_length=1)]
    schedule: Annotated[str, Field(min_length=1)]
    key_field: Annotated[str, Field(min_length=1)]
    source: Annotated[str, Field(pattern=r"^https://\S+$")]
    checked_on: Day
    certainty: Certainty
    note: str | None = None


class _Catalogue(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    version: Literal[1]
    providers: list[_Row]


@cache
def providers() -> Mapping[str, Provider]:
    """Give every provider by its name."""
    catalogue = read_model(parse_document(shipped_text(_FILE), file=_FILE), _Catalogue)
    return MappingProxyType({row.provider: _provider(row) for row in catalogue.providers})


def find_provider(name: str) -> Provider:
    """Find a provider by its name.

    Raises:
        ValueError: there is none; it says which ones may be meant.
    """
    known = providers()
    if name in known:
        return known[name]
    # Half a name means any product of that provider: which one, only a person knows.
    meant = [one for one in known if name and name.lower() in one]
    meant = meant or difflib.get_close_matches(name.lower(), known, n=_CLOSE)
    if meant:
        raise ValueError(f"no provider has this name; did you mean {_either(meant)}?")
    raise ValueError(f"no provider has this name; known are {', '.join(known)}")


def _provider(row: _Row) -> Provider:
    return Provider(
        name=row.provider,
        product=row.product,
        windows=() if row.windows == "unknown" else tuple(row.windows),
        source=row.source,
        checked_on=row.checked_on,
        certainty=row.certainty,
        schedule=None if row.schedule == "unknown" else row.schedule,
        key_field=None if row.key_field == "none" else row.key_field,
        note=row.note,
    )


def _either(names: list[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last

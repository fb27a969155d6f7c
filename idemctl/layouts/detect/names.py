"""The names by which a layout is known: of columns, or of the members of values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from idemctl.layouts.besides import read_by

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from idemctl.layouts.model import PostgresLayout
    from idemctl.layouts.sides import Side


def needed_columns(side: PostgresLayout) -> set[str]:
    """List what a layout cannot do without: columns that are not there cannot be selected."""
    paths = {*side.paths(), side.key, side.scope} - {None}
    return {str(path[0] if isinstance(path, tuple) else path) for path in paths}


def known_names(side: Side) -> set[str]:
    """List all names that a layout has heard of, also those from which it reads nothing."""
    return read_by(side) | set(side.besides)


def explained(names: AbstractSet[str], known: AbstractSet[str]) -> float:
    """Give the share of what is there that is known, 0 to 1; 0 where there is nothing."""
    return len(names & known) / len(names) if names else 0.0

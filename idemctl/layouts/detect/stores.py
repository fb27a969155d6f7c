"""Places that were found, put together as the stores that they look like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from idemctl.domain.keys import is_text
from idemctl.domain.sight import Engine
from idemctl.layouts.detect.settling import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from idemctl.layouts.detect.places import Place


def stores_of(places: Iterable[Place]) -> dict[str, tuple[Place, ...]]:
    """Name stores by their layouts; the only table and the only prefix of one are a pair.

    Where there are several of either, nothing tells which belong together.
    """
    by_layout: dict[str, list[Place]] = {}
    for place in places:
        if why_no_store(place) is None:
            by_layout.setdefault(place.candidates[0].layout.layout, []).append(place)
    return {
        name: sides for layout, found in by_layout.items() for name, sides in _named(layout, found)
    }


def why_no_store(place: Place) -> str | None:
    """Say why a place is no store that anybody could configure as it is; `None` where it is one."""
    if place.verdict is not Verdict.FOUND:
        layouts = ", ".join(one.layout.layout for one in place.candidates)
        return f"is {place.verdict.value}: {layouts}"
    # YAML cannot hold what is no text.
    return None if is_text(place.prefix) else "has a prefix that is no text"


def _named(layout: str, found: Sequence[Place]) -> list[tuple[str, tuple[Place, ...]]]:
    engines = [place.engine for place in found]
    if sorted(engines) == sorted((Engine.POSTGRES, Engine.REDIS)):
        return [(layout, tuple(found))]
    return [
        (layout if number == 1 else f"{layout}-{number}", (place,))
        for number, place in enumerate(found, 1)
    ]

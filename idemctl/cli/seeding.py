"""What `idemctl sandbox seed` says it wrote."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from idemctl.domain.outcomes import Sheet
from idemctl.render.figures import count

if TYPE_CHECKING:
    from idemctl.sandbox.seed.manifest import Manifest

_COUNTED = ("records", "expired", "in_progress")


def seeded(manifest: Manifest) -> Iterator[dict[str, Any]]:
    """Give an item for each side of each store."""
    for store, sides in manifest.stores.items():
        for side, one in sides.items():
            yield {
                "code": "seeded",
                "store": store,
                "side": side,
                "records": one.record_count,
                "expired": one.expired_count,
                "in_progress": one.by_status.get("in_progress", 0),
            }


def seeded_sheet(manifest: Manifest, *lines: str) -> Sheet:
    """Lay the same out for people, with lines below it."""
    return Sheet(
        headings=("store", "side", "records", "expired", "in progress"),
        rows=[
            (one["store"], one["side"], *(count(one[name]) for name in _COUNTED))
            for one in seeded(manifest)
        ],
        lines=lines,
    )

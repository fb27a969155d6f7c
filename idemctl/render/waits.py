"""How long a run waited for a server, and what for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from idemctl.run.throttle import Waited


def waited_fields(waited: Waited) -> dict[str, Any]:
    """Give it as JSON has it."""
    return {
        "waited_s": round(waited.total.total_seconds(), 1),
        "waited_for": [
            {"strain": strain.value, "says": says} for strain, says in waited.reasons.items()
        ],
    }


def waited_lines(name: str, waited: Waited) -> Iterator[str]:
    """Say it to people; that nothing was waited for is no news."""
    if waited.reasons:
        why = "; ".join(waited.reasons.values())
        yield f"{name}: waited {waited.total.total_seconds():.0f} s in all: {why}"

"""The manifest: what a seed wrote, so that every other command can be held to it.

Faults are recognisable only through it: nothing in a planted key gives it away.
"""

from __future__ import annotations

import base64
import json
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from idemctl.domain.keys import escape

if TYPE_CHECKING:
    from collections.abc import Mapping

SAMPLE_SIZE = 20
"""Keys that a fault shows at most; its `count` is always whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """What one store holds on one side, Postgres or Redis."""

    by_status: Mapping[str, int]
    """Counts in the product's words: a running workflow is `in_progress`, a flag `unknown`."""
    expired_count: int
    """Records that gc must collect at the time of seeding; 0 for Redis, which does it itself."""
    protected_count: int
    """Records that gc must never collect: in progress, unfinished, undispatched."""
    byte_count: int
    """Postgres: tables with indexes on disk. Redis: names and values as sent."""

    @property
    def record_count(self) -> int:
        """All records of this side."""
        return sum(self.by_status.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedKey:
    """One key of a fault, as the client sent it or the provider assigned it."""

    key: str
    """Escaped, for people."""
    key_base64: str
    scope: str = ""

    @classmethod
    def of(cls, key: bytes, scope: str = "") -> PlantedKey:
        """Make one from the exact bytes."""
        return cls(key=escape(key), key_base64=base64.b64encode(key).decode("ascii"), scope=scope)

    @property
    def exact(self) -> bytes:
        """The bytes of the key."""
        return base64.b64decode(self.key_base64)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedFault:
    """One group of records with the same thing wrong."""

    code: str
    """The code of the audit check, or the difference, that has to name it."""
    store: str
    side: str
    """Where the fault lies: `postgres` or `redis`."""
    count: int
    sample: tuple[PlantedKey, ...]
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedSpike:
    """The storm in the log of hits."""

    series: str
    """Whose requests, in the words that `hits` has to find."""
    client: str
    endpoint: str
    started_at: datetime
    ended_at: datetime
    outcome: str
    """What its requests ended as: `replay`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """Everything that one seed wrote."""

    records: int
    """All records, planted ones included; a twin in Redis is not one more, nor is a step."""
    seed: int
    seeded_at: datetime
    """By the database's clock; every time in the stores is an offset from it."""
    stores: Mapping[str, Mapping[str, Side]]
    """By name of the store, then by side."""
    faults: tuple[PlantedFault, ...] = field(default=())
    spike: PlantedSpike | None = None
    """What was planted in the log of hits, which lies beside the manifest."""

    def to_json(self) -> str:
        """Write it as JSON, for the sandbox's folder."""
        return json.dumps(asdict(self), default=datetime.isoformat, indent=2, sort_keys=True)

    @classmethod
    def from_json(cls, text: str | bytes) -> Manifest:
        """Read back what `to_json` wrote."""
        data: dict[str, Any] = json.loads(text)
        return cls(
            records=data["records"],
            seed=data["seed"],
            seeded_at=datetime.fromisoformat(data["seeded_at"]),
            stores={
                store: {side: Side(**counts) for side, counts in sides.items()}
                for store, sides in data["stores"].items()
            },
            faults=tuple(
                PlantedFault(
                    **{**fault, "sample": tuple(PlantedKey(**key) for key in fault["sample"])}
                )
                for fault in data["faults"]
            ),
            spike=_spike(data.get("spike")),
        )


def _spike(data: dict[str, Any] | None) -> PlantedSpike | None:
    if data is None:
        return None
    instants = {name: datetime.fromisoformat(data[name]) for name in ("started_at", "ended_at")}
    return PlantedSpike(**{**data, **instants})

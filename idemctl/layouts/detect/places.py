"""What writes where, and whether that is what the configuration says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from idemctl.domain.keys import escape
from idemctl.domain.sight import Engine

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from idemctl.layouts.detect.settling import Settled, Verdict
    from idemctl.layouts.model import Layout


@dataclass(frozen=True, slots=True, kw_only=True)
class Configured:
    """What the configuration says of one side of a store."""

    store: str
    layout: str
    place: str
    """The table, or the prefix."""
    is_said: bool = True
    """Whether somebody wrote it down; what was only assumed is not held against them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A layout that fits."""

    layout: Layout
    sure: float
    """How surely it fits, 0 to 1: the share of the columns, or of the values' members, that it
    has heard of."""
    read_count: int
    """Records that it reads right,"""
    seen_count: int
    """of so many."""
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A table or a prefix, and who writes there."""

    engine: Engine
    variable: str
    place: str
    """The table as SQL names it; of a prefix, the text, with bytes that are none as `\\xNN`."""
    prefix: bytes
    verdict: Verdict
    candidates: tuple[Candidate, ...]

    def __str__(self) -> str:
        """Name it as other reports do."""
        return f"{self.engine.value} {self.place}{'*' if self.engine is Engine.REDIS else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """A side of a store that is configured as nothing there is."""

    configured: Configured
    engine: Engine
    why: str
    suggests: tuple[Place, ...]


def place_of(one: Settled, variable: str) -> Place:
    """Say of a prefix what its claims came to."""
    candidates = [
        Candidate(
            layout=claim.layout,
            sure=sum(claim.sureness.values()) / len(claim.sureness),
            read_count=count,
            seen_count=claim.named_count,
            evidence=(f"under {escape(claim.prefix)}",) if claim.prefix != one.prefix else (),
        )
        for claim, count in one.claims
    ]
    return Place(
        engine=Engine.REDIS,
        variable=variable,
        place=escape(one.prefix),
        prefix=one.prefix,
        verdict=one.verdict,
        candidates=tuple(candidates),
    )


def why_no_table(
    configured: Configured, known: Mapping[str, str], found: Sequence[Place]
) -> str | None:
    """Say what is wrong with a table that is configured; `known` are all, with their bare names."""
    table = configured.place
    places = {name for name, bare in known.items() if table in {name, bare}}
    if not places:
        return f"there is no table {table}, or this user may not read it"
    if any(one.place in places and configured.layout in layouts_of(one) for one in found):
        return None
    return f"table {table} is not read right through {configured.layout}"


def why_no_prefix(
    configured: Configured, names: Sequence[bytes], found: Sequence[Place]
) -> str | None:
    """Say what is wrong with a prefix that is configured; `names` are those of all keys."""
    prefix = configured.place.encode("utf-8", errors="surrogateescape")
    under = sum(name.startswith(prefix) for name in names)
    if not names or (not under and not prefix):
        return "there is no key at all"
    if not under:
        return f"none of {len(names):,} keys begins with {configured.place}"
    if any(
        configured.layout in layouts_of(one)
        and (one.prefix.startswith(prefix) or prefix.startswith(one.prefix))
        for one in found
    ):
        return None
    return f"keys under {configured.place or 'no prefix'} are not read through {configured.layout}"


def layouts_of(place: Place) -> Collection[str]:
    """Give the names of the layouts that fit."""
    return {candidate.layout.layout for candidate in place.candidates}

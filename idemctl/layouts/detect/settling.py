"""Claims settled: one layout for a prefix, several that fit alike, or several that share it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from idemctl.layouts.detect.claims import Claim

_SAME = 0.01
"""Claims are as sure as one another when they differ by less."""


class Verdict(StrEnum):
    """What came of the claims on one table or prefix."""

    FOUND = "found"
    AMBIGUOUS = "ambiguous"
    """Several layouts read the same records, and nothing tells which wrote them."""
    SHARED = "shared"
    """Several libraries write there, each its own records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What is known of the keys under one prefix."""

    prefix: bytes
    verdict: Verdict
    claims: tuple[tuple[Claim, int], ...]
    """Each with how many of the keys it reads best, the most first."""


def settled(claims: Sequence[Claim]) -> list[Settled]:
    """Settle claims, prefix by prefix."""
    best: dict[int, float] = {}
    for claim in claims:
        for at, sure in claim.sureness.items():
            best[at] = max(sure, best.get(at, 0.0))
    held = [
        (claim, {at for at, sure in claim.sureness.items() if sure > best[at] - _SAME})
        for claim in claims
    ]
    groups: list[list[tuple[Claim, set[int]]]] = []
    for claim, places in sorted(held, key=lambda one: (one[0].prefix, one[0].layout.layout)):
        if not places:
            continue
        ground = next((one for one in groups if _meet(claim, places, one)), None)
        if ground is None:
            groups.append([(claim, places)])
        else:
            ground.append((claim, places))
    return list(map(_settle, groups))


def _meet(claim: Claim, places: set[int], group: Iterable[tuple[Claim, set[int]]]) -> bool:
    """Whether a claim lies where others do: on the same keys, or under their prefix.

    Names without any prefix are told apart by what they look like.
    """
    return any(
        places & others or (other.prefix and claim.prefix.startswith(other.prefix))
        for other, others in group
    )


def _settle(group: Sequence[tuple[Claim, set[int]]]) -> Settled:
    # Who reads only what another one reads too, and less, is not needed to explain anything.
    needed = [
        (claim, places)
        for claim, places in group
        if not any(places < others for _, others in group)
    ]
    sole = [
        bool(places - set().union(*(others for other, others in needed if other is not claim)))
        for claim, places in needed
    ]
    if len(needed) == 1:
        verdict = Verdict.FOUND
    else:
        verdict = Verdict.SHARED if all(sole) else Verdict.AMBIGUOUS
    ranked = sorted(needed, key=lambda one: (-len(one[1]), one[0].layout.layout))
    return Settled(
        prefix=min((claim.prefix for claim, _ in needed), key=len),
        verdict=verdict,
        claims=tuple((claim, len(places)) for claim, places in ranked),
    )

"""What a layout claims of the keys that were seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from idemctl.layouts.model import Layout

LEAST = 0.5
"""A claim that is less sure than this is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Keys under one prefix, and how surely each is one of the layout's."""

    layout: Layout
    prefix: bytes
    sureness: Mapping[int, float]
    """By the key's place among those that were seen, 0 to 1."""
    named_count: int
    """How many of those have a name under the prefix as the library writes it."""

"""layout list: the layouts that come with idemctl."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from idemctl.errors import ExitStatus

if TYPE_CHECKING:
    from collections.abc import Iterable

    from idemctl.layouts.model import Layout


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """All of them, by name; listing them cannot fail."""

    layouts: tuple[Layout, ...]
    status: ExitStatus = ExitStatus.OK


def list_layouts(layouts: Iterable[Layout]) -> Outcome:
    """Put them in order: those that were tried first."""
    return Outcome(
        layouts=tuple(sorted(layouts, key=lambda one: (one.proven != "live", one.layout)))
    )

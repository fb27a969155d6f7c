"""Findings, and how bad they are: the one scale of every verb that reports some."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from idemctl.domain.keys import escape, key_fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from idemctl.domain.records import Pattern
    from idemctl.domain.shares import Interval
    from idemctl.domain.sight import Engine

MOST_SAMPLED = 5
"""Keys that a finding shows at most; its count is always whole."""


class Severity(IntEnum):
    """The four severities, in rising order, so that "at or over" is a comparison."""

    INFO = 1
    WARNING = 2
    ERROR = 3
    CRITICAL = 4

    @property
    def label(self) -> str:
        """The word of the severity in options, reports and files."""
        return self.name.lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Records of one place with the same thing wrong."""

    code: str
    severity: Severity
    store: str
    engine: Engine
    pattern: Pattern
    place: str
    count: int
    sample: tuple[Mapping[str, str], ...]
    """Some of the keys, escaped: see `sample_of`."""
    evidence: str
    why: str
    """Why it hurts; and what is known of the library that it happens to."""
    next: str
    """The command to type next."""
    share: Interval | None = None
    """Of all records, where only some were looked at; `None` where the count is exact."""


def sample_of(key: bytes, scope: bytes) -> dict[str, str]:
    r"""Show one key of a finding: escaped, in base64 where that changed it, and its scope.

    >>> sample_of(b"evt_1", b"acme"), sample_of(b"\xff", b"")
    ({'key': 'evt_1', 'scope': 'acme'}, {'key': '\\xff', 'key_base64': '/w=='})
    """
    return key_fields(key) | ({"scope": escape(scope)} if scope else {})

"""Findings that somebody answers for: who, why, and until when.

What is accepted is shown, and does not end a run with findings. An acceptance ends with its
day, and where there is more of a thing than was accepted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import date

    from idemctl.domain.findings import Finding
    from idemctl.domain.sight import Engine


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """One of them."""

    code: str
    store: str
    side: Engine | None = None
    """`None` for both."""
    at_most: int | None = None
    """So many records; with more of them it is another finding."""
    owner: str
    reason: str
    until: date
    """The last day, in UTC."""

    def speaks_of(self, finding: Finding) -> bool:
        """Tell whether it was made for such a finding, in force or not."""
        is_there = finding.store == self.store and self.side in {None, finding.engine}
        return is_there and finding.code == self.code

    def holds(self, finding: Finding, on: date) -> bool:
        """Tell whether it covers a finding on that day."""
        is_few = self.at_most is None or finding.count <= self.at_most
        return self.speaks_of(finding) and is_few and on <= self.until


def accepted(finding: Finding, acceptances: Iterable[Acceptance], on: date) -> Acceptance | None:
    """Find who answers for a finding on that day; `None` where nobody does."""
    return next((one for one in acceptances if one.holds(finding, on)), None)


def useless(
    acceptances: Iterable[Acceptance], findings: Sequence[Finding], on: date
) -> list[tuple[Acceptance, str]]:
    """List the acceptances that cover nothing, and why: they can be taken out, or renewed."""
    return [
        (one, why) for one in acceptances if (why := _why_useless(one, findings, on)) is not None
    ]


def _why_useless(one: Acceptance, findings: Sequence[Finding], on: date) -> str | None:
    found = [finding for finding in findings if one.speaks_of(finding)]
    if any(one.holds(finding, on) for finding in found):
        return None
    if not found:
        return "nothing of the kind was found"
    if on > one.until:
        return f"ended with {one.until}"
    return f"speaks of at most {one.at_most:,}, and there are {max(f.count for f in found):,}"

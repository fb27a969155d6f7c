"""What an API offers that changes something, and no policy speaks for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from idemctl.domain.findings import Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from idemctl.domain.policies import Policies

MUTATING = ("post", "put", "patch", "delete")
_EXTERNAL = re.compile(
    r"pay|charge|refund|transfer|invoice|messag|sms|whatsapp|book|reserv|e-?mail|push|notif|send",
    re.IGNORECASE,
)
"""Words for what leaves the house, and no rollback takes back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation of an API."""

    label: str
    """Method and path template, as a policy names it."""
    words: str
    """What its author calls it: id, summary and tags."""

    @property
    def is_external(self) -> bool:
        """Whether it looks like a payment, a message, a booking, an e-mail or a push."""
        return _EXTERNAL.search(f"{self.label} {self.words}") is not None

    @property
    def code(self) -> str:
        """Of the finding that no policy speaks for it."""
        kind = "external-action" if self.is_external else "operation"
        return f"{kind}-without-policy"

    @property
    def severity(self) -> Severity:
        """How bad that is."""
        return Severity.ERROR if self.is_external else Severity.WARNING


def uncovered(operations: Iterable[Operation], known: Iterable[Policies]) -> Iterator[Operation]:
    """Give the operations that no policy speaks for; what parameters are called is no matter."""
    known = list(known)
    shapes = {_shape(label) for policies in known for label in policies.endpoints}
    for one in operations:
        if _shape(one.label) not in shapes and not any(
            policies.governing(one.label) for policies in known
        ):
            yield one


def _shape(label: str) -> str:
    return re.sub(r"{[^}]*}", "{}", label)

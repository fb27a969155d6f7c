"""Freezes: somebody said that nothing is to be written to a store, until when, and why."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from idemctl.domain.keys import escape
from idemctl.errors import Frozen

LONGEST_REASON = 500
"""Letters."""
_INSTANTS = ("frozen_at", "until")


@dataclass(frozen=True, slots=True, kw_only=True)
class Freeze:
    """One freeze; each of its copies stops every verb that writes."""

    store: str
    by: str
    """Who, and from where."""
    reason: str
    run_id: str
    frozen_at: datetime
    until: datetime
    """By the store's clock: then it is over by itself."""

    def encoded(self) -> bytes:
        """Write it as JSON."""
        instants = {name: getattr(self, name).isoformat() for name in _INSTANTS}
        return json.dumps(asdict(self) | instants).encode()

    def refusal(self, place: str) -> Frozen:
        """Say to a verb that wants to write why it must not."""
        by, reason = (
            escape(said.encode(errors="surrogatepass")) for said in (self.by, self.reason)
        )
        return Frozen(
            f"{self.store}: frozen by {by} until {self.until:%Y-%m-%d %H:%M:%S} UTC: {reason} "
            f"(since {self.frozen_at:%Y-%m-%d %H:%M:%S}, says {place})",
            hint=f"when it may go on: idemctl store thaw --store {self.store} --apply",
        )


def decoded(text: bytes) -> Freeze:
    """Read what `Freeze.encoded` wrote.

    Raises:
        ValueError: it is something else.
    """
    try:
        said: dict[str, Any] = json.loads(text)
        instants = {name: datetime.fromisoformat(said[name]) for name in _INSTANTS}
        made = Freeze(**said | instants)
        texts = (made.store, made.by, made.reason, made.run_id)
        if any(one.tzinfo is None for one in instants.values()) or not all(
            isinstance(one, str) for one in texts
        ):
            raise ValueError("no text or no instant")
    except (TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ValueError("is no freeze") from error
    return made

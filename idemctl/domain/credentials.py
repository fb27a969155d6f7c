"""Credentials among the headers that records keep: named and counted, never shown."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from idemctl.domain.batch import Batch

_MARK = rb"[\s\\\"']*"
_CARRIES = re.compile(
    rb"(?<![\w-])(?P<name>authorization|proxy-authorization|cookie|set-cookie"
    rb"|x-api-key|api-key|apikey|x-auth-token|x-access-token|x-amz-security-token)"
    # In an object or a line, or in a pair, where quotes tell it from words in a row. Within JSON
    # that is a text they are escaped.
    + _MARK + rb"(?:[:=][\s\[({]*|(?<=[\"']),\s*|,(?=[\\\"']))" + _MARK +
    # What was taken out tells nothing: null, "", ***, [FILTERED], <redacted>.
    rb"(?!null\b|none\b|\*|[\[<(]|redacted|filtered|removed|masked)[^\s\\\"',;})\]]",
    re.IGNORECASE,
)  # fmt: skip
_MOST_SHOWN = 5


@dataclass(slots=True)
class Exposure:
    """What some records keep of headers; adds up batch by batch."""

    seen_count: int = 0
    """Records that were looked at."""
    count: int = 0
    """Those with any credential."""
    by_name: Counter[str] = field(default_factory=Counter)
    """How many have one in that header."""
    sample: tuple[tuple[bytes, bytes], ...] = ()
    """Keys, each with its scope."""

    def see(self, batch: Batch) -> None:
        """Look at a batch that has headers in the place of fingerprint and endpoint."""
        self.seen_count += len(batch)
        for key, scope, *headers in zip(
            batch.keys, batch.scopes, batch.fingerprints, batch.endpoints, strict=True
        ):
            names = carried(b"\n".join(headers))
            if names:
                self.count += 1
                self.by_name.update(names)
                self.sample = (*self.sample, (key, scope))[:_MOST_SHOWN]


def carried(headers: bytes) -> set[str]:
    r"""Name the headers of a text that carry a credential, in small letters.

    >>> carried(b'{"Authorization": "Bearer x", "Cookie": null}')
    {'authorization'}
    """
    return {one["name"].decode().lower() for one in _CARRIES.finditer(headers)}

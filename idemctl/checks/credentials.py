"""Credentials that lie in records, for everybody to read who may read the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from idemctl.checks.check import BOTH, Check, Source, Told
from idemctl.domain.findings import Severity
from idemctl.domain.sight import Sight

if TYPE_CHECKING:
    from idemctl.checks.check import Facts
    from idemctl.domain.credentials import Exposure


def _kept(exposure: Exposure, _facts: Facts) -> Told | None:
    if not exposure.count:
        return None
    names = ", ".join(f"{name} in {count:,}" for name, count in exposure.by_name.most_common())
    return Told(
        evidence=f"of {exposure.seen_count:,} records that were looked at: {names}",
        count=exposure.count,
        sample=exposure.sample,
    )


CREDENTIALS_STORED = Check(
    code="credentials-stored",
    severity=Severity.ERROR,
    engines=BOTH,
    needs=((Sight.HEADERS,),),
    source=Source.HEADERS,
    look=_kept,
    what="A record that keeps a header with a credential: Authorization, Cookie, Set-Cookie, an "
    "API key or a token.\n"
    "The layout says where headers lie (`request_headers`, `response_headers`); about a thousand "
    "records from all over the place are looked at, and the count is of those.\n"
    "A header without a value, or with one that was blacked out, is none.\n"
    "Names are shown and counted, and no value ever is.",
    why="Whoever may read the store, its replicas or its backups can act as the clients whose "
    "requests it remembers, for as long as a credential lasts.",
    next="idemctl layout list",
)

CHECKS = (CREDENTIALS_STORED,)

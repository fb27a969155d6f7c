"""Records that are not what they should be: broken, of another type, without a part."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from idemctl.checks.check import BOTH, BY_KEY, REDIS, Check, lengths
from idemctl.domain.findings import Severity
from idemctl.domain.keys import is_text
from idemctl.domain.records import Flaw, Status
from idemctl.domain.sight import Sight

if TYPE_CHECKING:
    from idemctl.checks.check import Facts, Gathered, Looked, Mask

_NOTHING = frozenset(
    (b"none", b"null", b"nil", b"undefined", b"nan", b"true", b"false", b"0", b"[object object]")
)
"""What languages write where there was no value, in small letters."""
_LONGEST_WORD = max(map(len, _NOTHING))
_CLOSES = {b"{": b"}", b"[": b"]"}
_SERVER_ERRORS = range(500, 600)
_FLAWS = {
    Flaw.NO_STATUS: "the status is none that the layout knows",
    Flaw.UNREADABLE: "the value is not what the layout writes",
    Flaw.TOO_LONG: "the value is too long for any record",
    Flaw.FOREIGN_NAME: "the name is none that the layout writes",
    Flaw.MISNAMED: "the value is the record of another key than the name says",
}


def _malformed(looked: Looked) -> Mask:
    batch = looked.batch
    mask: Mask = (batch.status == Status.MALFORMED) & (batch.flaw != Flaw.OTHER_TYPE)
    return mask


def _flaws(found: Gathered, _facts: Facts) -> str:
    kinds = [(Flaw(kind), count) for kind, count in found.kinds.most_common()]
    said = [_FLAWS[flaw] for flaw, _ in kinds]
    if len(kinds) > 1:
        said = [f"{one} ({count:,})" for one, (_, count) in zip(said, kinds, strict=True)]
    if Flaw.TOO_LONG in found.kinds:
        said.append(f"the longest of {found.high:,} bytes")
    return "; ".join(said)


def _of_another_type(looked: Looked) -> Mask:
    mask: Mask = looked.batch.flaw == Flaw.OTHER_TYPE
    return mask


def _without_fingerprint(looked: Looked) -> Mask:
    fingerprints = looked.batch.fingerprints
    if b"" not in fingerprints:
        return np.zeros(len(fingerprints), np.bool_)
    missing = np.fromiter((not one for one in fingerprints), np.bool_, len(fingerprints))
    return looked.settled & missing


def _no_digest(looked: Looked) -> Mask:
    """Tell which fingerprints are a word for nothing, or the request itself."""
    fingerprints = looked.batch.fingerprints
    sizes = lengths(fingerprints)
    suspect = (sizes > 0) & (sizes <= _LONGEST_WORD)
    joined = b"".join(fingerprints)
    if b"{" in joined or b"[" in joined:
        suspect = sizes > 0
    suspect &= looked.readable
    rows = np.flatnonzero(suspect)
    if len(rows):
        suspect[rows] = [is_no_digest(fingerprints[row]) for row in rows.tolist()]
    return suspect


def is_no_digest(fingerprint: bytes) -> bool:
    """Tell whether what stands for a request is a word for nothing, or the request as JSON.

    >>> is_no_digest(b"None"), is_no_digest(b'{"amount":1}'), is_no_digest(b"053b1de0efa7")
    (True, True, False)
    """
    if fingerprint.lower() in _NOTHING:
        return True
    # A digest in raw bytes may begin and end so, but is no text from end to end.
    return _CLOSES.get(fingerprint[:1]) == fingerprint[-1:] and is_text(fingerprint)


def _stored_error(looked: Looked) -> Mask:
    batch = looked.batch
    number = batch.response_status
    first, last = _SERVER_ERRORS.start, _SERVER_ERRORS.stop
    mask: Mask = (batch.status == Status.COMPLETED) & (number >= first) & (number < last)
    return mask


MALFORMED_RECORD = Check(
    code="malformed-record",
    severity=Severity.ERROR,
    engines=BOTH,
    mask=_malformed,
    measure=lambda looked: looked.batch.size,
    kind=lambda looked: looked.batch.flaw,
    evidence=_flaws,
    what="A record that fits no status of its layout, whose value is not what the layout writes "
    "or is too long to be read, or whose name is another one.\n"
    "The evidence says how many there are of each.\n"
    "No other check speaks of such a record.",
    why="Nobody can say whether the work was done, so the application answers retries by "
    "guessing; idemctl leaves such a record alone.",
    next="idemctl doctor --store {store}",
)
WRONG_TYPE = Check(
    code="wrong-type",
    severity=Severity.ERROR,
    engines=REDIS,
    mask=_of_another_type,
    evidence=lambda _found, _facts: (
        "keys that hold another type than the layout writes: a list, a set, a hash or a string"
    ),
    what="A key under the prefix that holds another type than the layout writes: a list, a hash "
    "where a string is due.",
    why="Every command of the application fails on it: a second version writes another layout "
    "under the same prefix.",
    next="idemctl doctor --store {store}",
)
FINGERPRINT_MISSING = Check(
    code="fingerprint-missing",
    severity=Severity.WARNING,
    engines=BOTH,
    patterns=BY_KEY,
    needs=((Sight.FINGERPRINT,),),
    mask=_without_fingerprint,
    evidence=lambda _found, _facts: "completed or failed, without a fingerprint of the request",
    what="Completed or failed, the layout has a fingerprint, and this record has none.",
    why="A key that is used again for another request cannot be told from a retry, and gets the "
    "stored response.",
    next="idemctl hits --store {store}",
)
FINGERPRINT_NO_DIGEST = Check(
    code="fingerprint-no-digest",
    severity=Severity.WARNING,
    engines=BOTH,
    patterns=BY_KEY,
    needs=((Sight.FINGERPRINT,),),
    mask=_no_digest,
    measure=lambda looked: lengths(looked.batch.fingerprints),
    evidence=lambda found, _: (
        f"a word for nothing, or JSON, where the fingerprint is, of {found.low:,} bytes"
        if found.low == found.high
        else "a word for nothing, or JSON, where the fingerprint is, "
        f"of {found.low:,} to {found.high:,} bytes"
    ),
    what="A fingerprint that is `None`, `null`, `undefined` or another word for nothing, or JSON "
    "itself, in braces or brackets.\n"
    "What is shown of it are its bytes in number, for it may be the whole request.",
    why="One word for all requests tells none from another; and JSON differs from an equal one by "
    "the order of its members, and keeps what a digest would hide.",
    next="idemctl hits --store {store}",
)
STORED_SERVER_ERROR = Check(
    code="stored-server-error",
    severity=Severity.CRITICAL,
    engines=BOTH,
    patterns=BY_KEY,
    needs=((Sight.RESPONSE,),),
    mask=_stored_error,
    measure=lambda looked: looked.batch.response_status,
    evidence=lambda found, _: (
        f"completed, with the response {found.low}"
        if found.low == found.high
        else f"completed, with responses from {found.low} to {found.high}"
    ),
    what="Completed, with a stored response from 500 to 599.",
    why="An outage that is over is replayed to every retry until the promise ends.",
    next="idemctl hits --store {store}",
)

CHECKS = (
    MALFORMED_RECORD,
    WRONG_TYPE,
    FINGERPRINT_MISSING,
    FINGERPRINT_NO_DIGEST,
    STORED_SERVER_ERROR,
)

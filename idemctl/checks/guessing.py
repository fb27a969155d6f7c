"""Keys that somebody else could guess, or choose again by chance."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from idemctl.checks.check import BOTH, BY_KEY, Check
from idemctl.domain.findings import Severity
from idemctl.domain.records import Pattern

if TYPE_CHECKING:
    from idemctl.checks.check import Looked, Mask

FEWEST = 8
"""Bytes of a key that is not short; a digest of 32 bits has as many."""
MOST_DIGITS = 15
"""Of a key of digits alone: what has more may be drawn by chance, or be a number for good."""
MOST_COUNTED = 9
"""Digits behind a word: more of them may be a part of a digest."""
_LONGEST_COUNTED = 20
_LONGEST_ADDRESS = 64
_NO_DIGITS = bytes(set(range(256)) - set(b"0123456789"))
_WORD = rb"(?:[A-Z]?[a-z]+|[A-Z]+)"
_COUNTED = re.compile(rb"(?P<words>(?:" + _WORD + rb"[-_:.#/ ])*)\d[\d\-_:.#/ ]*")
_ADDRESS = re.compile(rb"[a-z]+(?:[._+-][a-z]+)*\d{0,4}@[a-z0-9.-]+\.[a-z]{2,}", re.IGNORECASE)


def is_guessable(key: bytes) -> bool:
    """Tell whether a key is short, a number, a word with a number, or an address.

    >>> is_guessable(b"order-1001"), is_guessable(b"evt_1NZ4c2eZvKYlo2C7")
    (True, False)
    """
    if len(key) < FEWEST:
        return True
    if len(key) <= _LONGEST_COUNTED and (counted := _COUNTED.fullmatch(key)):
        digit_count = len(key.translate(None, _NO_DIGITS))
        return digit_count <= (MOST_COUNTED if counted["words"] else MOST_DIGITS)
    return b"@" in key and len(key) <= _LONGEST_ADDRESS and _ADDRESS.fullmatch(key) is not None


def _guessable(looked: Looked) -> Mask:
    batch = looked.batch
    # Nearly all keys are too long for all of it, and are not looked at one by one.
    suspect = looked.readable & (looked.key_lengths <= _LONGEST_COUNTED)
    if b"@" in looked.all_keys:
        suspect |= looked.readable & (looked.key_lengths <= _LONGEST_ADDRESS)
    rows = np.flatnonzero(suspect)
    if len(rows):
        keys, scopes = batch.keys, batch.scopes
        suspect[rows] = [not scopes[row] and is_guessable(keys[row]) for row in rows.tolist()]
    return suspect


KEY_GUESSABLE = Check(
    code="key-guessable",
    severity=Severity.WARNING,
    engines=BOTH,
    patterns=BY_KEY - {Pattern.URL_PATH},
    mask=_guessable,
    measure=lambda looked: looked.key_lengths,
    evidence=lambda found, _facts: (
        f"short keys, numbers or addresses, of {found.low:,} bytes"
        if found.low == found.high
        else f"short keys, numbers or addresses, of {found.low:,} to {found.high:,} bytes"
    ),
    what="A key without a scope that is shorter than 8 bytes, has digits and nothing else but "
    "fewer than 16 of them, is words with up to 9 digits behind them (`order-1001`), or is an "
    "address of e-mail.\n"
    "UUIDs, ULIDs, digests and the ids of providers are none of these; a commit's hash looks "
    "like any other digest.",
    why="Who guesses the next key takes it first, and its owner gets a stranger's response or "
    "none; and a counter that starts anew repeats them all.",
    next="idemctl hits --store {store}",
)

CHECKS = (KEY_GUESSABLE,)

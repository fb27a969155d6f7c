"""Keys that cannot do what a key is for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from idemctl.checks.check import BOTH, BY_KEY, REDIS, Check, Source
from idemctl.domain.findings import Severity
from idemctl.domain.keys import is_text
from idemctl.domain.records import Pattern
from idemctl.domain.sight import Sight

if TYPE_CHECKING:
    from idemctl.checks.check import Looked, Mask

LONGEST = 255
"""Bytes: what the providers' interfaces take, and an index entry bears."""
_UUID = re.compile(rb"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)


def _no_text(looked: Looked) -> Mask:
    keys = looked.batch.keys
    if is_text(looked.all_keys):
        return np.zeros(len(keys), np.bool_)
    return np.fromiter((not is_text(key) for key in keys), np.bool_, len(keys))


def _no_uuid(looked: Looked) -> Mask:
    keys = looked.batch.keys
    found = np.fromiter((_UUID.fullmatch(key) is None for key in keys), np.bool_, len(keys))
    return looked.readable & found


KEY_ON_TWO_ENDPOINTS = Check(
    code="key-on-two-endpoints",
    severity=Severity.ERROR,
    engines=BOTH,
    patterns=BY_KEY,
    needs=((Sight.ENDPOINT,),),
    source=Source.REPEATS,
    group=lambda batch: batch.endpoints,
    evidence=lambda _found, _facts: "keys with records of more than one endpoint",
    what="A key that has records of more than one endpoint, under one scope or under several.\n"
    "Exact whatever the size of the store: keys go to a private file in buckets, and one "
    "bucket is in memory at a time.\n"
    "Where that file would grow beyond 4 GiB, or cannot be written, this cannot be judged.\n"
    "Of a pair only Postgres is asked.",
    why="One key names two operations: a client that makes its keys badly, or somebody who "
    "tries other people's.",
    next="idemctl hits --store {store}",
)
KEY_OVERSIZED = Check(
    code="key-oversized",
    severity=Severity.WARNING,
    engines=BOTH,
    mask=lambda looked: looked.readable & (looked.key_lengths > LONGEST),
    measure=lambda looked: looked.key_lengths,
    evidence=lambda found, _: (
        f"keys of {found.low:,} bytes"
        if found.low == found.high
        else f"keys of {found.low:,} to {found.high:,} bytes"
    ),
    what="A key of more than 255 bytes.",
    why="Every index entry and every twin carries the whole key, and beyond a third of a page "
    "Postgres refuses the row.",
    next="idemctl hits --store {store}",
)
KEY_NOT_TEXT = Check(
    code="key-not-text",
    severity=Severity.ERROR,
    engines=REDIS,
    mask=_no_text,
    evidence=lambda _found, _facts: "keys that are no UTF-8, or hold a NUL",
    what="A key in Redis that is no UTF-8, or holds a NUL.\nSuch a key is no `orphan` besides.",
    why="No text column of Postgres can hold such a key, so there is nothing to fall back to "
    "when Redis is gone.",
    next="idemctl hits --store {store}",
)
PATH_WITHOUT_UUID = Check(
    code="path-without-uuid",
    severity=Severity.WARNING,
    engines=BOTH,
    patterns=frozenset({Pattern.URL_PATH}),
    mask=_no_uuid,
    evidence=lambda _found, _facts: "paths whose key is no UUID",
    what="A key cut out of a URL path that is no UUID.",
    why="A name that says what it is about is chosen twice sooner or later, and the second "
    "operation is answered with the result of the first.",
    next="idemctl hits --store {store}",
)

CHECKS = (KEY_ON_TWO_ENDPOINTS, KEY_OVERSIZED, KEY_NOT_TEXT, PATH_WITHOUT_UUID)

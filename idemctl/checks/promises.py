"""Promises and TTLs: what never ends, what ends too late, what was not taken away."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np

from idemctl.checks.check import (
    BY_KEY,
    EVERY_PATTERN,
    POSTGRES,
    REDIS,
    Check,
    between,
    micros_of,
)
from idemctl.domain.durations import format_duration
from idemctl.domain.findings import Severity
from idemctl.domain.instants import FOREVER, LAST_COUNTED, MISSING
from idemctl.domain.records import Pattern
from idemctl.domain.retention import Verdict
from idemctl.domain.sight import Sight

if TYPE_CHECKING:
    from idemctl.checks.check import Facts, Gathered, Int64, Looked, Mask

LEAST_MARGIN = timedelta(minutes=1)
MARGIN_SHARE = 10
"""A key may outlive its end by that part of its time: a write comes later than what it tells."""
MIXED_UP = (500, 1100)
"""Between so many times the configured TTL somebody took milliseconds for seconds."""


def _backlog(looked: Looked) -> Mask:
    verdicts, ends = looked.judged
    facts = looked.facts
    long_ago = facts.retention.cutoff_micros - micros_of(facts.backlog_after)
    mask: Mask = (verdicts == Verdict.EXPIRED) & (ends < long_ago)
    return mask


def _ends(looked: Looked, end: int) -> Mask:
    """Tell which records end so, though they are done and nobody means them to stay."""
    mask: Mask = looked.settled & (looked.judged[1] == end) & ~looked.batch.never_collected
    return mask


def _over_for(looked: Looked) -> Int64:
    _, ends = looked.judged
    cutoff = looked.facts.retention.cutoff_micros
    return cutoff - np.where((ends == MISSING) | (ends == FOREVER), cutoff, ends)


def _left(looked: Looked) -> Int64:
    """Give how long each key still lives; nothing for one that stays."""
    ends = looked.batch.key_expires_at
    counted = (ends != MISSING) & (ends < LAST_COUNTED)
    return np.where(counted, ends, looked.now) - looked.now


def _written(looked: Looked) -> Int64:
    """Give when each record was last written; where it does not say, now is the latest."""
    written = looked.batch.written_at
    known = (written != MISSING) & (written < LAST_COUNTED)
    return np.where(known, written, looked.now)


def _endless(looked: Looked) -> Mask:
    mask: Mask = looked.readable & (looked.batch.key_expires_at == MISSING)
    # Where patterns have claims, those have a check of their own.
    return mask & ~looked.claimed if looked.facts.pattern in BY_KEY else mask


def _until(looked: Looked, written: Int64) -> Int64:
    """Give by when each key has to be gone; FOREVER where nothing says."""
    batch, facts = looked.batch, looked.facts
    until = np.full(len(batch), FOREVER, np.int64)
    if Sight.EXPIRY in facts.sight:
        until = np.where(batch.expires_at == MISSING, FOREVER, batch.expires_at)
    if facts.keeps_for is not None:
        until = np.minimum(until, written + micros_of(facts.keeps_for))
    return np.where(looked.claimed, np.maximum(until, batch.lease_until), until)


def _outlives(looked: Looked) -> Mask:
    written = _written(looked)
    until = _until(looked, written)
    counted = until < LAST_COUNTED
    until = np.where(counted, until, written)
    margin = np.maximum((until - written) // MARGIN_SHARE, micros_of(LEAST_MARGIN))
    late = looked.batch.key_expires_at > until + margin
    mask: Mask = late & counted & looked.readable & ~_mixed_up(looked)
    return mask


def _mixed_up(looked: Looked) -> Mask:
    keeps_for = looked.facts.keeps_for
    if keeps_for is None:
        return np.zeros(len(looked.batch), np.bool_)
    lives_for = looked.now + _left(looked) - _written(looked)
    least, most = (times * micros_of(keeps_for) for times in MIXED_UP)
    ends = looked.batch.key_expires_at != MISSING
    mask: Mask = (lives_for > least) & (lives_for < most) & looked.readable & ends
    return mask


def _allowed(facts: Facts) -> str:
    if facts.keeps_for is None:
        return "the record's own promise ends earlier"
    return f"the configuration keeps it for {format_duration(facts.keeps_for)} after a write"


def _beyond(found: Gathered, facts: Facts) -> str:
    return f"keys that live for another {between(found)}; {_allowed(facts)}"


EXPIRY_MISSING = Check(
    code="expiry-missing",
    severity=Severity.WARNING,
    engines=POSTGRES,
    needs=((Sight.EXPIRY, Sight.TTL),),
    mask=lambda looked: _ends(looked, MISSING),
    evidence=lambda _found, _facts: "completed or failed, and nothing says when it expires",
    what="Completed or failed, and neither the record nor a policy nor the store's `ttl` says "
    "when it ends.",
    why="No cleanup ever finds such a row, so the table grows for good.",
    next="idemctl gc --store {store}",
)
EXPIRY_INFINITE = Check(
    code="expiry-infinite",
    severity=Severity.WARNING,
    engines=POSTGRES,
    needs=((Sight.EXPIRY, Sight.TTL),),
    mask=lambda looked: _ends(looked, FOREVER),
    evidence=lambda _found, _facts: "completed or failed, with an expiry that never comes",
    what="Completed or failed, with an expiry of `infinity`.",
    why="A promise without end is never collected, and many drivers cannot even read it.",
    next="idemctl gc --store {store}",
)
EXPIRED_BACKLOG = Check(
    code="expired-backlog",
    severity=Severity.WARNING,
    engines=POSTGRES,
    needs=((Sight.EXPIRY, Sight.TTL),),
    mask=_backlog,
    measure=_over_for,
    evidence=lambda found, facts: (
        f"expired for {between(found)}; "
        f"collection is late after {format_duration(facts.backlog_after)}"
    ),
    what="What `gc` would collect, and could have collected for longer than `--backlog-after`, "
    "a day if nothing else is said.\n"
    "Records that the layout says are never collected are none of these, and neither "
    "`expiry-missing` nor `expiry-infinite`.\n"
    "Ten or twenty hours past the promise are normal where gc runs once a day.",
    why="Collection has stopped or cannot keep up: the table grows, and retries are answered "
    "long after their promise.",
    next="idemctl gc --store {store}",
)
RECORD_WITHOUT_TTL = Check(
    code="record-without-ttl",
    severity=Severity.WARNING,
    engines=REDIS,
    needs=((Sight.KEY_TTL,),),
    mask=_endless,
    evidence=lambda _found, _facts: "keys that never expire",
    what="A key without TTL.\nOf work in progress that is a `claim-without-ttl`.",
    why="Redis keeps them until its memory is full, and then evicts keys that are still needed; "
    "until then every retry gets an answer that nobody promised.",
    next="idemctl reconcile --store {store}",
    next_alone="idemctl policy check",
)
TTL_BEYOND_POLICY = Check(
    code="ttl-beyond-policy",
    severity=Severity.WARNING,
    engines=REDIS,
    patterns=EVERY_PATTERN - {Pattern.BODY_HASH},
    needs=((Sight.KEY_TTL,), (Sight.TTL, Sight.EXPIRY)),
    mask=_outlives,
    measure=_left,
    evidence=_beyond,
    what="A key that lives on after it has to be gone: after the earlier of the promise in its "
    "record and `redis.ttl` counted from the last write.\n"
    "A tenth of that time, and a minute at the least, is no finding, for a write comes "
    "later than what it tells.\n"
    "Where a record does not say when it was written, what is left to live may not be more "
    "than `redis.ttl`.",
    why="A key that is used again after its promise is answered with a result from long ago, "
    "and memory is held for nothing.",
    next="idemctl reconcile --store {store}",
    next_alone="idemctl policy check",
)
TTL_UNIT_MIX_UP = Check(
    code="ttl-unit-mix-up",
    severity=Severity.ERROR,
    engines=REDIS,
    needs=((Sight.KEY_TTL,), (Sight.TTL,)),
    mask=_mixed_up,
    measure=_left,
    evidence=lambda found, facts: (
        f"keys that live for another {between(found)}, about a thousand times as long as they "
        f"should; {_allowed(facts)}"
    ),
    what="A key that lives 500 to 1,100 times as long as `redis.ttl` says.",
    why="Milliseconds were passed where seconds are meant: the next key written that way stays "
    "as long.",
    next="idemctl reconcile --store {store}",
    next_alone="idemctl policy check",
)
BODY_HASH_OUTLIVES_WINDOW = Check(
    code="body-hash-outlives-window",
    severity=Severity.ERROR,
    engines=REDIS,
    patterns=frozenset({Pattern.BODY_HASH}),
    needs=((Sight.KEY_TTL,), (Sight.TTL,)),
    mask=_outlives,
    measure=_left,
    evidence=_beyond,
    what="A digest that lives longer than its window, which is `redis.ttl`, by more than a tenth.",
    why="After the window an equal body is a new delivery, and it is dropped as a replay.",
    next="idemctl policy check",
)

CHECKS = (
    EXPIRY_MISSING,
    EXPIRY_INFINITE,
    EXPIRED_BACKLOG,
    RECORD_WITHOUT_TTL,
    TTL_BEYOND_POLICY,
    TTL_UNIT_MIX_UP,
    BODY_HASH_OUTLIVES_WINDOW,
)

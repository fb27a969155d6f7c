"""Keys in Redis of work in progress: for how long a crash would turn every retry away."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np

from idemctl.checks.check import BY_KEY, REDIS, Check, Source, about, between, micros_of
from idemctl.domain.durations import format_duration
from idemctl.domain.findings import Severity
from idemctl.domain.instants import LAST_COUNTED, MISSING
from idemctl.domain.sight import Sight

if TYPE_CHECKING:
    from idemctl.checks.check import Facts, Gathered, Int64, Looked, Mask

SHORT_ENOUGH = timedelta(hours=1)
"""A claim that ends so soon is no result's: work takes its time."""


def _endless(looked: Looked) -> Mask:
    mask: Mask = looked.claimed & (looked.batch.key_expires_at == MISSING)
    return mask


def _age(looked: Looked) -> Int64:
    began = looked.batch.counted_from
    return np.where((began != MISSING) & (began < looked.now), looked.now - began, 0)


def _never_ends(found: Gathered, _facts: Facts) -> str:
    said = "in progress, and the key never expires"
    return f"{said}; the oldest began {about(found.high)} ago" if found.high else said


def _ends(looked: Looked) -> Int64:
    """Give when retries are no longer turned away, though nobody does the work."""
    batch = looked.batch
    bound = np.maximum(batch.lease_until, batch.due_at)
    return np.where(bound == MISSING, batch.key_expires_at, bound)


def _left(looked: Looked) -> Int64:
    ends = _ends(looked)
    return np.where((ends != MISSING) & (ends < LAST_COUNTED), ends, looked.now) - looked.now


def _kept_like_a_result(looked: Looked) -> Mask:
    batch, keeps_for = looked.batch, looked.facts.keeps_for
    if keeps_for is None or not looked.claimed.any():
        return np.zeros(len(batch), np.bool_)
    left = _left(looked)
    # A lease is renewed, and so its beginning says nothing of its length.
    has_lease = np.maximum(batch.lease_until, batch.due_at) != MISSING
    length = left + np.where(has_lease, 0, _age(looked))
    long = (left > micros_of(SHORT_ENOUGH)) & (length > micros_of(keeps_for) // 2)
    mask: Mask = looked.claimed & long & (batch.key_expires_at != MISSING)
    if Sight.LEASE in looked.facts.sight:
        # One without the lease that it should have is named by that.
        mask &= batch.lease_until != MISSING
    return mask


def _turned_away(found: Gathered, facts: Facts) -> str:
    assert facts.keeps_for is not None, "without it there was nothing to compare with"
    return (
        f"in progress, and the claim lasts for another {between(found)}; "
        f"a result is kept for {format_duration(facts.keeps_for)}"
    )


CLAIM_WITHOUT_TTL = Check(
    code="claim-without-ttl",
    severity=Severity.ERROR,
    engines=REDIS,
    patterns=BY_KEY,
    needs=((Sight.STATUS,), (Sight.KEY_TTL,)),
    mask=_endless,
    measure=_age,
    evidence=_never_ends,
    what="A key without TTL whose work is in progress, or a lock without TTL.\n"
    "Such a key is no `record-without-ttl` besides.",
    why="Its owner crashed between writing the key and giving it an end, or never gives it one: "
    "every retry is turned away for good.",
    next="idemctl diagnose --store {store}",
)
IN_PROGRESS_TTL_TOO_LONG = Check(
    code="in-progress-ttl-too-long",
    severity=Severity.WARNING,
    engines=REDIS,
    patterns=BY_KEY,
    needs=((Sight.STATUS,), (Sight.KEY_TTL,), (Sight.TTL,)),
    mask=_kept_like_a_result,
    measure=_left,
    evidence=_turned_away,
    what="In progress, and nothing ends that sooner than it ends a result: the lease or the "
    "deadline (`due:`), and where the layout has neither the key itself, lasts for more than "
    "half of `redis.ttl`, and for more than another hour.\n"
    "Of a key the time since the work began counts, too; a lease may have been renewed.",
    why="When the owner crashes, every retry is told for all that time that the work is still "
    "running.",
    next="idemctl diagnose --store {store}",
)

LOCK_OUTLIVES_RECORD = Check(
    code="lock-outlives-record",
    severity=Severity.WARNING,
    engines=REDIS,
    source=Source.LOCKS,
    evidence=lambda _found, _facts: "a lock is held, and the work is done",
    what="A lock beside the record of the same key, both there at two looks two seconds apart, and "
    "the lock the same.\n"
    "Only of layouts whose locks are keys of their own (`lock`); a lock without a record is work "
    "in progress, and too long when it is a `claim-without-ttl` or `in-progress-ttl-too-long`.\n"
    "The lock that a retry takes for a moment is none of these.",
    why="Its owner did not give it back: every retry is told that the work is still running, "
    "though the result is there.",
    next="idemctl diagnose --store {store}",
)

CHECKS = (CLAIM_WITHOUT_TTL, IN_PROGRESS_TTL_TOO_LONG, LOCK_OUTLIVES_RECORD)

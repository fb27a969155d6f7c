"""What ends before the promise which it keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from idemctl.checks.check import BY_KEY, POSTGRES, REDIS, Check, between, micros_of
from idemctl.checks.clocks import mixed_up
from idemctl.checks.promises import LEAST_MARGIN, MARGIN_SHARE
from idemctl.domain.findings import Severity
from idemctl.domain.instants import FOREVER, LAST_COUNTED, MISSING
from idemctl.domain.retention import policy_promise_ends
from idemctl.domain.sight import Sight

if TYPE_CHECKING:
    from idemctl.checks.check import Int64, Looked, Mask


def _owed_until(looked: Looked) -> Int64:
    """Give until when each key has to be there; `MISSING` where nothing says."""
    batch, facts = looked.batch, looked.facts
    policy = policy_promise_ends(batch, facts.policy_ttls)
    # A record that has no end of its own was read with that of its key.
    has_own = Sight.EXPIRY in facts.sight
    promised = batch.expires_at if has_own else np.full(len(batch), MISSING, np.int64)
    if facts.is_paired:
        promised = np.maximum(promised, policy)
    kept = _kept_until(looked)
    owed = np.where(promised == MISSING, kept, np.minimum(promised, kept))
    if not facts.is_paired:
        # Nothing else keeps what a policy promises.
        owed = np.maximum(np.where(owed < LAST_COUNTED, owed, MISSING), policy)
    return np.where(owed < LAST_COUNTED, owed, MISSING)


def _kept_until(looked: Looked) -> Int64:
    """Give until when Redis keeps each record, by the configuration."""
    batch, facts = looked.batch, looked.facts
    if facts.keeps_for is None:
        # Of a pair, Postgres may be meant to keep all of the promise.
        return np.full(len(batch), MISSING if facts.is_paired else FOREVER, np.int64)
    written = batch.written_at
    counted = (written != MISSING) & (written < LAST_COUNTED)
    return np.where(counted, np.where(counted, written, 0) + micros_of(facts.keeps_for), MISSING)


def _too_early(looked: Looked) -> Int64:
    """Give by how much each key ends too early; nothing where that is within the margin."""
    batch, owed = looked.batch, _owed_until(looked)
    judged = looked.settled & (owed != MISSING) & (batch.key_expires_at != MISSING)
    owed = np.where(judged, owed, 0)
    early = owed - np.where(judged, batch.key_expires_at, 0)
    written = batch.written_at
    since = np.where(judged & (written != MISSING) & (written < owed), written, looked.now)
    margin = np.maximum((owed - since) // MARGIN_SHARE, micros_of(LEAST_MARGIN))
    return np.where(early > margin, early, 0)


def _under_policy(looked: Looked) -> Int64:
    """Give by how much each stored expiry ends before what a policy promises."""
    batch = looked.batch
    promised = policy_promise_ends(batch, looked.facts.policy_ttls)
    judged = looked.settled & (promised != MISSING) & (batch.expires_at != MISSING)
    judged &= (promised < LAST_COUNTED) & ~batch.never_collected
    early = np.where(judged, promised, 0) - np.where(judged, batch.expires_at, 0)
    return np.where(early > micros_of(LEAST_MARGIN), early, 0)


def _below_policy(looked: Looked) -> Mask:
    if not looked.facts.policy_ttls:
        return np.zeros(len(looked.batch), np.bool_)
    mask: Mask = _under_policy(looked) > 0
    return mask & ~mixed_up(looked) if mask.any() else mask


def _too_short(looked: Looked) -> Mask:
    mask: Mask = _too_early(looked) > 0
    return mask & ~mixed_up(looked) if mask.any() else mask


KEY_ENDS_TOO_EARLY = Check(
    code="key-ends-too-early",
    severity=Severity.ERROR,
    engines=REDIS,
    patterns=BY_KEY,
    needs=((Sight.KEY_TTL,), (Sight.TTL, Sight.POLICY, Sight.EXPIRY), (Sight.AGE, Sight.EXPIRY)),
    mask=_too_short,
    measure=_too_early,
    evidence=lambda found, _facts: f"keys that end {between(found)} before what was promised",
    what="Completed or failed, and the key ends earlier than it has to be kept: until the promise "
    "in the record is over, and at the longest for `redis.ttl` from the last write.\n"
    "Where a policy promises more for the endpoint, that counts; but of a pair a key may always "
    "end with `redis.ttl`, for Postgres keeps the rest.\n"
    "A tenth of that time, and a minute at the least, is no finding; where a thousandth is left, "
    "seconds were passed where milliseconds are meant.",
    why="A retry that comes after that is taken for a new request, and carried out again where "
    "nothing else remembers it.",
    next="idemctl reconcile --store {store}",
    next_alone="idemctl policy check",
)

EXPIRES_BEFORE_POLICY = Check(
    code="expires-before-policy",
    severity=Severity.WARNING,
    engines=POSTGRES,
    patterns=BY_KEY,
    needs=((Sight.EXPIRY,), (Sight.ENDPOINT,), (Sight.AGE,)),
    mask=_below_policy,
    measure=_under_policy,
    evidence=lambda found, _facts: f"expiries that are {between(found)} before what a policy says",
    what="Completed or failed, and the expiry in the record comes more than a minute before the "
    "end of what a policy promises for its endpoint.\n"
    "`gc` keeps such a record for as long as the policy says; who goes by the expiry does not.",
    why="The application, or a cleanup of its own, takes the record for over, and carries out a "
    "retry that was promised the first result.",
    next="idemctl policy check",
)

CHECKS = (KEY_ENDS_TOO_EARLY, EXPIRES_BEFORE_POLICY)

"""Clocks that disagree, and instants that cannot be: of another unit, or out of order."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np

from idemctl.checks.check import BOTH, REDIS, Check, Source, Told, between, micros_of
from idemctl.domain.differences import SKEW
from idemctl.domain.findings import Severity
from idemctl.domain.instants import LAST_COUNTED, MISSING
from idemctl.domain.sight import Sight

if TYPE_CHECKING:
    from idemctl.checks.check import Facts, Gathered, Int64, Looked, Mask
    from idemctl.domain.skew import Skew

MIXED_UP = (500, 2_000_000)
"""By so many times an instant is off whose unit is another one: a thousand times or a million."""
MARGIN = timedelta(minutes=1)
"""How far the clocks of two hosts may be apart."""
_COLUMNS = ("counted_from", "completed_at", "expires_at", "lease_until", "due_at")
_YEAR = timedelta(days=365, hours=6)


def mixed_up(looked: Looked) -> Mask:
    """Tell which records have an instant in another unit than its neighbours."""
    mask = np.zeros(len(looked.batch), np.bool_)
    for name in _COLUMNS:
        mask |= _off(looked, name)
    return mask & looked.readable


def _off(looked: Looked, name: str) -> Mask:
    least, most = MIXED_UP
    column: Int64 = getattr(looked.batch, name)
    # Zero is how some write that there is none, and far from 1970 no unit explains anything.
    early = (column > looked.now // most) & (column < looked.now // least)
    late = (column > looked.now * least) & (column < LAST_COUNTED)
    # Where a record says nothing of its end, the column has that of the key, which is Redis's.
    own: Mask = (early | late) & (column != looked.batch.key_expires_at)
    return own


def _years(looked: Looked) -> Int64:
    years = np.zeros(len(looked.batch), np.int64)
    for name in _COLUMNS:
        column: Int64 = getattr(looked.batch, name)
        off = _off(looked, name)
        years = np.where(off, 1970 + column // micros_of(_YEAR), years)
    return years


def _told(found: Gathered, _facts: Facts) -> str:
    low, high = f"{found.low}", f"{found.high}"
    return f"instants of the year {low}" if low == high else f"instants from {low} to {high}"


def _before_it_began(looked: Looked) -> Int64:
    """Give by how much a record's end lies before its beginning; nothing where it does not."""
    batch = looked.batch
    began = batch.counted_from
    counted = (began != MISSING) & (began < LAST_COUNTED)
    early = np.zeros(len(batch), np.int64)
    for ends in (batch.completed_at, batch.expires_at):
        # Before 1970 there is no clock, and zero is how some put an end to a promise.
        known = counted & (ends > 0) & (ends != batch.key_expires_at) & (ends < began)
        early = np.maximum(early, np.where(known, began, 0) - np.where(known, ends, 0))
    return early


def _out_of_order(looked: Looked) -> Mask:
    early = _before_it_began(looked) > micros_of(MARGIN)
    # A claim that was taken over may keep what its last owner wrote.
    return looked.settled & early & ~mixed_up(looked) if early.any() else early


def _apart(skew: Skew, _facts: Facts) -> Told | None:
    if skew.size <= SKEW:
        return None
    return Told(evidence=f"the clock of Redis is {skew.seen_from('that of Postgres')}")


INSTANTS_IN_MIXED_UNITS = Check(
    code="instants-in-mixed-units",
    severity=Severity.ERROR,
    engines=BOTH,
    needs=((Sight.AGE, Sight.EXPIRY, Sight.LEASE, Sight.DUE),),
    mask=mixed_up,
    measure=_years,
    evidence=_told,
    what="A record with an instant that is a thousand or a million times what it should be, or "
    "that part of it: in the first weeks of 1970, or tens of thousands of years ahead.\n"
    "Such a record is neither `times-out-of-order` nor `key-ends-too-early` besides.",
    why="One place in the application writes another unit than the others read: what it writes "
    "is over at once, or never.",
    next="idemctl doctor --store {store}",
)
TIMES_OUT_OF_ORDER = Check(
    code="times-out-of-order",
    severity=Severity.ERROR,
    engines=BOTH,
    needs=((Sight.AGE,),),
    mask=_out_of_order,
    measure=_before_it_began,
    evidence=lambda found, _facts: (
        f"completed, or promised until, {between(found)} before it began"
    ),
    what="Completed or failed, and the end of the work, or of the promise, lies more than a "
    "minute before the instant from which the promise counts.",
    why="Clocks disagree, or a zone was lost on the way: promises that are counted from such an "
    "instant end too early or too late.",
    next="idemctl doctor --store {store}",
)

CLOCKS_APART = Check(
    code="clocks-apart",
    severity=Severity.ERROR,
    engines=REDIS,
    source=Source.CLOCKS,
    look=_apart,
    what="A pair whose clocks are more than two seconds apart, at the least: that of Postgres is "
    "read before and after that of Redis.\n"
    "Such a pair is not compared, and `reconcile` refuses it.",
    why="A promise ends at another moment in each store, and a lease that one of them calls over "
    "is still held for the other.",
    next="idemctl doctor --store {store}",
)

CHECKS = (INSTANTS_IN_MIXED_UNITS, TIMES_OUT_OF_ORDER, CLOCKS_APART)

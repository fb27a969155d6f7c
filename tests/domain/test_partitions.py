"""Which partitions lie wholly in the past: never one in which a promise may still hold."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from idemctl.domain.partitions import Partition, past_partitions
from idemctl.domain.retention import Retention

CUTOFF = datetime(2026, 12, 1, tzinfo=UTC)
DAY = timedelta(days=1)
MICROSECOND = timedelta(microseconds=1)
POLICIES = {b"a": DAY, b"b": 30 * DAY}


def is_past(until: datetime, *, stored: bool, **promised: object) -> bool:
    one = Partition(
        name="p",
        until=until,
        row_estimate=None,
        detach="",
        is_concurrent=True,
        count_kept="",
    )
    retention = Retention(cutoff=CUTOFF, has_stored_expiry=stored, **promised)  # type: ignore[arg-type]
    return past_partitions([one], retention) == (one,)


@pytest.mark.parametrize(
    ("stored", "promised", "last"),
    [
        (True, {}, CUTOFF),
        # Where records carry their end, the store's ttl says nothing.
        (True, {"ttl": 90 * DAY}, CUTOFF),
        (False, {"ttl": 7 * DAY}, CUTOFF - 7 * DAY),
        (False, {"ttl": 7 * DAY, "policy_ttls": POLICIES}, CUTOFF - 30 * DAY),
        (False, {"ttl": 90 * DAY, "policy_ttls": POLICIES}, CUTOFF - 90 * DAY),
    ],
)
def test_a_partition_is_past_from_the_microsecond_on_at_which_its_last_promise_ended(
    stored: bool, promised: dict[str, object], last: datetime
) -> None:
    assert is_past(last, stored=stored, **promised)
    assert not is_past(last + MICROSECOND, stored=stored, **promised)


@pytest.mark.parametrize(
    ("stored", "promised"),
    [
        (True, {"policy_ttls": {b"a": DAY}}),
        (False, {}),
        (False, {"policy_ttls": {b"a": DAY}}),
        (False, {"ttl": timedelta.max}),
    ],
    ids=["a policy may keep longer", "nothing ends", "some never end", "an endless ttl"],
)
def test_no_partition_is_past_where_its_bound_ends_no_promise(
    stored: bool, promised: dict[str, object]
) -> None:
    assert not is_past(datetime(1970, 1, 1, tzinfo=UTC), stored=stored, **promised)

"""The overview of a place: counts, ages, sizes, and what gc would collect."""

from __future__ import annotations

from datetime import timedelta

from idemctl.checks.overview import Overview
from idemctl.domain.instants import FOREVER, MISSING, to_micros
from idemctl.domain.records import Status
from tests.checks.places import DAY, HOUR, POSTGRES, REDIS, examined
from tests.checks.test_keys import HEALTHY
from tests.domain.batches import NOW


def test_batches_add_up() -> None:
    old, new = to_micros(NOW - timedelta(days=9)), to_micros(NOW - timedelta(hours=1))
    made = examined(
        POSTGRES,
        HEALTHY | {"counted_from": old, "completed_at": MISSING, "size": 100},
        HEALTHY | {"completed_at": new, "size": 50, "status": Status.FAILED},
        HEALTHY | {"counted_from": MISSING, "completed_at": FOREVER, "size": 7},
    ).overview
    assert (made.seen_count, made.size) == (3, 157)
    assert (made.oldest, made.newest) == (NOW - timedelta(days=9), NOW - timedelta(hours=1))
    assert (made.by_status[Status.COMPLETED], made.by_status[Status.FAILED]) == (2, 1)


def test_what_gc_would_collect_is_counted_and_nothing_that_redis_removes() -> None:
    over = HEALTHY | {"expires_at": to_micros(NOW - timedelta(seconds=HOUR))}
    owned = over | {"status": Status.IN_PROGRESS}
    live = HEALTHY | {"expires_at": to_micros(NOW + timedelta(seconds=DAY))}
    assert examined(POSTGRES, over, owned, live).overview.expired_count == 1
    assert examined(REDIS, live).overview.expired_count == 0


def test_of_what_was_not_looked_at_nothing_is_known() -> None:
    assert (Overview().oldest, Overview().newest, Overview().seen_count) == (None, None, 0)


def test_it_knows_whose_records_most_are() -> None:
    mine = HEALTHY | {"scopes": b"acme", "endpoints": b"POST /a"}
    seen = examined(
        POSTGRES, mine, mine, HEALTHY | {"scopes": b"", "endpoints": b"POST /b"}
    ).overview
    assert (seen.scopes.most(3), seen.scopes.named) == ([(b"acme", 2)], 2)
    assert seen.endpoints.most(3) == [(b"POST /a", 2), (b"POST /b", 1)]

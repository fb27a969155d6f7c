"""How a sample of records looks through a layout, on batches made by hand."""

from __future__ import annotations

from idemctl.domain.fit import Fit
from idemctl.domain.instants import FOREVER, LONG_PAST, MISSING
from idemctl.domain.records import Flaw, Status
from tests.domain.batches import NOW, at, batch

YEAR = 365 * 86_400


def test_batches_add_up() -> None:
    fit = Fit(now=NOW)
    fit.see(batch({"expires_at": at(60), "fence": 3, "scopes": b"a"}, {}))
    fit.see(batch({"status": Status.MALFORMED, "flaw": Flaw.UNREADABLE}, {"status": Status.FAILED}))
    assert (fit.seen, fit.by_flaw) == (4, {Flaw.UNREADABLE: 1})
    assert fit.by_status == dict.fromkeys(Status, 0) | {
        Status.COMPLETED: 2, Status.MALFORMED: 1, Status.FAILED: 1,
    }  # fmt: skip
    assert (fit.filled["expires_at"], fit.filled["fence"], fit.filled["scopes"]) == (1, 1, 1)
    assert (fit.filled["endpoints"], fit.filled["never_collected"]) == (0, 0)
    fit.see(batch({"never_collected": True}))
    assert fit.filled["never_collected"] == 1
    assert fit.never([Status.IN_PROGRESS, Status.FAILED]) == [Status.IN_PROGRESS]


def test_an_instant_a_century_away_counts_another_unit() -> None:
    fit = Fit(now=NOW)
    fit.see(batch(*({"expires_at": at(years * YEAR)} for years in (-99, 99, -101, 101))))
    assert fit.absurd["expires_at"] == 2
    # What has no end, or none that counts, is no wrong one.
    fit.see(batch(*({"expires_at": one} for one in (MISSING, FOREVER))))
    assert fit.absurd["expires_at"] == 2
    fit.see(batch({"lease_until": LONG_PAST}))
    assert fit.absurd["lease_until"] == 1


def test_it_is_off_where_something_is_read_wrong_or_nothing_at_all() -> None:
    fit = Fit(now=NOW)
    assert fit.is_off
    fit.see(batch({"expires_at": at(60)}))
    assert not fit.is_off
    fit.see(batch({"status": Status.MALFORMED}))
    assert fit.is_off

"""What a sight is enough for, and what is said where it is not."""

from __future__ import annotations

import pytest

from idemctl.domain.sight import (
    Engine,
    Extent,
    FailureMode,
    Sight,
    blindness,
    lacking,
    remedy,
    view,
)

ALL = frozenset(Sight)


def test_of_each_group_one_is_enough() -> None:
    needs = ((Sight.STATUS,), (Sight.LEASE, Sight.DUE))
    assert lacking(needs, {Sight.STATUS, Sight.DUE}) == ()
    assert lacking(needs, {Sight.LEASE}) == (Sight.STATUS,)
    assert lacking(needs, set()) == (Sight.STATUS, Sight.LEASE)


@pytest.mark.parametrize("mode", FailureMode)
def test_who_sees_everything_can_cure_everything(mode: FailureMode) -> None:
    assert view(mode, ALL).extent is Extent.CURABLE
    assert view(mode, ALL).lacks == ()


@pytest.mark.parametrize("mode", FailureMode)
def test_who_sees_nothing_is_blind_but_for_a_store_that_does_not_answer(mode: FailureMode) -> None:
    extent = Extent.SEEN if mode is FailureMode.STORE_UNAVAILABLE else Extent.BLIND
    assert view(mode, frozenset()).extent is extent
    assert view(mode, frozenset()).lacks


@pytest.mark.parametrize(
    ("mode", "sight", "extent", "lacks"),
    [
        (FailureMode.KEY_COLLISION, {Sight.FINGERPRINT}, Extent.SEEN,
         (Sight.ENDPOINT, Sight.CLIENT)),
        (FailureMode.CRASH_MID_WRITE, {Sight.STATUS}, Extent.BLIND, (Sight.LEASE,)),
        (FailureMode.CRASH_MID_WRITE, {Sight.STATUS, Sight.LEASE}, Extent.SEEN, (Sight.VERSION,)),
        (FailureMode.CRASH_MID_WRITE, {Sight.STATUS, Sight.DUE}, Extent.CURABLE, ()),
        (FailureMode.EXPIRED_BEFORE_RETRY, {Sight.KEY_TTL}, Extent.SEEN, (Sight.ENDPOINT,)),
        (FailureMode.CROSS_REGION_LAG, {Sight.TWIN}, Extent.BLIND, (Sight.VERSION,)),
        (FailureMode.MALICIOUS_REUSE, {Sight.FINGERPRINT, Sight.SCOPE}, Extent.CURABLE, ()),
        (FailureMode.STORE_DATA_LOSS, {Sight.AGE}, Extent.BLIND, (Sight.TWIN,)),
        (FailureMode.STORE_DATA_LOSS, {Sight.AGE, Sight.TWIN}, Extent.CURABLE, ()),
    ],
)  # fmt: skip
def test_a_mode_is_as_visible_as_its_needs(
    mode: FailureMode, sight: set[Sight], extent: Extent, lacks: tuple[Sight, ...]
) -> None:
    seen = view(mode, sight)
    assert (seen.extent, seen.lacks) == (extent, lacks)


def test_a_reason_speaks_the_words_of_the_store() -> None:
    lacks = (Sight.STATUS, Sight.VERSION)
    assert blindness(lacks, Engine.POSTGRES) == "no status column, no fence column"
    assert blindness(lacks, Engine.REDIS) == "no status in the value, no fence in the value"
    assert blindness((Sight.TTL,), Engine.REDIS) == "no ttl in the configuration"
    assert blindness((), Engine.REDIS) == ""


@pytest.mark.parametrize("one", Sight)
def test_whatever_is_missing_can_be_added(one: Sight) -> None:
    assert remedy([one])
    assert blindness([one], Engine.POSTGRES).startswith("no ")


def test_a_remedy_names_the_fields_of_the_layout() -> None:
    assert remedy((Sight.EXPIRY, Sight.AGE)) == (
        "expires:, counted_from: in the layout, once the application writes it"
    )
    assert remedy((Sight.TTL,)) == "ttl:, redis.ttl: or policies: in idemctl.yaml"

"""The witness: what its copies say, and that no sign alone is a verdict."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from idemctl.domain.verdicts import Sample, Verdict, judge
from idemctl.domain.witness import Copies, Servers, Trace, Witness, decoded, next_beat, trace_of

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
AGO = NOW - timedelta(minutes=5)
LONG_AGO = NOW - timedelta(days=30)
ONE = Witness(
    nonce="n",
    epoch=1,
    beats=10,
    beat_at=AGO,
    system_identifier="7",
    timeline=1,
    run_ids=("r",),
    flush_calls=2,
    fence=100,
)
SAME = Servers(
    now=NOW,
    system_identifier="7",
    timeline=1,
    postgres_started_at=LONG_AGO,
    run_id="r",
    redis_started_at=LONG_AGO,
    flush_calls=2,
)
SILENT = Servers(now=NOW)
ALL_THERE = Sample(asked=200, missing=0)
ALL_GONE = Sample(asked=200, missing=200)
TOO_FEW = Sample(asked=3, missing=3)


def at(beats: int, **changes: Any) -> Witness:
    return replace(ONE, beats=beats, **changes)


def copies(postgres: int | None, redis: int | None, folder: int | None = None) -> Copies:
    made = [None if beats is None else at(beats) for beats in (postgres, redis, folder)]
    return Copies(postgres=made[0], redis=made[1], folder=made[2])


@pytest.mark.parametrize(
    ("seen", "trace"),
    [
        (copies(None, None), Trace.NONE),
        (copies(None, None, 9), Trace.NONE),
        (copies(10, 10, 10), Trace.CONTINUOUS),
        (copies(10, 10), Trace.CONTINUOUS),
        # Cut off between the two, or an older host's folder: all is well.
        (copies(10, 9, 9), Trace.CONTINUOUS),
        (copies(10, 10, 3), Trace.CONTINUOUS),
        (copies(10, None, 10), Trace.REDIS_MISSING),
        (copies(10, 8, 10), Trace.REDIS_BEHIND),
        (copies(9, 10, 10), Trace.POSTGRES_BEHIND),
        (copies(None, 10), Trace.POSTGRES_BEHIND),
        (copies(8, 8, 10), Trace.BOTH_BEHIND),
        (copies(8, 9, 10), Trace.BOTH_BEHIND),
        (copies(8, None, 10), Trace.BOTH_BEHIND),
        (Copies(postgres=at(9), folder=at(10), is_pair=False), Trace.POSTGRES_BEHIND),
        (Copies(postgres=at(9), is_pair=False), Trace.CONTINUOUS),
        # Another store's folder, or one from before a restore, tells nothing.
        (Copies(postgres=at(9), redis=at(9), folder=at(99, nonce="x")), Trace.CONTINUOUS),
        (Copies(postgres=at(9, epoch=2), redis=at(9, epoch=2), folder=at(99)), Trace.CONTINUOUS),
        (Copies(postgres=at(9), redis=at(9, nonce="x")), Trace.STRANGERS),
        (Copies(postgres=at(9, epoch=2), redis=at(9, nonce="x")), Trace.REDIS_BEHIND),
    ],
)
def test_the_copies_say_by_themselves(seen: Copies, trace: Trace) -> None:
    assert trace_of(seen) is trace


RESTARTED = replace(SAME, run_id="s")
FLUSHED = replace(SAME, flush_calls=3)
NEW_TIMELINE = replace(SAME, timeline=2)
POSTGRES_STARTED = replace(SAME, postgres_started_at=NOW)
OTHER_CLUSTER = replace(SAME, system_identifier="8")


@pytest.mark.parametrize(
    ("seen", "servers", "in_redis", "in_postgres", "verdict"),
    [
        (copies(10, 10), SAME, None, None, Verdict.NORMAL),
        (copies(10, 10), SILENT, None, None, Verdict.NORMAL),
        (copies(10, 10), RESTARTED, None, None, Verdict.REDIS_RESTARTED),
        (copies(10, 10), NEW_TIMELINE, None, None, Verdict.PROMOTED),
        (copies(10, 10), OTHER_CLUSTER, None, None, Verdict.NEW_CLUSTER),
        # Two signs: the witness, and the records or the server.
        (copies(10, None), SAME, ALL_GONE, None, Verdict.REDIS_FLUSHED),
        (copies(10, None), FLUSHED, TOO_FEW, None, Verdict.REDIS_FLUSHED),
        (copies(10, None), RESTARTED, None, None, Verdict.REDIS_FLUSHED),
        (copies(10, 8), SAME, ALL_GONE, None, Verdict.REDIS_RESTORED),
        (copies(10, 8), RESTARTED, ALL_THERE, None, Verdict.REDIS_RESTORED),
        (copies(9, 10), SAME, None, ALL_GONE, Verdict.POSTGRES_RESTORED),
        (copies(9, 10), POSTGRES_STARTED, None, ALL_THERE, Verdict.POSTGRES_RESTORED),
        (copies(9, 10), NEW_TIMELINE, None, None, Verdict.POSTGRES_RESTORED),
        (copies(9, 10), OTHER_CLUSTER, None, None, Verdict.POSTGRES_RESTORED),
        (copies(8, 8, 10), POSTGRES_STARTED, None, None, Verdict.BOTH_RESTORED),
        (copies(8, 8, 10), RESTARTED, None, None, Verdict.BOTH_RESTORED),
        # One sign alone.
        (copies(10, None), SAME, ALL_THERE, None, Verdict.UNKNOWN),
        (copies(10, None), SAME, TOO_FEW, None, Verdict.UNKNOWN),
        (copies(10, None), SILENT, None, None, Verdict.UNKNOWN),
        (copies(10, 8), SAME, ALL_THERE, None, Verdict.UNKNOWN),
        (copies(9, 10), SAME, None, ALL_THERE, Verdict.UNKNOWN),
        (copies(9, 10), SILENT, None, None, Verdict.UNKNOWN),
        (copies(8, 8, 10), SAME, None, None, Verdict.UNKNOWN),
        (copies(None, None), FLUSHED, ALL_GONE, ALL_GONE, Verdict.UNKNOWN),
        (Copies(postgres=at(9), redis=at(9, nonce="x")), FLUSHED, ALL_GONE, None, Verdict.UNKNOWN),
        # A key removed by hand, then an ordinary restart: what is there was not flushed.
        (copies(10, None), RESTARTED, ALL_THERE, None, Verdict.UNKNOWN),
    ],
)
def test_a_verdict_takes_two_signs(
    seen: Copies,
    servers: Servers,
    in_redis: Sample | None,
    in_postgres: Sample | None,
    verdict: Verdict,
) -> None:
    made = judge(seen, servers, in_redis=in_redis, in_postgres=in_postgres)
    assert made.verdict is verdict


def test_a_detector_of_one_sign_is_wrong_where_two_are_not() -> None:
    """The control: the copies alone would call a removed key a flush."""
    removed = copies(10, None)
    assert trace_of(removed) is Trace.REDIS_MISSING
    assert judge(removed, SAME, in_redis=ALL_THERE).verdict is Verdict.UNKNOWN


def test_only_what_hides_nothing_may_beat() -> None:
    assert judge(copies(None, None), SAME).may_beat
    assert judge(copies(10, 9), RESTARTED).may_beat
    for seen in (copies(10, None), copies(10, 8), copies(9, 10), copies(8, 8, 10)):
        assert not judge(seen, SAME).may_beat
    assert not judge(copies(10, 10), OTHER_CLUSTER).may_beat
    assert judge(copies(10, None), SAME).is_mended_by_filling
    assert not judge(copies(9, 10), SAME).is_mended_by_filling


def test_a_beat_comes_after_every_copy_of_its_own() -> None:
    made = next_beat(copies(10, 9, 10), RESTARTED, epoch=4, fence=7, nonce="new")
    assert (made.beats, made.nonce, made.epoch, made.fence) == (11, "n", 4, 7)
    assert (made.run_ids, made.beat_at) == (("s",), NOW)
    stranger = Copies(postgres=at(5), redis=at(5), folder=at(99, nonce="x"))
    assert next_beat(stranger, SAME, epoch=None, fence=None, nonce="new").beats == 6
    first = next_beat(Copies(), SILENT, epoch=None, fence=None, nonce="new")
    assert (first.beats, first.nonce, first.epoch, first.run_ids) == (1, "new", 1, ())


def test_a_witness_survives_its_text_to_the_byte() -> None:
    assert decoded(ONE.encoded()) == ONE
    assert decoded(ONE.encoded()).encoded() == ONE.encoded()


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"1",
        b"[]",
        b"{}",
        b"\xff",
        b'{"beat_at": 5}',
        ONE.encoded().replace(b'"epoch": 1', b'"epoch": "1"'),
        ONE.encoded().replace(b"+00:00", b""),
        b"[" * 100_000,
    ],
)
def test_what_is_no_witness_is_told_from_one(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        decoded(text)

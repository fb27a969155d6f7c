"""hits: what is found in logs, how it is graded, and what cannot be judged."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from idemctl.domain.outcomes import WhyStopped
from idemctl.domain.traffic import Series
from idemctl.errors import ConfigError, ExitStatus, Unreachable
from idemctl.operations.hits import hits
from idemctl.run.run import Stopped
from tests.domain.traffic_worlds import a_world
from tests.operations.hit_logs import Log, a_reading, stormy
from tests.operations.tables import a_run

HEALTHY = a_reading(a_world(a_bucket=4).traffic())
TORN = Unreachable("torn", hint="mend it")


def test_a_spike_is_a_finding_and_a_healthy_log_is_none() -> None:
    outcome = hits([Log(reading=HEALTHY), Log(reading=a_reading(stormy().traffic()))], a_run())

    calm, stirred = outcome.logs
    assert calm.judged is not None
    assert calm.judged.spikes == ()
    assert calm.status is ExitStatus.OK
    assert stirred.judged is not None
    [spike] = stirred.judged.spikes
    assert spike.series == Series(endpoint="POST /charges", client="app")
    assert outcome.status is ExitStatus.FINDINGS


def test_a_log_that_is_too_short_is_no_finding_and_no_clean_bill() -> None:
    short = a_reading(a_world(days=3).traffic())

    outcome = hits([Log(reading=short)], a_run())

    [looked] = outcome.logs
    assert looked.judged is not None
    assert (looked.judged.long_enough, looked.judged.judged_count) == (False, 0)
    assert looked.judged.unjudged_count > 0
    assert outcome.status is ExitStatus.OK


@pytest.mark.parametrize(
    ("unreadable", "unkeyed", "status"),
    [(0, 0, ExitStatus.OK), (0, 9, ExitStatus.OK), (9, 0, ExitStatus.UNREACHABLE)],
)
def test_a_log_of_which_nothing_can_be_read_is_unknown(
    unreadable: int, unkeyed: int, status: ExitStatus
) -> None:
    traffic = HEALTHY.traffic
    nothing = replace(
        traffic,
        **{
            name: getattr(traffic, name)[:0]
            for name in ("bucket", "endpoint", "client", "requests")
        },
        hits={hit: column[:0] for hit, column in traffic.hits.items()},
    )
    reading = a_reading(nothing, unreadable=unreadable, unkeyed=unkeyed)

    outcome = hits([Log(reading=reading)], a_run())

    assert outcome.logs[0].judged is None
    assert outcome.status is status


def test_a_log_that_cannot_be_read_keeps_no_other_from_being_judged() -> None:
    stirred = a_reading(stormy().traffic())
    outcome = hits([Log(reading=HEALTHY, error=TORN), Log(reading=stirred)], a_run())

    assert outcome.failures == (TORN,)
    assert len(outcome.logs) == 1
    assert outcome.status is ExitStatus.UNREACHABLE


def test_when_no_log_can_be_read_the_first_reason_is_raised() -> None:
    logs = [Log(reading=HEALTHY, error=error) for error in (ConfigError("no file"), TORN)]
    with pytest.raises(ConfigError, match="no file"):
        hits(logs, a_run())


def test_a_run_that_is_stopped_judges_nothing_more() -> None:
    run = replace(a_run(), max_duration=timedelta(0))
    with pytest.raises(Stopped) as stopped:
        hits([Log(reading=HEALTHY)], run)
    assert stopped.value.why is WhyStopped.DEADLINE

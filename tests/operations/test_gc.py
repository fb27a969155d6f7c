"""gc on tables in memory: what it does, and how it grades what it could not do."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from idemctl.domain.outcomes import IfLocked, WhyStopped
from idemctl.domain.policies import EndpointPolicy, Policies, Previously
from idemctl.domain.purposes import EVERY_VERB, Purpose
from idemctl.domain.references import OnDelete, Reference
from idemctl.domain.retention import Promise, Verdict
from idemctl.errors import (
    ConfigError,
    Denied,
    ExitStatus,
    Locked,
    Refused,
    Unreachable,
)
from idemctl.operations.gc import LeftToOther, Options, gc
from idemctl.run.fitness import remedy
from tests.operations.tables import DAY, HOUR, NOW, Follower, a_run, right, row, some_rows, target

if TYPE_CHECKING:
    from idemctl.errors import IdemctlError
    from idemctl.run.run import Run

UNASKED = Reference(
    table="app.payments", key="fk", on_delete=OnDelete.CASCADE, is_meant=False, is_own=False,
    has_index=True, columns="k",
)  # fmt: skip
NAMED = replace(UNASKED, table="app.rides", is_meant=True)
PINNED = replace(UNASKED, table="app.notes", on_delete=OnDelete.RESTRICT)
LOOK = Options()
APPLY = Options(apply=True)
SKIP = Options(apply=True, if_locked=IfLocked.SKIP)
AT_WORK = "memory: another gc is at work here"
DOWN = Unreachable("memory: gone")


def test_a_look_counts_and_changes_nothing() -> None:
    aim, table = target()
    outcome = gc([aim], LOOK, a_run())
    [one] = outcome.targets
    assert outcome.status is ExitStatus.OK
    assert (one.collection.candidates, one.collection.deleted) == (3, 0)
    assert {tally.verdict: tally.count for tally in one.collection.tallies} == {
        Verdict.EXPIRED: 3,
        Verdict.LIVE: 2,
    }
    assert len(table.keys) == 5
    assert table.modes == [False]
    assert table.closed == 1


def test_collecting_takes_what_is_expired_and_finished() -> None:
    rows = [
        *some_rows(),
        row("running", expired_for=HOUR, status="in_progress"),
        row("odd", expired_for=HOUR, status="?"),
        row("endless", expired_for=HOUR, expires_at=None),
    ]
    aim, table = target(rows=rows)
    outcome = gc([aim], APPLY, a_run())
    [one] = outcome.targets
    assert outcome.status is ExitStatus.OK
    assert (one.collection.deleted, one.collection.batches) == (3, 3)
    assert one.collection.protected == 1
    assert table.keys == ["new-0", "new-1", "running", "odd", "endless"]
    assert table.modes == [True]


def test_the_lock_is_taken_and_given_back() -> None:
    aim, table = target()
    lock = table.lock("gc")
    with pytest.raises(Locked):
        gc([aim], APPLY, a_run())
    assert len(table.keys) == 5
    lock.release()
    assert gc([aim], APPLY, a_run()).status is ExitStatus.OK
    table.lock("gc").release()


def test_a_store_that_is_left_to_another_gc_is_no_failure_and_the_next_one_is_done() -> None:
    (first, held), (second, free) = target(), target("outbox")
    held.lock("gc")
    outcome = gc([first, second], SKIP, a_run())
    assert outcome.status is ExitStatus.OK
    assert outcome.left == (LeftToOther(store="payments", says=AT_WORK),)
    assert [it.target.store for it in outcome.targets] == ["outbox"]
    assert (len(held.keys), len(free.keys)) == (5, 2)
    told = gc([target("outbox")[0], first], APPLY, a_run())
    assert (told.status, told.left) == (ExitStatus.LOCKED, ())


def test_all_stores_may_be_left_to_another_gc() -> None:
    aim, table = target()
    table.lock("gc")
    outcome = gc([aim], SKIP, a_run())
    assert (outcome.status, outcome.targets, outcome.failures) == (ExitStatus.OK, (), ())


def test_what_is_left_to_another_gc_hides_no_failure() -> None:
    (first, held), (second, _) = target(), target("outbox", describe_fails=DOWN)
    held.lock("gc")
    outcome = gc([first, second], SKIP, a_run())
    assert outcome.status is ExitStatus.UNREACHABLE
    assert [one.store for one in outcome.left] == ["payments"]
    with pytest.raises(Unreachable):
        gc([second], SKIP, a_run())


def test_a_lock_that_is_met_after_collecting_is_a_failure_all_the_same() -> None:
    aim, _ = target(fails_after=1, failure=Locked("another lock"))
    outcome = gc([aim], SKIP, a_run())
    assert (outcome.status, outcome.left) == (ExitStatus.LOCKED, ())


def test_a_look_needs_no_lock() -> None:
    aim, table = target()
    table.lock("gc")
    assert gc([aim], LOOK, a_run()).targets[0].collection.candidates == 3


@pytest.mark.parametrize(
    ("description", "error", "says"),
    [
        ({"is_replica": True}, Refused, "this server is a replica"),
        (
            {"references": (NAMED, PINNED, UNASKED)},
            Refused,
            f"deleting here would also delete or change rows of {UNASKED}",
        ),
        ({"supported": False}, Refused, "memory 1 is too old"),
        (
            {
                "rights": (
                    right("SELECT on t", "GRANT a;", *EVERY_VERB, granted=True),
                    right("DELETE on t", "GRANT b;", Purpose.GC),
                    right("DELETE on c", "GRANT c;", Purpose.GC),
                    # What only others lack is no reason.
                    right("SET", "ACL SETUSER d +set", Purpose.RECONCILE),
                    right("pg_read_all_stats", "GRANT e;", Purpose.SIGHT),
                )
            },
            Denied,
            "you lacks DELETE on t, DELETE on c",
        ),
    ],
)
def test_a_table_unfit_for_collecting_can_still_be_looked_at(
    description: dict[str, object], error: type[IdemctlError], says: str
) -> None:
    rights = description.get("rights", ())
    told = {name: one for name, one in description.items() if name != "rights"}
    aim, table = target(description=told, rights=rights)
    assert gc([aim], LOOK, a_run()).status is ExitStatus.OK
    with pytest.raises(error) as caught:
        gc([aim], APPLY, a_run())
    assert caught.value.message == f"memory: {says}"
    if error is Denied:
        assert caught.value.hint == "GRANT b; GRANT c;"
    if "references" in description:
        assert caught.value.hint == (
            "if the library means it so, add drags: [app.payments] to the postgres side of the "
            "layout; else drop ON DELETE CASCADE from fk"
        )
    assert len(table.keys) == 5
    table.lock("gc").release()


@pytest.mark.parametrize("options", [LOOK, APPLY])
def test_a_table_of_which_nothing_ever_goes_is_refused_before_it_is_opened(
    options: Options,
) -> None:
    aim, table = target()
    ledger = replace(aim, is_never_collected=True)
    with pytest.raises(Refused) as caught:
        gc([ledger], options, a_run())
    assert caught.value.message == (
        "payments: nothing of this table is ever collected: its layout says never_collected: always"
    )
    assert (len(table.keys), table.modes) == (5, [])
    other, _ = target("webhooks")
    outcome = gc([ledger, other], options, a_run())
    assert [one.target.store for one in outcome.targets] == ["webhooks"]
    assert outcome.status is ExitStatus.REFUSED


def test_what_the_layout_names_and_what_only_keeps_records_is_no_reason_to_refuse() -> None:
    aim, table = target(description={"references": (NAMED, PINNED)})
    [one] = gc([aim], APPLY, a_run()).targets
    assert (one.references, len(table.keys)) == ((NAMED, PINNED), 2)


def test_no_layout_may_mean_the_records_themselves() -> None:
    own = replace(UNASKED, is_own=True)
    aim, _ = target(description={"references": (own,)})
    with pytest.raises(Refused) as caught:
        gc([aim], APPLY, a_run())
    assert caught.value.hint == (
        "drop ON DELETE CASCADE from fk: those rows are records themselves, and may be alive"
    )


def test_a_name_that_needs_quotes_is_written_as_a_layout_takes_it() -> None:
    odd = replace(UNASKED, table='app."It\'s"')
    assert "add drags: ['app.\"It''s\"'] to" in remedy(odd)


@pytest.mark.parametrize("options", [LOOK, APPLY])
def test_hidden_rows_are_cannot_judge(options: Options) -> None:
    aim, table = target(description={"hides_rows": "some policy"})
    with pytest.raises(Unreachable, match="memory: cannot judge: some policy"):
        gc([aim], options, a_run())
    assert len(table.keys) == 5


def test_a_store_that_expires_by_itself_is_left_to_it() -> None:
    aim, table = target(describe_fails=DOWN)
    other, _ = target("webhooks")
    outcome = gc([replace(aim, expires_by_itself=True), other], APPLY, a_run())
    assert [one.target.store for one in outcome.targets] == ["webhooks"]
    assert outcome.status is ExitStatus.OK
    assert (len(table.keys), table.modes) == (5, [])


def test_rows_that_somebody_holds_stay_and_their_age_is_told() -> None:
    aim, table = target()
    table.held = {b"old-2"}
    outcome = gc([aim], APPLY, a_run())
    [one] = outcome.targets
    assert outcome.status is ExitStatus.OK
    assert (one.collection.deleted, one.collection.skipped_locked) == (2, 1)
    assert one.oldest_left_at == NOW - 3 * HOUR
    aim, table = target()
    table.held = {b"old-2"}
    impatient = replace(APPLY, backlog_after=2 * HOUR)
    assert gc([aim], impatient, a_run()).status is ExitStatus.PARTIAL


def test_an_age_that_cannot_be_told_is_no_young_one() -> None:
    aim, table = target(look_back_fails=DOWN)
    table.held = {b"old-2"}
    outcome = gc([aim], APPLY, a_run())
    assert outcome.targets[0].left_unknown
    assert outcome.status is ExitStatus.PARTIAL


def test_a_table_where_nothing_was_left_is_not_asked_again() -> None:
    aim, _ = target(look_back_fails=DOWN)
    assert gc([aim], APPLY, a_run()).status is ExitStatus.OK


def test_after_a_deadline_every_store_still_gets_a_batch_and_is_graded() -> None:
    (first, one), (second, two) = target(), target("webhooks", some_rows(expired=30))
    outcome = gc([first, second], APPLY, a_run(max_duration=timedelta(0)))
    assert [it.why_stopped for it in outcome.targets] == [WhyStopped.DEADLINE] * 2
    assert [it.collection.deleted for it in outcome.targets] == [1, 1]
    assert [it.oldest_left_at for it in outcome.targets] == [NOW - 3 * HOUR, NOW - 30 * HOUR]
    assert (len(one.keys), len(two.keys)) == (4, 31)
    # The first store's rest is young; that of the one behind it is not.
    assert outcome.targets[0].status(APPLY) is ExitStatus.OK
    assert outcome.status is ExitStatus.PARTIAL


@pytest.mark.parametrize("why", [WhyStopped.INTERRUPTED, WhyStopped.TERMINATED])
@pytest.mark.parametrize("options", [LOOK, APPLY])
def test_a_signal_ends_the_run_after_one_batch(options: Options, why: WhyStopped) -> None:
    (first, _), (second, untouched) = target(), target("webhooks")
    run = a_run()
    run.stop.ask(why)
    outcome = gc([first, second], options, run)
    [one] = outcome.targets
    assert one.why_stopped is why
    assert one.collection.candidates == 1
    assert outcome.status is why.status
    assert untouched.closed == 0


def test_a_store_that_is_locked_out_does_not_keep_the_run_from_the_next() -> None:
    (first, table), (second, _) = target(troubles=20), target("webhooks")
    outcome = gc([first, second], APPLY, a_run())
    assert [it.why_stopped for it in outcome.targets] == [WhyStopped.LOCKED_OUT, WhyStopped.DONE]
    assert outcome.targets[0].collection.troubles == ("locked by another session",)
    assert outcome.targets[1].collection.deleted == 3
    assert outcome.status is ExitStatus.PARTIAL
    assert len(table.keys) == 5


def test_a_limit_holds_for_all_stores_together_and_ends_well() -> None:
    (first, one), (second, two) = target(), target("webhooks", some_rows(expired=30))
    limited = replace(APPLY, limit=5)
    outcome = gc([first, second], limited, a_run())
    assert [it.collection.deleted for it in outcome.targets] == [3, 2]
    assert [it.why_stopped for it in outcome.targets] == [WhyStopped.DONE, WhyStopped.LIMIT]
    assert outcome.targets[1].oldest_left_at == NOW - 30 * HOUR
    # Left behind for longer than a day, and meant to be.
    assert outcome.status is ExitStatus.OK
    assert (len(one.keys), len(two.keys)) == (2, 30)
    (first, one), (second, two) = target(), target("webhooks")
    outcome = gc([first, second], replace(APPLY, limit=2), a_run())
    assert [it.why_stopped for it in outcome.targets] == [WhyStopped.LIMIT] * 2
    assert (len(one.keys), len(two.keys)) == (3, 5)


def test_a_limit_of_all_that_there_is_leaves_nothing_to_go_on_with() -> None:
    aim, table = target()
    outcome = gc([aim], replace(APPLY, limit=3), a_run())
    assert outcome.targets[0].why_stopped is WhyStopped.DONE
    assert len(table.keys) == 2


def test_trouble_that_passes_is_no_reason_to_give_up() -> None:
    aim, _ = target(troubles=19)
    outcome = gc([aim], APPLY, a_run())
    assert outcome.targets[0].collection.deleted == 3
    assert outcome.status is ExitStatus.OK


def test_what_was_done_before_a_failure_is_told_with_it() -> None:
    aim, table = target(fails_after=2, failure=DOWN)
    outcome = gc([aim], APPLY, a_run())
    assert outcome.failures == (DOWN,)
    assert outcome.status is ExitStatus.UNREACHABLE
    assert outcome.targets[0].collection.deleted == 2
    assert len(table.keys) == 3
    table.lock("gc").release()


def test_a_failure_before_anything_was_looked_at_is_raised() -> None:
    aim, _ = target(describe_fails=DOWN)
    with pytest.raises(Unreachable):
        gc([aim], APPLY, a_run())


def test_a_store_that_fails_keeps_no_other_from_being_collected_and_is_told() -> None:
    (first, _), (second, _), (third, last) = (
        target(),
        target("webhooks", describe_fails=DOWN),
        target("outbox"),
    )
    outcome = gc([first, second, third], APPLY, a_run())
    assert [it.target.store for it in outcome.targets] == ["payments", "outbox"]
    assert outcome.failures == (DOWN,)
    assert outcome.status is ExitStatus.UNREACHABLE
    assert len(last.keys) == 2


def test_the_journal_has_each_batch_that_wrote_and_each_trouble() -> None:
    aim, _ = target(troubles=1)
    journal, progress = Follower(), Follower()
    gc([aim], APPLY, a_run(journal=journal, progress=progress))
    batches = [facts for event, facts in journal.heard if event == "batch"]
    assert [batch["deleted"] for batch in batches] == [0, 1, 1, 1]
    assert batches[0]["trouble"] == "locked by another session"
    assert batches[1].keys() == {"store", "part", "deleted", "children_deleted", "took_ms"}
    assert progress.heard[-1] == ("payments memory", 0.0, {"candidates": 3, "deleted": 3})


def test_a_look_writes_no_journal() -> None:
    journal = Follower()
    gc([target()[0]], LOOK, a_run(journal=journal))
    assert journal.heard == []


def test_a_journal_that_cannot_be_written_ends_the_run_with_its_batch_told() -> None:
    aim, table = target()
    outcome = gc([aim], APPLY, a_run(journal=Follower(fails=ConfigError("full"))))
    assert outcome.status is ExitStatus.CONFIG
    assert outcome.targets[0].collection.deleted == 1
    assert len(table.keys) == 4


def test_a_lock_that_is_lost_ends_the_run() -> None:
    aim, table = target()
    run = a_run()

    class Robber(Follower):
        def write(self, event: str, facts: object) -> None:
            table._locked_for.clear()
            run._lock_seen -= 1

    run.journal = Robber()
    outcome = gc([aim, target("webhooks")[0]], APPLY, run)
    [one] = outcome.targets
    assert one.why_stopped is WhyStopped.LOCK_LOST
    assert outcome.status is ExitStatus.PARTIAL


CHARGES = "POST /v1/charges"
LAST_DAY = date(2026, 12, 6)
END_OF_LAST_DAY = datetime(2026, 12, 7, tzinfo=UTC)


def deleted_under(policy: EndpointPolicy, run: Run, *, at: datetime, created: datetime) -> int:
    made = row("k", expired_for=DAY, created_at=created, expires_at=created + HOUR)
    aim, _ = target(rows=[made], clock_is_off=at - NOW)
    aim = replace(aim, policies=Policies(endpoints={policy.endpoint: policy}))
    [one] = gc([aim], APPLY, run).targets
    kept = [tally for tally in one.collection.tallies if tally.verdict is Verdict.LIVE]
    assert all(tally.promise is Promise.POLICY for tally in kept)
    return one.collection.deleted


def test_what_was_promised_before_is_kept_until_its_day_ends() -> None:
    policy = EndpointPolicy(
        endpoint=CHARGES,
        ttl=DAY,
        previously=Previously(ttl=30 * DAY, until=END_OF_LAST_DAY),
    )
    created = END_OF_LAST_DAY - 8 * DAY
    moment = timedelta(microseconds=1)
    assert deleted_under(policy, a_run(), at=END_OF_LAST_DAY - moment, created=created) == 0
    assert deleted_under(policy, a_run(), at=END_OF_LAST_DAY, created=created) == 1


def test_a_policy_of_another_endpoint_says_nothing() -> None:
    policy = EndpointPolicy(endpoint="POST /v1/refunds", ttl=30 * DAY)
    assert deleted_under(policy, a_run(), at=NOW, created=NOW - DAY) == 1

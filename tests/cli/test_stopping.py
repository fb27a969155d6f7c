"""gc that is stopped, killed, locked out or robbed of its lock, as real processes."""

from __future__ import annotations

import signal
import socket
import time
from typing import TYPE_CHECKING, Any

import psutil
import psycopg
import pytest

from tests.cli.places import LARGE_EXPIRED, LARGE_KEPT, await_that

if TYPE_CHECKING:
    from tests.cli.places import Database, Place

OVER = "processed_events WHERE expires_at < now() AND status IN ('completed', 'failed')"
LOCK_HOLDER = (
    "SELECT pid FROM pg_locks WHERE locktype = 'advisory'"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)
# Nearly three quarters of the table have expired.
APPLY = ("gc", "--apply", "--despite", "volume", "-o", "json")


def all_gone_are_told(database: Database, place: Place, document: dict[str, Any]) -> int:
    """Hold report and journal to the rows that are really gone; give their number."""
    gone = LARGE_EXPIRED + LARGE_KEPT - database.count("processed_events")
    assert document["summary"]["deleted"] == gone
    assert sum(one["deleted"] for one in place.batches()) == gone
    assert gone == LARGE_EXPIRED - database.count(OVER)
    return gone


def the_next_run_finishes(database: Database, place: Place) -> None:
    database.await_no_backend()
    database.observer.execute("DROP TRIGGER rests ON processed_events")
    done = place.main(*APPLY, "--pace", "full")
    assert done.status == 0, done.err
    assert database.count(OVER) == 0
    assert database.count("processed_events") == LARGE_KEPT


@pytest.mark.parametrize(
    ("number", "status", "why"),
    [(signal.SIGTERM, 143, "terminated"), (signal.SIGINT, 130, "interrupted")],
)
def test_a_signal_ends_the_run_after_its_batch(
    slow: Database, place: Place, number: signal.Signals, status: int, why: str
) -> None:
    process = place.start(*APPLY)
    place.await_journal(2)
    process.send_signal(number)
    done = place.end(process, within=5)

    assert done.status == status
    assert done.err == ""
    assert done.document["exit"] == status
    assert done.summary["why_stopped"] == why
    assert 0 < all_gone_are_told(slow, place, done.document) < LARGE_EXPIRED
    assert place.journal()[-1]["exit"] == status
    the_next_run_finishes(slow, place)


def test_people_are_told_how_to_go_on(slow: Database, place: Place) -> None:
    process = place.start("gc", "--apply", "--despite", "volume")
    place.await_journal(1)
    process.terminate()
    done = place.end(process, within=5)
    assert done.status == 143
    *_, how, last = done.out.splitlines()
    where = "payments (postgres public.processed_events)"
    assert how == f"{where}: stopped early (terminated); run again to go on"
    assert last.startswith("collected ")
    assert " in the part that was looked at, in " in last


def test_a_signal_ends_two_workers_and_all_they_did_is_told(slow: Database, place: Place) -> None:
    process = place.start(*APPLY, "--workers", "2")
    place.await_journal(2)
    process.terminate()
    done = place.end(process, within=8)
    assert done.status == 143
    assert done.err == ""
    assert 0 < all_gone_are_told(slow, place, done.document) < LARGE_EXPIRED
    slow.await_no_backend()


def test_a_signal_ends_a_run_that_is_locked_out(slow: Database, place: Place) -> None:
    process = place.start(*APPLY)
    place.await_journal(1)
    with psycopg.connect(slow.dsn) as holder:
        holder.execute("LOCK TABLE processed_events IN ACCESS EXCLUSIVE MODE")
        place.await_journal(1, trouble=True)
        started = time.monotonic()
        process.terminate()
        done = place.end(process, within=5)
        assert time.monotonic() - started < 5
        await_that(lambda: slow.backends() == 1, "the holder alone is left", within=5)
    assert done.status == 143
    assert done.summary["why_stopped"] == "terminated"
    assert done.summary["stores"][0]["troubles"] == [
        "postgres public.processed_events: locked by another session"
    ]
    all_gone_are_told(slow, place, done.document)


def test_a_killed_run_is_finished_by_the_next(slow: Database, place: Place) -> None:
    process = place.start(*APPLY)
    place.await_journal(2)
    process.kill()
    place.end(process)
    assert 0 < slow.count(OVER) < LARGE_EXPIRED
    assert [one["event"] for one in place.journal()].count("end") == 0
    the_next_run_finishes(slow, place)


def test_a_killed_run_leaves_no_worker(slow: Database, place: Place) -> None:
    process = place.start(*APPLY, "--workers", "2")
    place.await_journal(1)
    workers = psutil.Process(process.pid).children(recursive=True)
    assert len(workers) >= 2
    process.kill()
    place.end(process)
    await_that(lambda: not any(_runs(worker) for worker in workers), "no worker is left", within=10)
    the_next_run_finishes(slow, place)


def _runs(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize(("patience", "status"), [("1d", 0), ("1s", 4)])
def test_a_deadline_is_an_error_only_for_a_backlog(
    slow: Database, place: Place, patience: str, status: int
) -> None:
    # The oldest of what is left expired an hour ago.
    done = place.main(*APPLY, "--max-duration", "1s", "--backlog-after", patience)
    assert done.status == status
    assert done.summary["why_stopped"] == "deadline"
    assert done.summary["stores"][0]["oldest_left_at"] is not None
    assert 0 < all_gone_are_told(slow, place, done.document) < LARGE_EXPIRED


def test_a_run_that_lost_its_lock_stops_and_says_so(slow: Database, place: Place) -> None:
    process = place.start(*APPLY)
    place.await_journal(1)
    [(pid,)] = slow.ask(LOCK_HOLDER)
    assert slow.ask(f"SELECT pg_terminate_backend({pid})") == [(True,)]
    done = place.end(process, within=5)
    assert done.status == 4
    assert done.document["status"] == "partial"
    assert done.summary["why_stopped"] == "lock-lost"
    assert 0 < all_gone_are_told(slow, place, done.document) < LARGE_EXPIRED
    the_next_run_finishes(slow, place)


def test_a_run_that_lost_its_connection_tells_what_it_did(slow: Database, place: Place) -> None:
    process = place.start(*APPLY)
    place.await_journal(1)
    slow.ask(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname ="
        " current_database() AND application_name LIKE 'idemctl%' AND pid NOT IN"
        f" ({LOCK_HOLDER})"
    )
    done = place.end(process, within=5)
    assert done.status == 10
    assert done.document["errors"][0]["status"] == "unreachable"
    assert done.err.count("\n") == 2
    all_gone_are_told(slow, place, done.document)


def test_a_second_gc_is_sent_away_with_the_name_of_the_first(slow: Database, place: Place) -> None:
    process = place.start(*APPLY)
    place.await_journal(1)
    run_id = place.journal()[0]["run_id"]
    [(pid,)] = slow.ask(LOCK_HOLDER)
    rows = slow.count("processed_events")
    second = place.main(*APPLY)
    assert second.status == 11
    message, hint = second.err.splitlines()
    assert "another gc is at work here" in message
    assert f"idemctl gc {run_id}, backend {pid}, since " in message
    assert hint == "  wait for it, or stop it with SIGTERM"
    assert second.document["errors"][0]["status"] == "locked"
    assert slow.count("processed_events") <= rows
    third = place.main(*APPLY, "--if-locked", "skip")
    assert (third.status, third.err) == (0, "")
    [left] = third.document["summary"]["left_to_another_gc"]
    assert left["store"] == "payments"
    assert f"idemctl gc {run_id}, backend {pid}, since " in left["says"]
    assert third.document["store"] == "payments"
    assert third.document["items"] == []
    # Nobody takes it for a gc that went well.
    shown = place.main("store", "show", "-o", "json").document
    assert [one["last_gc_run"] for one in shown["items"] if one["code"] == "store"] == [None]
    # A look takes no lock, and is not in anybody's way.
    assert place.main("gc", "-o", "json", "--pace", "full").status == 0
    process.terminate()
    assert place.end(process, within=5).status == 143


def test_a_signal_during_doctor_still_ends_with_a_document(place: Place) -> None:
    stores = "".join(
        f"  s{n}: {{postgres: {{dsn_env: DATABASE_URL, layout: bare}}}}\n" for n in range(3)
    )
    place.configure(f"version: 1\nstores:\n{stores}")
    with socket.create_server(("127.0.0.1", 0)) as mute:
        place.lead(DATABASE_URL=f"postgresql://idemctl@127.0.0.1:{mute.getsockname()[1]}/x")
        process = place.start("doctor", "-o", "json")
        mute.settimeout(10)
        connection, _ = mute.accept()
        process.terminate()
        connection.close()
        done = place.end(process, within=5)
    assert done.status == 143
    assert done.document["exit"] == 143
    assert [one["status"] for one in done.document["errors"]] == ["terminated"]
    assert done.err == "idemctl doctor: stopped early (terminated)\n"

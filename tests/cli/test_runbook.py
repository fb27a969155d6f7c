"""runbook: what there is to read, and a walk on a real pair, with a person and without."""

from __future__ import annotations

import signal
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.pairs import PAYMENTS
from tests.cli.people import Person
from tests.cli.places import await_that

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.pairs import Pairs
    from tests.cli.places import Place

RUN = ("runbook", "run", "store-data-loss", *PAYMENTS)
UNATTENDED = (*RUN, "--yes", "-o", "json")
PROCEEDS = ("on_redis_miss: postgres", "on_redis_miss: proceed")
PROTECTED = ("stores:\n  payments:\n", "stores:\n  payments:\n    protected: true\n")


def test_the_books_are_listed_and_shown_without_any_store(place: Place) -> None:
    done = place.main("runbook", "list", "-o", "json")
    assert done.status == 0
    assert [one["id"] for one in done.document["items"]] == ["store-data-loss"]
    done = place.main("runbook", "show", "store-data-loss", "-o", "json")
    assert done.summary["applies_when"] == [
        "verdict in flushed, suspected",
        "missing_share gt 0.01",
    ]
    steps = {one["id"]: one for one in done.document["items"]}
    assert steps["refill"]["does"] == "idemctl reconcile --apply"
    assert "missing eq 0" in steps["nothing-missing"]["expects"]
    assert "2. refill (action): " in place.main("runbook", "show", "store-data-loss").out


def test_a_book_that_there_is_not_is_named(place: Place) -> None:
    done = place.main("runbook", "show", "store-data-lost")
    assert done.status == 2
    assert "there is no runbook 'store-data-lost'" in done.err
    assert "did you mean store-data-loss?" in done.err


def test_an_unattended_walk_recovers_the_pair_and_touches_nothing_else(pairs: Pairs) -> None:
    """What other applications have written since the flush is theirs, to the byte."""
    expected = pairs.names()
    strangers = pairs.dumps("seen:*")
    pairs.client.flushall()
    for name, (value, until) in strangers.items():
        pairs.client.restore(name, until, value, absttl=True)
    pairs.client.set("session:1", "x")
    bystanders = pairs.dumps("[^i]*"), pairs.digests()
    assert len(bystanders[0]) == len(strangers) + 1 > 50

    done = pairs.place.main(*UNATTENDED)

    assert (done.status, done.summary["verdict"]) == (0, "flushed")
    assert {one["step"]: one["code"] for one in done.document["items"]} == {
        "stop-duplicates": "not-selected",
        "refill": "done",
        "nothing-missing": "done",
        "as-diagnosed": "done",
        "blind-window": "not-selected",
    }
    assert (pairs.dumps("[^i]*"), pairs.digests()) == bystanders
    assert set(pairs.names()) <= set(expected)
    assert len(pairs.names()) > 0.99 * len(expected)
    reconciled = pairs.place.main("reconcile", *PAYMENTS, "-o", "json")
    assert (reconciled.status, reconciled.summary["missing"]) == (0, 0)

    again = pairs.place.main(*UNATTENDED)
    assert (again.status, again.summary["applies"]) == (0, False)
    assert again.document["items"] == []


def test_a_healthy_pair_is_left_alone(pairs: Pairs) -> None:
    before = pairs.dumps("*"), pairs.digests()
    done = pairs.place.main(*RUN, "--yes")
    assert done.status == 0
    assert "store-data-loss does not apply to payments (normal): nothing was done" in done.out
    assert (pairs.dumps("*"), pairs.digests()) == before


def test_the_journal_tells_each_step_and_the_run_that_did_it(pairs: Pairs) -> None:
    pairs.client.flushall()
    done = pairs.place.main(*UNATTENDED)
    folder = pairs.place.state / "journals"
    journal = (folder / f"{done.document['run_id']}.jsonl").read_text("utf-8")
    assert '"event":"diagnosis"' in journal
    assert '"step":"refill","state":"done"' in journal
    filled = [file for file in folder.iterdir() if '"event":"fill"' in file.read_text("utf-8")]
    assert [file.stem in journal for file in filled] == [True]


def test_where_the_application_proceeds_a_person_is_needed_in_the_end(pairs: Pairs) -> None:
    pairs.configure(PROCEEDS)
    pairs.client.flushall()
    done = pairs.place.main(*UNATTENDED)
    assert done.status == 7
    states = {one["step"]: one["code"] for one in done.document["items"]}
    assert states == {
        "stop-duplicates": "done",
        "refill": "done",
        "nothing-missing": "done",
        "as-diagnosed": "done",
        "blind-window": "parked",
    }
    assert done.summary["next"] == "idemctl runbook run store-data-loss --store payments"


def test_without_a_terminal_it_asks_for_the_flag_and_a_piped_yes_is_none(pairs: Pairs) -> None:
    pairs.client.flushall()
    process = pairs.place.start(*RUN, stdin=subprocess.PIPE)
    out, err = process.communicate("c\nc\ny\n", timeout=20)
    assert (process.returncode, out) == (2, "")
    assert "there is no terminal to ask on" in err
    assert "--yes" in err
    assert not pairs.names()


def test_a_protected_store_wants_its_name(pairs: Pairs) -> None:
    pairs.configure(PROTECTED)
    pairs.client.flushall()
    for words in ((), ("--confirm", "webhooks")):
        done = pairs.place.main(*RUN, "--yes", *words)
        assert done.status == 2
        assert "add --confirm payments" in done.err
    assert not pairs.names()
    assert pairs.place.main(*RUN, "--yes", "--confirm", "payments").status == 0
    assert pairs.names()


def test_a_server_that_is_down_ends_it_with_10(pairs: Pairs) -> None:
    pairs.place.lead(REDIS_URL="redis://127.0.0.1:1/0")
    done = pairs.place.main(*UNATTENDED)
    assert done.status == 10
    assert done.document["errors"][0]["message"].startswith("redis idem:*: cannot reach Redis")
    assert (done.summary["applies"], done.document["items"]) == (False, [])


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (("--store", "outbox"), 78, "outbox: not kept in both Postgres and Redis"),
        ((), 2, "several stores are configured"),
        (("--store", "payments", "--store", "webhooks"), 2, "walked through for one store"),
    ],
)
def test_a_walk_is_for_one_pair(
    pairs: Pairs, words: tuple[str, ...], status: int, says: str
) -> None:
    done = pairs.place.main("runbook", "run", "store-data-loss", "--yes", *words)
    assert done.status == status
    assert says in done.err


@pytest.fixture
def person(pairs: Pairs) -> Iterator[Person]:
    """Someone who types the walk after a flush."""
    pairs.client.flushall()
    made = Person(pairs.place, *RUN)
    yield made
    made.close()


QUESTION = "refill: c continue, s skip, w why, a abort? "


def test_a_person_sees_the_numbers_asks_why_and_goes_on(person: Person, pairs: Pairs) -> None:
    person.awaits(QUESTION)
    assert "missing" in person.shown
    assert not pairs.names()
    person.types("w\n")
    person.awaits("Each twin is written while its row in Postgres is held")
    person.types("yes please\n")
    person.awaits(QUESTION, times=3)
    person.types("c\n")
    assert person.ends() == 0
    assert "payments is recovered: store-data-loss was walked to its end" in person.shown
    assert pairs.names()


@pytest.mark.parametrize("answer", ["a\n", "\x04"], ids=["abort", "end of input"])
def test_a_person_may_end_it(person: Person, pairs: Pairs, answer: str) -> None:
    person.awaits(QUESTION)
    person.types(answer)
    assert person.ends() == 6
    assert "ended by the operator at refill" in person.shown
    assert not pairs.names()


def test_a_person_may_skip_a_step_and_says_why(person: Person, pairs: Pairs) -> None:
    person.awaits(QUESTION)
    person.types("s\n")
    person.awaits("why is it skipped? ")
    person.types("\n")
    person.awaits("why is it skipped? ", times=2)
    person.types("somebody else does it\n")
    assert person.ends() == 8
    assert "nothing-missing failed: " in person.shown
    assert not pairs.names()
    text: Any = [file.read_text("utf-8") for file in (pairs.place.state / "journals").iterdir()]
    assert any('"reason":"somebody else does it"' in one for one in text)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_at_the_question_ends_it(
    person: Person, pairs: Pairs, number: signal.Signals, status: int
) -> None:
    person.awaits(QUESTION)
    person.process.send_signal(number)
    assert person.ends() == status
    assert "stopped early" in person.shown
    assert not pairs.names()
    await_that(lambda: _backends(pairs) == 0, "no session is left", within=5)


def _backends(pairs: Pairs) -> int:
    [(count,)] = pairs.connection.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'idemctl%'"
        " AND datname = current_database()"
    ).fetchall()
    return int(count)

"""Walks through a book, with a table of fakes and an operator of few words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from idemctl.domain.outcomes import Report, WhyStopped
from idemctl.domain.runbooks import Book, Condition, Kind, State, Step
from idemctl.errors import ExitStatus, Locked, Unreachable
from idemctl.operations.runbook import Choice, Decision, run_book
from tests.operations.tables import NOW, Follower, a_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from idemctl.domain.runbooks import Taken
    from idemctl.errors import IdemctlError
    from idemctl.operations.runbook import Outcome
    from idemctl.run.run import Run

NONE_MISSING = (Condition(fact="missing", comparison="eq", value=0),)


def step(name: str, kind: Kind, *words: str, **more: Any) -> Step:
    return Step(id=name, title=name, kind=kind, why="because", words=words, **more)


BOOK = Book(
    id="flush",
    title="title",
    failure_mode="store-data-loss",
    meaning="m",
    impact="i",
    applies_when=(Condition(fact="signs", comparison="ge", value=1),),
    steps=(
        step("know", Kind.NOTE, text="know this"),
        step("refill", Kind.ACTION, "reconcile", "--apply"),
        step("proof", Kind.CHECK, "reconcile", expects=NONE_MISSING),
        step(
            "call",
            Kind.MANUAL,
            text="call them",
            when=(Condition(fact="on_redis_miss", comparison="ne", value="postgres"),),
        ),
    ),
)


def report(status: ExitStatus = ExitStatus.OK, **facts: Any) -> Report:
    return Report(
        command="fake",
        status=status,
        store=None,
        run_id="fake-run",
        started_at=NOW,
        finished_at=NOW,
        summary=facts | {"stores": [{}]},
        headline=f"ended with {status.label}",
    )


@dataclass
class World:
    """A pair that was flushed, and verbs that see and cure it."""

    missing: int = 1000
    on_redis_miss: str = "postgres"
    heals: bool = True
    fails: dict[str, IdemctlError | ExitStatus] = field(default_factory=dict)
    called: list[str] = field(default_factory=list)

    def verbs(self) -> dict[str, Any]:
        return {"diagnose": self.diagnose, "reconcile": self.reconcile}

    def diagnose(self, words: Sequence[str]) -> Report:
        status = self._called("diagnose", words)
        found = ExitStatus.FINDINGS if self.missing else ExitStatus.OK
        signs = 2 if self.missing else 0
        return report(status or found, signs=signs, on_redis_miss=self.on_redis_miss)

    def reconcile(self, words: Sequence[str]) -> Report:
        status = self._called("reconcile", words)
        if "--apply" in words and self.heals:
            self.missing = 0
        found = ExitStatus.FINDINGS if self.missing else ExitStatus.OK
        return report(status or found, missing=self.missing)

    def _called(self, verb: str, words: Sequence[str]) -> ExitStatus | None:
        said = " ".join([verb, *words])
        self.called.append(said)
        failure = self.fails.get(said)
        if isinstance(failure, Exception):
            raise failure
        return failure


@dataclass
class Operator:
    """Answers as it was told; else goes on."""

    answers: dict[str, Decision] = field(default_factory=dict)
    heard: list[str] = field(default_factory=list)
    plans: dict[str, Report | None] = field(default_factory=dict)
    seen: list[tuple[str, str]] = field(default_factory=list)

    def hears_of(self, step: Step, number: int, count: int) -> None:
        self.heard.append(f"{number}/{count} {step.id}")

    def decides(self, step: Step, plan: Report | None) -> Decision:
        self.plans[step.id] = plan
        return self.answers.get(step.id, Decision(choice=Choice.GO_ON))

    def sees(self, taken: Taken, result: Report | None) -> None:
        self.seen.append((taken.step.id, taken.state))


def walk(world: World, operator: Operator | None = None, run: Run | None = None) -> Outcome:
    verbs = world.verbs()
    return run_book(BOOK, "payments", verbs, operator or Operator(), run or a_run())


def states(outcome: Outcome) -> dict[str, State]:
    return {taken.step.id: taken.state for taken in outcome.walk.behind}


def test_a_flush_is_cured_step_by_step() -> None:
    world, operator = World(), Operator()
    outcome = walk(world, operator)
    assert outcome.status is ExitStatus.OK
    assert world.called == ["diagnose", "reconcile", "reconcile --apply", "reconcile"]
    assert operator.heard == ["1/4 know", "2/4 refill", "3/4 proof"]
    assert states(outcome) == {
        "know": State.DONE,
        "refill": State.DONE,
        "proof": State.DONE,
        "call": State.NOT_SELECTED,
    }


def test_the_operator_sees_the_numbers_before_an_action() -> None:
    operator = Operator()
    walk(World(missing=41), operator)
    plan = operator.plans["refill"]
    assert plan is not None
    assert plan.summary["missing"] == 41


def test_a_book_that_does_not_apply_is_not_begun() -> None:
    world = World(missing=0)
    outcome = walk(world)
    assert (outcome.status, outcome.applies) == (ExitStatus.OK, False)
    assert world.called == ["diagnose"]
    assert outcome.walk.behind == ()


def test_what_cannot_be_judged_is_not_begun_either() -> None:
    world = World(fails={"diagnose": ExitStatus.UNREACHABLE})
    outcome = walk(world)
    assert (outcome.status, outcome.applies) == (ExitStatus.UNREACHABLE, False)
    assert world.called == ["diagnose"]


@pytest.mark.parametrize(
    ("choice", "called", "state", "status"),
    [
        (Choice.ABORT, 2, State.DECLINED, ExitStatus.DECLINED),
        (Choice.PARK, 2, State.PARKED, ExitStatus.WAITING),
        (Choice.SKIP, 3, State.SKIPPED, ExitStatus.NOT_RECOVERED),
    ],
)
def test_what_the_operator_did_not_want_is_not_done(
    choice: Choice, called: int, state: State, status: ExitStatus
) -> None:
    world = World()
    operator = Operator(answers={"refill": Decision(choice=choice, reason="not now")})
    outcome = walk(world, operator)
    assert outcome.status is status
    assert states(outcome)["refill"] is state
    assert world.called == ["diagnose", "reconcile", "reconcile"][:called]
    assert world.missing == 1000


def test_a_cure_that_does_not_cure_is_noticed() -> None:
    outcome = walk(World(heals=False))
    assert outcome.status is ExitStatus.NOT_RECOVERED
    assert outcome.walk.behind[-1].said == "ended with findings, expected ok"


def test_a_step_for_a_person_is_taken_where_it_is_meant() -> None:
    outcome = walk(World(on_redis_miss="proceed"))
    assert states(outcome)["call"] is State.DONE
    parked = Operator(answers={"call": Decision(choice=Choice.PARK)})
    outcome = walk(World(on_redis_miss="proceed"), parked)
    assert outcome.status is ExitStatus.WAITING
    assert states(outcome)["proof"] is State.DONE


@pytest.mark.parametrize(
    ("fails", "status", "at"),
    [
        ({"reconcile": ExitStatus.DENIED}, ExitStatus.DENIED, "refill"),
        ({"reconcile --apply": ExitStatus.INTERRUPTED}, ExitStatus.INTERRUPTED, "refill"),
        ({"reconcile --apply": Locked("another")}, ExitStatus.LOCKED, "refill"),
        ({"reconcile": Unreachable("gone")}, ExitStatus.UNREACHABLE, "refill"),
    ],
)
def test_what_a_verb_met_ends_the_walk_with_its_own_status(
    fails: dict[str, IdemctlError | ExitStatus], status: ExitStatus, at: str
) -> None:
    outcome = walk(World(fails=fails))
    assert outcome.status is status
    assert states(outcome)[at] is State.FAILED
    assert (outcome.failure is not None) == isinstance(next(iter(fails.values())), Exception)


def test_an_action_that_left_something_goes_on_to_the_proof() -> None:
    world = World(fails={"reconcile --apply": ExitStatus.PARTIAL})
    outcome = walk(world)
    assert outcome.status is ExitStatus.OK
    assert states(outcome)["proof"] is State.DONE


def test_a_signal_between_steps_ends_the_walk_there() -> None:
    run = a_run()
    world = World()

    class Impatient(Operator):
        def sees(self, taken: Taken, result: Report | None) -> None:
            if taken.step.id == "refill":
                run.stop.ask(WhyStopped.TERMINATED)

    outcome = walk(world, Impatient(), run)
    assert outcome.status is ExitStatus.TERMINATED
    assert list(states(outcome)) == ["know", "refill"]
    assert world.missing == 0


def test_the_journal_holds_each_step_from_its_beginning_to_its_end() -> None:
    journal = Follower()
    run = a_run(journal=journal)
    walk(World(), run=run)
    events = [(event, facts.get("step"), facts.get("state")) for event, facts in journal.heard]
    assert events == [
        ("diagnosis", None, None),
        ("step-start", "know", None),
        ("step-end", "know", "done"),
        ("step-start", "refill", None),
        ("decision", "refill", None),
        ("step-end", "refill", "done"),
        ("step-start", "proof", None),
        ("step-end", "proof", "done"),
    ]
    [_, end] = [facts for event, facts in journal.heard if facts.get("step") == "proof"]
    assert end["run_id"] == "fake-run"
    assert end["facts"] == {"missing": 0}


def test_why_a_step_was_skipped_is_kept() -> None:
    journal = Follower()
    operator = Operator(answers={"refill": Decision(choice=Choice.SKIP, reason="at night only")})
    walk(World(), operator, a_run(journal=journal))
    [decision] = [facts for event, facts in journal.heard if event == "decision"]
    assert (decision["choice"], decision["reason"]) == ("skip", "at night only")

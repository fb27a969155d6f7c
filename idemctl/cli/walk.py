"""Who walks along through a runbook: a person on a terminal, or nobody."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from idemctl.cli.operator import answer
from idemctl.cli.verb import Work
from idemctl.domain.runbooks import Kind, State
from idemctl.errors import Declined
from idemctl.operations.runbook import Choice, Decision
from idemctl.render.formats import Format, show
from idemctl.render.inert import plain
from idemctl.render.runbook import what

if TYPE_CHECKING:
    from idemctl.domain.outcomes import Report
    from idemctl.domain.runbooks import Step, Taken

INSTEAD = "--yes"


@dataclass(slots=True, kw_only=True)
class Unattended:
    """Nobody: actions are taken, and what only a person can do is left. See `Operator`."""

    work: Work

    def hears_of(self, step: Step, number: int, count: int) -> None:
        """See `Operator.hears_of`."""
        self._say("")
        self._say(f"step {number} of {count}, {step.id} ({step.kind}): {step.title}")
        self._say(f"  {what(step)}")

    def decides(self, step: Step, plan: Report | None) -> Decision:
        """See `Operator.decides`."""
        self._show(plan)
        return Decision(choice=Choice.PARK if step.kind is Kind.MANUAL else Choice.GO_ON)

    def sees(self, taken: Taken, result: Report | None) -> None:
        """See `Operator.sees`."""
        if result is not None and taken.state is State.FAILED:
            self._show(result)
        self._say(f"  {taken.state}" + (f": {taken.said}" if taken.said else ""))

    def _show(self, report: Report | None) -> None:
        if report is not None:
            show(report, Format.TABLE, self.work.story, color=False)

    def _say(self, line: str) -> None:
        self.work.story.write(plain(line) + "\n")
        self.work.story.flush()


@dataclass(slots=True, kw_only=True)
class Person(Unattended):
    """A person, who is asked before each action and does what is manual."""

    typed: str | None
    """What has to be typed before the first action; `None` where a letter is enough."""
    _is_sure: bool = field(default=False, init=False)

    def decides(self, step: Step, plan: Report | None) -> Decision:
        """See `Operator.decides`; the end of input is an answer, and it is no."""
        self._show(plan)
        try:
            return self._asked(step)
        except Declined:
            return Decision(choice=Choice.ABORT)

    def _asked(self, step: Step) -> Decision:
        done = "it is done, continue" if step.kind is Kind.MANUAL else "continue"
        prompt = f"{step.id}: c {done}, s skip, w why, a abort? "
        while True:
            match self._answer(prompt).lower():
                case "c" | "continue" if self._confirms(step):
                    return Decision(choice=Choice.GO_ON)
                case "s" | "skip":
                    return Decision(choice=Choice.SKIP, reason=self._reason())
                case "w" | "why":
                    self._say(f"  {step.why}")
                case "a" | "abort":
                    return Decision(choice=Choice.ABORT)

    def _confirms(self, step: Step) -> bool:
        """Let a protected store's name be typed, once."""
        if step.kind is Kind.ACTION and self.typed is not None and not self._is_sure:
            self._is_sure = self._answer(f"protected; type {self.typed} to go on: ") == self.typed
            return self._is_sure
        return True

    def _reason(self) -> str:
        while not (reason := self._answer("why is it skipped? ")):
            pass
        return reason

    def _answer(self, prompt: str) -> str:
        self.work.speech.end_progress()
        return answer(prompt, instead=INSTEAD, stop=self.work.run.stop)

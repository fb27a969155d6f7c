"""store beat: raises the witness of a store, unless that would hide what it tells."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from idemctl.domain.sight import Engine
from idemctl.domain.verdicts import Verdict
from idemctl.domain.witness import Trace
from idemctl.errors import ConfigError, ExitStatus, worst
from idemctl.run.writing import writing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from idemctl.domain.verdicts import Judgement
    from idemctl.domain.witness import Witness
    from idemctl.run.copies import Beat
    from idemctl.run.keeper import Keeper
    from idemctl.run.run import Run
    from idemctl.run.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Beaten:
    """What came of one store."""

    store: str
    judgement: Judgement
    witness: Witness | None
    """The new one; `None` where nothing was written."""

    @property
    def status(self) -> ExitStatus:
        """Grade one store."""
        if self.judgement.may_beat:
            return ExitStatus.OK
        if self.judgement.verdict is Verdict.UNKNOWN:
            return ExitStatus.UNREACHABLE
        return ExitStatus.FINDINGS

    @property
    def is_first(self) -> bool:
        """Whether there was no witness before."""
        return self.judgement.trace is Trace.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of all of them."""

    apply: bool
    beaten: tuple[Beaten, ...]

    @property
    def status(self) -> ExitStatus:
        """The exit status of the whole."""
        return worst(one.status for one in self.beaten)


def beat(
    targets: Iterable[Target], keepers: Mapping[str, Keeper], run: Run, *, apply: bool
) -> Outcome:
    """Raise the witness of each store, or say what a beat would hide.

    Raises:
        ConfigError: a store can have no witness.
        Refused: a store is frozen, or its Postgres went back in time.
        IdemctlError: a copy cannot be read or written.
    """
    tables = {target.store: target for target in targets if target.engine is Engine.POSTGRES}
    for keeper in keepers.values():
        refuse_witnessless(keeper)
    beaten = []
    for name, keeper in keepers.items():
        run.checkpoint()
        made = _beat(tables[name], run) if apply else None
        if made is None:
            with keeper.opened(writable=False) as kept:
                looked = kept.look()
                if looked.failure is not None:
                    raise looked.failure
                beaten.append(Beaten(store=name, judgement=kept.judge(looked, run), witness=None))
        else:
            beaten.append(Beaten(store=name, judgement=made.judgement, witness=made.witness))
    return Outcome(apply=apply, beaten=tuple(beaten))


def refuse_witnessless(keeper: Keeper) -> None:
    """Refuse what needs a witness where there can be none.

    Raises:
        ConfigError: always then, with what to configure.
    """
    if keeper.postgres is None:
        raise ConfigError(
            f"{keeper.store}: no witness: {keeper.why_no_witness}",
            hint="idemctl schema own | psql makes the tables; then say state: {schema: idemctl}",
        )


def _beat(target: Target, run: Run) -> Beat | None:
    with (
        closing(target.opens.open(writable=False)) as store,
        writing(target.store, store, run) as door,
    ):
        failure = door.end_well()
        if failure is not None:
            raise failure
        return door.beat

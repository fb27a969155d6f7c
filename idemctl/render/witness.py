"""What the witness of a store says, for people and for machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from idemctl.domain.verdicts import Verdict
from idemctl.domain.witness import Trace
from idemctl.render.envelope import failure, instant
from idemctl.render.figures import count, when

if TYPE_CHECKING:
    from collections.abc import Iterator

    from idemctl.domain.freezes import Freeze
    from idemctl.domain.verdicts import Judgement, Sample
    from idemctl.domain.witness import Witness
    from idemctl.run.copies import Copy

_TRACES = {
    Trace.NONE: "there is no witness yet",
    Trace.CONTINUOUS: "all copies go together",
    Trace.REDIS_MISSING: "the copy in Redis is gone",
    Trace.REDIS_BEHIND: "the copy in Redis is older than the one in Postgres",
    Trace.POSTGRES_BEHIND: "the copy in Postgres is older than another one",
    Trace.BOTH_BEHIND: "both stores' copies are older than the one in the state folder",
    Trace.STRANGERS: "the copy in Redis belongs to another store",
}
_VERDICTS = {
    Verdict.NORMAL: "normal",
    Verdict.REDIS_RESTARTED: "Redis restarted, and lost nothing",
    Verdict.PROMOTED: "Postgres was promoted, and lost nothing",
    Verdict.NEW_CLUSTER: "Postgres is another cluster than before",
    Verdict.REDIS_FLUSHED: "Redis was flushed",
    Verdict.REDIS_RESTORED: "Redis went back in time",
    Verdict.POSTGRES_RESTORED: "Postgres went back in time",
    Verdict.BOTH_RESTORED: "both stores went back in time",
    Verdict.UNKNOWN: "cannot judge",
}


def verdict_said(judgement: Judgement) -> str:
    """Say the verdict, and the signs that it stands on, in a clause."""
    verdict = _VERDICTS[judgement.verdict]
    if judgement.trace is Trace.CONTINUOUS:
        return verdict
    return f"{verdict}: {'; '.join([_TRACES[judgement.trace], *_second(judgement)])}"


def witness_lines(name: str, judgement: Judgement | None) -> Iterator[str]:
    """Say of a store what a person should know: nothing, where nothing was lost."""
    if judgement is not None and not judgement.verdict.is_well:
        yield f"{name}: witness: {verdict_said(judgement)}"


def judgement_fields(judgement: Judgement | None) -> dict[str, Any] | None:
    """Give a verdict with its signs."""
    if judgement is None:
        return None
    return {
        "verdict": judgement.verdict.value,
        "copies": judgement.trace.value,
        "sample_says": judgement.sample_says,
        "server_says": judgement.server_says,
        "missing_in_redis": _sample(judgement.in_redis),
        "missing_in_postgres": _sample(judgement.in_postgres),
        "says": verdict_said(judgement),
    }


def witness_fields(witness: Witness | None) -> dict[str, Any] | None:
    """Give one copy."""
    if witness is None:
        return None
    return {
        "epoch": witness.epoch,
        "beats": witness.beats,
        "beat_at": instant(witness.beat_at),
        "fence": witness.fence,
    }


def freeze_fields(freeze: Freeze | None) -> dict[str, Any] | None:
    """Give a freeze."""
    if freeze is None:
        return None
    return {
        "by": freeze.by,
        "reason": freeze.reason,
        "run_id": freeze.run_id,
        "frozen_at": instant(freeze.frozen_at),
        "until": instant(freeze.until),
    }


def _second(judgement: Judgement) -> list[str]:
    said = []
    for sample, store in ((judgement.in_redis, "Redis"), (judgement.in_postgres, "Postgres")):
        if sample is not None and sample.is_enough:
            lacks = f"{sample.missing:,} of {count(sample.asked, 'record')}"
            said.append(f"{store} lacks {lacks} that it was asked for")
        elif sample is not None:
            said.append(f"only {count(sample.asked, 'record')} to ask {store} for")
    if judgement.server_says:
        said.append("a server tells of a restart or a loss since")
    elif judgement.trace not in {Trace.NONE, Trace.STRANGERS}:
        said.append("no server tells of a restart or a loss since")
    return said


def _sample(sample: Sample | None) -> dict[str, int] | None:
    return None if sample is None else {"asked": sample.asked, "missing": sample.missing}


def copy_fields(copy: Copy) -> dict[str, Any]:
    """Give what one place holds."""
    return {
        "in": copy.name,
        "place": copy.place,
        "witness": witness_fields(copy.witness),
        "freeze": freeze_fields(copy.freeze),
        "error": None if copy.failure is None else failure(copy.failure),
    }


def copy_row(store: str, copy: Copy) -> tuple[str, ...]:
    """Show what one place holds."""
    if copy.failure is not None:
        return store, copy.name, f"cannot be read: {copy.failure.message}", "-", "-", "-"
    witness, freeze = copy.witness, copy.freeze
    return (
        store,
        copy.name,
        "none" if witness is None else f"{witness.beats:,}, at {when(witness.beat_at)}",
        "-" if witness is None else str(witness.epoch),
        "-" if witness is None or witness.fence is None else f"{witness.fence:,}",
        "no" if freeze is None else f"until {when(freeze.until)}",
    )

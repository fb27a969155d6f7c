"""Stores that lost what they knew: the verdict of the witness, which takes two signs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from idemctl.checks.check import POSTGRES, REDIS, Check, Source, Told
from idemctl.domain.circumstances import Unseen
from idemctl.domain.findings import Severity
from idemctl.domain.verdicts import Verdict
from idemctl.domain.witness import Trace

if TYPE_CHECKING:
    from collections.abc import Callable

    from idemctl.checks.check import Facts
    from idemctl.domain.verdicts import Judgement

_UNSURE = {
    Trace.NONE: "there is no witness yet; idemctl store beat --apply makes one",
    Trace.STRANGERS: "the witness in Redis belongs to another store",
}


def _is(verdict: Verdict) -> Callable[[Judgement, Facts], Told | Unseen | None]:
    def look(judgement: Judgement, _facts: Facts) -> Told | Unseen | None:
        if judgement.verdict is Verdict.UNKNOWN:
            return Unseen(_UNSURE.get(judgement.trace, "the witness is one sign, and stands alone"))
        if judgement.verdict is not verdict:
            return None
        sample = judgement.in_redis or judgement.in_postgres
        said = ["the witness"]
        if judgement.sample_says and sample is not None:
            said.append(f"{sample.missing:,} of {sample.asked:,} records that are not there")
        if judgement.server_says:
            said.append("the server's own account")
        return Told(evidence=f"two signs say so: {', and '.join(said)}")

    return look


REDIS_FLUSHED = Check(
    code="redis-flushed",
    severity=Severity.CRITICAL,
    engines=REDIS,
    source=Source.WITNESS,
    look=_is(Verdict.REDIS_FLUSHED),
    what="The [witness](store.md) is gone from Redis, and a second sign says the same of records.",
    why="An application that goes on without looking into Postgres takes every retry for a new "
    "request.",
    next="idemctl reconcile --store {store}",
)
REDIS_RESTORED = Check(
    code="redis-restored",
    severity=Severity.CRITICAL,
    engines=REDIS,
    source=Source.WITNESS,
    look=_is(Verdict.REDIS_RESTORED),
    what="The [witness](store.md) in Redis is older than the one in Postgres, and a second sign "
    "says that Redis went back in time: an old file, or a failover that lost writes.",
    why="What was written since is missing, and what changed since tells its old state.",
    next="idemctl reconcile --store {store}",
)
POSTGRES_RESTORED = Check(
    code="postgres-restored",
    severity=Severity.CRITICAL,
    engines=POSTGRES,
    source=Source.WITNESS,
    look=_is(Verdict.POSTGRES_RESTORED),
    what="The [witness](store.md) in Postgres is older than another copy, and a second sign says "
    "that Postgres went back in time.",
    why="What it forgot may have been done: collecting or filling by it makes that worse, and its "
    "next fences are given out for the second time.",
    next="idemctl store show --store {store}",
)
BOTH_RESTORED = Check(
    code="both-restored",
    severity=Severity.CRITICAL,
    engines=POSTGRES,
    source=Source.WITNESS,
    look=_is(Verdict.BOTH_RESTORED),
    what="The [witness](store.md) in both stores is older than the one in the state folder, and a "
    "server tells of a restart since.",
    why="Both stores agree on what both forgot: no comparison of the two can show it.",
    next="idemctl store show --store {store}",
)

CHECKS = (REDIS_FLUSHED, REDIS_RESTORED, POSTGRES_RESTORED, BOTH_RESTORED)

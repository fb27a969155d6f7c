"""Twins that differ: what the comparison of a pair finds, each difference seen twice."""

from __future__ import annotations

from idemctl.checks.check import REDIS, Check, Source
from idemctl.domain.findings import Severity

MISSING = Check(
    code="missing",
    severity=Severity.WARNING,
    engines=REDIS,
    source=Source.TWINS,
    evidence=lambda _found, _facts: "expected in Redis, and only in Postgres",
    what="A record that Redis owes, and has not.\n"
    "What Redis owes is said in [reconcile](reconcile.md).",
    why="A retry is answered slowly where the application falls back to Postgres, and carried "
    "out again where it does not.",
    next="idemctl reconcile --store {store}",
)
ORPHAN = Check(
    code="orphan",
    severity=Severity.ERROR,
    engines=REDIS,
    source=Source.TWINS,
    evidence=lambda _found, _facts: "in Redis, and Postgres has no row",
    what="A key in Redis without a row in Postgres.",
    why="Postgres has lost rows, or never had them: when the key expires in Redis, the only "
    "proof that the work was done is gone.",
    next="idemctl runbook show store-data-loss",
)
STALE = Check(
    code="stale",
    severity=Severity.WARNING,
    engines=REDIS,
    source=Source.TWINS,
    evidence=lambda _found, _facts: "an older version in Redis than in Postgres",
    what="A twin that is older than its row.",
    why="Redis still says that work is in progress which was done: its retries are turned away "
    "until the key expires.",
    next="idemctl reconcile --store {store}",
)
DIVERGENT = Check(
    code="divergent",
    severity=Severity.CRITICAL,
    engines=REDIS,
    source=Source.TWINS,
    evidence=lambda _found, _facts: "Redis and Postgres contradict each other",
    what="Twins of one version that tell of different requests or responses, or a twin that is "
    "ahead of its row.",
    why="The same key stands for two requests or two responses, and which one a retry gets "
    "depends on the store that answers.",
    next="idemctl reconcile --store {store}",
)

CHECKS = (MISSING, ORPHAN, STALE, DIVERGENT)

"""Rules about the key, what it is compared with, and where it is looked for."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from idemctl.domain.findings import Severity
from idemctl.domain.policies import Class, KeyPlace, Maker, Reads
from idemctl.domain.policy_rules.rule import Rule, Said
from idemctl.domain.records import Pattern

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from idemctl.domain.policies import EndpointPolicy

_TENANTS = re.compile(
    r"(tenant|organi[sz]ation|org|account|workspace|merchant|shop|team)s?([_-]?(id|slug))?",
    re.IGNORECASE,
)
"""Words for those who share an application and must not share keys."""
_VOLATILE = re.compile(
    r"(.*[_-])?(timestamp|time|date|now|nonce|attempt|retry|retry[_-]?count|trace[_-]?id|"
    r"traceparent|request[_-]?id|correlation[_-]?id|signature|sent[_-]?at|created[_-]?at|"
    r"updated[_-]?at|expires[_-]?at|user[_-]?agent|delivery[_-]?id)",
    re.IGNORECASE,
)
"""Words for what changes from one try to the next."""


def _server_made(policy: EndpointPolicy, _now: datetime) -> Iterator[Said]:
    if policy.made_by is Maker.SERVER:
        yield Said(
            "made_by",
            "a key that the server makes is a new one with each request: it recognises none",
            "let the client or the provider send it, or derive it from what the request says",
        )


def _financial(policy: EndpointPolicy, _now: datetime) -> Iterator[Said]:
    if policy.stakes is Class.FINANCIAL and policy.reads is not Reads.PRIMARY_ONLY:
        said = "not said to be" if policy.reads is None else "not"
        yield Said(
            "class" if policy.reads is None else "reads",
            f"money moves, and the key is {said} looked for on the primary alone: a replica that "
            "lags does not know it yet, and the money moves twice",
            "write reads: primary-only, and see that the application does so",
        )


def _unscoped(policy: EndpointPolicy, _now: datetime) -> Iterator[Said]:
    route = policy.route
    if route is None or policy.scope:
        return
    # `/tenants/{id}` says it with the text before, `/{tenant}` with the parameter's own name.
    ahead = [
        one.before
        for one, two in itertools.pairwise(route.segments)
        if one.is_text and not two.is_text
    ]
    whose = next((word for word in (*ahead, *route.parameters) if _TENANTS.fullmatch(word)), None)
    if whose is not None:
        yield Said(
            "endpoint",
            f"the path is one of many ({whose}), and nothing but the key tells theirs apart: two "
            "who choose the same key get each other's answer",
            "write as scope what names whose key it is, such as scope: [tenant]",
        )


def _volatile(policy: EndpointPolicy, _now: datetime) -> Iterator[Said]:
    if policy.pattern is not Pattern.BODY_HASH or policy.fingerprint is None:
        return
    for position, name in enumerate(policy.fingerprint.hashed):
        if _VOLATILE.fullmatch(re.split(r"[.\[\]:]+", name.strip("]"))[-1]):
            yield Said(
                ("fingerprint", "hashed", position),
                f"{name} changes from one try to the next, and with it the hash: no retry is "
                "recognised",
                f"leave {name} out of the hash",
            )


def _not_in_path(policy: EndpointPolicy, _now: datetime) -> Iterator[Said]:
    key, route = policy.key, policy.route
    if key is None or route is None or key.place is not KeyPlace.PATH:
        return
    if key.name not in route.parameters:
        known = ", ".join(route.parameters) or "none"
        yield Said(
            ("key", "name"),
            f"the path has no parameter {key.name!r} in which a key could travel; it has {known}",
            f"write the path with {{{key.name}}}, or where the key really is",
        )


RULES = (
    Rule(
        code="server-made-key",
        severity=Severity.ERROR,
        what="the server makes the key: each request gets a new one, and none is recognised",
        judge=_server_made,
    ),
    Rule(
        code="financial-not-primary-only",
        severity=Severity.ERROR,
        what="`class: financial` without `reads: primary-only`: a replica that lags does not know "
        "the key yet",
        judge=_financial,
    ),
    Rule(
        code="unscoped-key",
        severity=Severity.ERROR,
        what="the path names a tenant, an account or the like, and there is no `scope`: two who "
        "choose the same key get each other's answer",
        judge=_unscoped,
    ),
    Rule(
        code="volatile-fingerprint",
        severity=Severity.ERROR,
        what="a body-hash over what changes from one try to the next, such as a timestamp",
        judge=_volatile,
    ),
    Rule(
        code="key-not-in-path",
        severity=Severity.ERROR,
        what="`key: {in: path}` names no parameter of the path",
        judge=_not_in_path,
    ),
)

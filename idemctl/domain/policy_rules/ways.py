"""Rules about who may come back, and how late."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from idemctl.domain.durations import format_duration
from idemctl.domain.findings import Severity
from idemctl.domain.horizons import Certainty
from idemctl.domain.policies import Maker
from idemctl.domain.policy_rules.rule import Rule, Said
from idemctl.domain.records import Pattern

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from idemctl.domain.horizons import Hop, Provider, ReplayPath
    from idemctl.domain.policies import EndpointPolicy

    At = tuple[str | int, ...]

STALE_AFTER = timedelta(days=365)
"""How old a comparison with a provider's page may be: they do change their windows."""


def cannot_judge(policy: EndpointPolicy) -> bool:
    """Tell whether a way back is named whose length nobody knows."""
    return policy.pattern is not Pattern.BODY_HASH and any(path.unknown for path in policy.replay)


def _too_short(policy: EndpointPolicy, _now: datetime) -> Iterator[Said]:
    needed, path = policy.required, policy.longest
    if needed is None or path is None or policy.ttl >= needed.ttl:
        return
    short, missing = format_duration(needed.ttl), needed.window - policy.ttl
    if missing > timedelta():
        lacks = f"{format_duration(missing)} are missing, and a margin of "
    else:
        lacks = "that is reached, but not the margin of "
    yield Said(
        "ttl",
        f"ttl {format_duration(policy.ttl)} is too short: {_comes_back(path)}; {lacks}"
        f"{format_duration(needed.margin)} beside; together {short} in whole hours{_noted(path)}",
        f"write ttl: {short}, or longer",
    )


def _comes_back(path: ReplayPath) -> str:
    total = format_duration(path.at_least)
    if len(path.hops) == 1:
        [hop] = path.hops
        if hop.provider is not None:
            return f"{hop.label} may be delivered again for {total}{_disputed(hop.provider)}"
        return f"by its {hop.label} a request may come back for {total}"
    sum_of = " + ".join(
        f"{hop.label} {format_duration(hop.length)}" for hop in path.hops if hop.length
    )
    return f"a request may come back for {total} ({sum_of})"


def _unknown(policy: EndpointPolicy, _now: datetime) -> Iterator[Said]:
    for at, hop in _hops(policy):
        if hop.length is not None or policy.pattern is Pattern.BODY_HASH:
            continue
        if hop.provider is not None:
            what = f"{hop.label} may be delivered again"
            note = f" ({hop.provider.note})" if hop.provider.note else ""
        else:
            what, note = f"the {hop.label} may hold a request", ""
        yield Said(
            at,
            f"cannot judge: for how long {what} is not known{note}",
            "ask who runs it, and choose a ttl that is longer than the answer",
        )


def _unsure(policy: EndpointPolicy, _now: datetime) -> Iterator[Said]:
    for at, provider, window in _known(policy):
        if provider.certainty is Certainty.LOW:
            note = f" ({provider.note})" if provider.note else ""
            yield Said(
                at,
                f"the window of {provider.product}, {window}, rests on hints alone{note}",
                _look(provider),
            )


def _stale(policy: EndpointPolicy, now: datetime) -> Iterator[Said]:
    for at, provider, window in _known(policy):
        if now.date() - provider.checked_on > STALE_AFTER:
            yield Said(
                at,
                f"the window of {provider.product}, {window}, was checked on "
                f"{provider.checked_on}, more than a year ago",
                f"take a newer idemctl, or {_look(provider)}",
            )


def _upstream(policy: EndpointPolicy, _now: datetime) -> Iterator[Said]:
    hops = (hop for path in policy.replay for hop in path.hops)
    retries = [hop.length for hop in hops if hop.way == "client_retry" and hop.length]
    longest, kept = max(retries, default=None), policy.upstream_key_ttl
    if longest is not None and kept is not None and kept < longest:
        yield Said(
            "upstream_key_ttl",
            f"the provider that is called forgets a key after {format_duration(kept)}, and "
            f"clients retry for {format_duration(longest)}: what they send late is done there "
            "a second time",
            "answer from the record and call nobody, or let clients give up before "
            f"{format_duration(kept)}",
        )


def _nothing_stable(policy: EndpointPolicy, _now: datetime) -> Iterator[Said]:
    if policy.made_by is Maker.DERIVED and (policy.key or policy.fingerprint):
        return
    for at, hop in _hops(policy):
        if hop.provider is not None and hop.provider.key_field is None:
            yield Said(
                at,
                f"{hop.label} carry no id that stays the same from one try to the next",
                "derive the key from what the message is about: write made_by: derived, and as "
                "key or fingerprint the fields that name it",
            )


def _hops(policy: EndpointPolicy) -> Iterator[tuple[At, Hop]]:
    for path in policy.replay:
        for hop in path.hops:
            inside = () if path.position is None else ("replay", path.position)
            yield (*inside, hop.way.value), hop


def _known(policy: EndpointPolicy) -> Iterator[tuple[At, Provider, str]]:
    # Of what is unknown nothing is claimed that could be doubted.
    for at, hop in _hops(policy):
        if hop.provider is not None and hop.provider.window is not None:
            yield at, hop.provider, format_duration(hop.provider.window)


def _look(provider: Provider) -> str:
    return f"read {provider.source}, and choose the ttl by what it says"


def _disputed(provider: Provider) -> str:
    if len(provider.windows) == 1:
        return ""
    said = ", ".join(format_duration(window) for window in sorted(provider.windows))
    return f" (sources say {said}; the longest counts)"


def _noted(path: ReplayPath) -> str:
    notes = [hop.provider.note for hop in path.hops if hop.provider and hop.provider.note]
    return f" ({'; '.join(notes)})" if notes else ""


RULES = (
    Rule(
        code="ttl-too-short",
        severity=Severity.ERROR,
        what="over before the longest way back is, with a margin",
        judge=_too_short,
    ),
    Rule(
        code="upstream-forgets-first",
        severity=Severity.WARNING,
        what="`upstream_key_ttl` is shorter than the longest `client_retry`: what comes late is "
        "done again by the provider that is called",
        judge=_upstream,
    ),
    Rule(
        code="no-stable-key",
        severity=Severity.ERROR,
        what="the provider sends no id that stays the same, and no key is derived from the "
        "message's own fields",
        judge=_nothing_stable,
    ),
    Rule(
        code="horizon-unsure",
        severity=Severity.WARNING,
        what="what is known of the provider's window rests on hints",
        judge=_unsure,
    ),
    Rule(
        code="horizon-stale",
        severity=Severity.WARNING,
        what="the window was compared with the provider's page more than a year ago",
        judge=_stale,
    ),
    Rule(
        code="horizon-unknown",
        severity=Severity.INFO,
        what="cannot judge: how long a way back is nobody knows, which is never zero; counted in "
        "`cannot_judge`",
        judge=_unknown,
    ),
)

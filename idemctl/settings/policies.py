"""Policy files: what each endpoint promises to those who send a request again."""

from __future__ import annotations

import difflib
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from idemctl.documents import InvalidDocument, Problem, read_document, read_model
from idemctl.domain.horizons import Hop, ReplayPath, Way
from idemctl.domain.policies import (
    Answers,
    EndpointPolicy,
    Exemption,
    Fingerprint,
    Key,
    Policies,
    Previously,
)
from idemctl.domain.policy_rules import CODES
from idemctl.domain.records import Pattern
from idemctl.domain.routes import parse_route
from idemctl.settings.policy_file import UNKNOWN, PolicyFile, Terms
from idemctl.settings.providers import find_provider

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import date
    from pathlib import Path

    from idemctl.documents import Document
    from idemctl.settings.policy_file import EndpointTerms, PathTerms

_PATTERNS = {pattern.label: pattern for pattern in Pattern}
_PLAIN = (
    "ttl",
    "reason",
    "made_by",
    "in_progress_timeout",
    "timeout",
    "redis_ttl",
    "upstream_key_ttl",
    "stakes",
    "effect",
    "reads",
    "owner",
)
"""Fields that mean in the domain what they say in the file."""


def read_policies(file: Path) -> Policies:
    """Read a policy file.

    Raises:
        ConfigError: it cannot be read, or is invalid, with the place.
    """
    return policies_in(read_document(file))


def policies_in(document: Document) -> Policies:
    """Give what a policy file promises; its endpoints keep the order of the document.

    Raises:
        InvalidDocument: it is no valid policy file, with a problem for each thing wrong.
    """
    model = read_model(document, PolicyFile)
    if problems := list(_loose_ends(document, model)):
        raise InvalidDocument(problems)
    return Policies(
        endpoints={one.endpoint: _policy(one, _said(one, model)) for one in model.endpoints}
    )


def _loose_ends(document: Document, model: PolicyFile) -> Iterator[Problem]:
    """Find what is wrong between the parts of a file whose parts are valid."""
    for number, one in enumerate(model.endpoints):
        at = ("endpoints", number)
        if one.inherits is not None and one.inherits not in model.profiles:
            said = f"no profile is called {one.inherits!r}{_meant(one.inherits, model.profiles)}"
            place = document.place((*at, "inherits"))
            yield Problem(place, f"endpoints.{number}.inherits: {said}")
        elif _said(one, model).get("ttl") is None:
            place = document.place(at, key=True)
            yield Problem(place, f"endpoints.{number}: the field 'ttl' is missing")
        for position, exemption in enumerate(one.exempt):
            if exemption.code not in CODES:
                where = (*at, "exempt", position, "code")
                said = f"no rule has the code {exemption.code!r}{_meant(exemption.code, CODES)}"
                yield Problem(document.place(where), f"{'.'.join(map(str, where))}: {said}")


def _meant(given: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(given, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _said(endpoint: EndpointTerms, model: PolicyFile) -> dict[str, Any]:
    """Give each field as the nearest one says it: the endpoint, its profile, the defaults."""
    said = _given(model.defaults)
    if endpoint.inherits is not None:
        said |= _given(model.profiles[endpoint.inherits])
    return said | _given(endpoint)


def _given(terms: Terms) -> dict[str, Any]:
    names = terms.model_fields_set & Terms.model_fields.keys()
    return {name: given for name in names if (given := getattr(terms, name)) is not None}


def _policy(one: EndpointTerms, said: dict[str, Any]) -> EndpointPolicy:
    given: dict[str, Any] = {name: said[name] for name in _PLAIN if name in said}
    if "pattern" in said:
        given["pattern"] = _PATTERNS[said["pattern"]]
    for name, kind in (("key", Key), ("fingerprint", Fingerprint), ("answers", Answers)):
        if name in said:
            given[name] = kind(**said[name].model_dump())
    if "rows_kept" in said:
        given["rows_kept"] = said["rows_kept"].model_dump(exclude_none=True)
    provider = find_provider(said["provider"]) if "provider" in said else None
    own = (ReplayPath(hops=(_hop(Way.PROVIDER, said["provider"]),)),) if provider else ()
    return EndpointPolicy(
        endpoint=one.endpoint,
        route=parse_route(one.endpoint),
        scope=said.get("scope", ()),
        provider=provider,
        replay=own + tuple(_path(*path) for path in enumerate(said.get("replay", ()))),
        previously=None
        if one.previously is None
        else Previously(ttl=one.previously.ttl, until=_end_of(one.previously.until)),
        exempt=tuple(
            Exemption(
                code=each.code, owner=each.owner, reason=each.reason, until=_end_of(each.until)
            )
            for each in one.exempt
        ),
        **given,
    )


def _path(position: int, terms: PathTerms) -> ReplayPath:
    hops = tuple(_hop(way, given) for way, given in terms.given.items())
    return ReplayPath(hops=hops, position=position)


def _hop(way: Way, given: str | timedelta) -> Hop:
    if isinstance(given, str):
        provider = find_provider(given)
        return Hop(way=way, length=provider.window, provider=provider)
    return Hop(way=way, length=None if given == UNKNOWN else given)


def _end_of(day: date) -> datetime:
    # The day named is owed whole: a promise ends with it, not before it.
    return datetime.combine(day, datetime.min.time(), UTC) + timedelta(days=1)

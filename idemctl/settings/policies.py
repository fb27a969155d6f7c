"""Policy files: for how long each endpoint promises to recognise a retry."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from idemctl.documents import read_document, read_model
from idemctl.domain.policies import EndpointPolicy, Policies, Previously
from idemctl.settings.model import Duration

if TYPE_CHECKING:
    from pathlib import Path


def _day(given: Any) -> Any:
    # Pydantic would take a number for seconds since 1970.
    try:
        day = date.fromisoformat(given) if isinstance(given, str) else given
    except ValueError:
        day = None
    if not isinstance(day, date) or day == date.max:
        raise ValueError("is a day, such as 2026-12-06")
    return day


def _storable(endpoint: str) -> str:
    if "\0" in endpoint:
        raise ValueError("holds a NUL, which no table can")
    return endpoint


class _Previously(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    ttl: Duration
    until: Annotated[date, BeforeValidator(_day)]


class _Endpoint(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    endpoint: Annotated[str, Field(min_length=1), AfterValidator(_storable)]
    ttl: Duration
    previously: _Previously | None = None


def _named_once(endpoints: list[_Endpoint]) -> list[_Endpoint]:
    seen: set[str] = set()
    for one in endpoints:
        if one.endpoint in seen:
            raise ValueError(f"{one.endpoint} is named twice")
        seen.add(one.endpoint)
    return endpoints


class _PolicyFile(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    version: Literal[1]
    endpoints: Annotated[list[_Endpoint], AfterValidator(_named_once)]


def read_policies(file: Path) -> Policies:
    """Read a policy file.

    Raises:
        ConfigError: it cannot be read, or is invalid, with the place.
    """
    model = read_model(read_document(file), _PolicyFile)
    return Policies(endpoints={one.endpoint: _policy(one) for one in model.endpoints})


def _policy(given: _Endpoint) -> EndpointPolicy:
    previously = None
    if given.previously is not None:
        # The day named is owed whole: a promise ends with it, not before it.
        midnight = datetime.combine(given.previously.until, datetime.min.time(), UTC)
        previously = Previously(ttl=given.previously.ttl, until=midnight + timedelta(days=1))
    return EndpointPolicy(endpoint=given.endpoint, ttl=given.ttl, previously=previously)

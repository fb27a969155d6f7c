"""Policy files: for how long each endpoint promises to recognise a retry."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from idemctl.documents import read_document, read_model
from idemctl.domain.policies import EndpointPolicy, Policies, Previously
from idemctl.settings.model import Day, Duration
from idemctl.settings.providers import find_provider

if TYPE_CHECKING:
    from pathlib import Path

    from idemctl.documents import Document


def _storable(endpoint: str) -> str:
    if "\0" in endpoint:
        raise ValueError("holds a NUL, which no table can")
    return endpoint


def _provided(name: str) -> str:
    find_provider(name)
    return name


class _Previously(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    ttl: Duration
    until: Day


class _Endpoint(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    endpoint: Annotated[str, Field(min_length=1), AfterValidator(_storable)]
    ttl: Duration
    previously: _Previously | None = None
    provider: Annotated[str, AfterValidator(_provided)] | None = None


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
    return policies_in(read_document(file))


def policies_in(document: Document) -> Policies:
    """Give what a policy file promises; its endpoints keep the order of the document.

    Raises:
        InvalidDocument: it is no valid policy file, with a problem for each thing wrong.
    """
    model = read_model(document, _PolicyFile)
    return Policies(endpoints={one.endpoint: _policy(one) for one in model.endpoints})


def _policy(given: _Endpoint) -> EndpointPolicy:
    previously = None
    if given.previously is not None:
        # The day named is owed whole: a promise ends with it, not before it.
        midnight = datetime.combine(given.previously.until, datetime.min.time(), UTC)
        previously = Previously(ttl=given.previously.ttl, until=midnight + timedelta(days=1))
    return EndpointPolicy(
        endpoint=given.endpoint,
        ttl=given.ttl,
        previously=previously,
        provider=None if given.provider is None else find_provider(given.provider),
    )

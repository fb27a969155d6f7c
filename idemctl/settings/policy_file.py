"""What a policy file may hold: the model behind `settings.policies` and its JSON Schema."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    model_validator,
)

from idemctl.domain.horizons import Way
from idemctl.domain.policies import Class, Effect, KeyPlace, Maker, Reads
from idemctl.domain.routes import parse_route
from idemctl.settings.kinds import Day, Duration, parse_length
from idemctl.settings.providers import find_provider

UNKNOWN = timedelta.max
"""Stands for the word `unknown` in a file: no length of a hop can be as long."""
_MODEL = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


def _storable(endpoint: str) -> str:
    if "\0" in endpoint:
        raise ValueError("holds a NUL, which no table can")
    parse_route(endpoint)
    return endpoint


def _provided(name: str) -> str:
    find_provider(name)
    return name


def _length(given: Any) -> timedelta:
    return UNKNOWN if given == "unknown" else parse_length(given)


Text = Annotated[str, Field(min_length=1)]
ProviderName = Annotated[str, AfterValidator(_provided)]
Length = Annotated[
    timedelta,
    BeforeValidator(_length),
    WithJsonSchema({"type": "string", "examples": ["4d", "unknown"]}),
]
HttpStatus = Annotated[int, Field(ge=400, le=499)]
PatternName = Literal[
    "postgres-unique", "redis-setnx", "url-path", "body-hash", "workflow", "outbox"
]


class KeyTerms(BaseModel):
    """Where the key travels."""

    model_config = _MODEL

    place: Annotated[KeyPlace, Field(alias="in")]
    name: Text
    format: Text | None = None


class FingerprintTerms(BaseModel):
    """What is hashed."""

    model_config = _MODEL

    hashed: Annotated[tuple[Text, ...], Field(min_length=1)]
    left_out: tuple[Text, ...] = ()


class AnswersTerms(BaseModel):
    """What a request is answered that found a record."""

    model_config = _MODEL

    mismatch: HttpStatus = 422
    conflict: HttpStatus = 409


class PathTerms(BaseModel):
    """One way back; what is given follows each other in this order, and adds up."""

    model_config = _MODEL

    provider: ProviderName | None = None
    queue: Length | None = None
    dead_letter_queue: Length | None = None
    client_retry: Length | None = None
    restore_window: Length | None = None

    @model_validator(mode="after")
    def _has_a_hop(self) -> PathTerms:
        if not self.given:
            raise ValueError(f"a way back has at least one of {', '.join(Way)}")
        return self

    @property
    def given(self) -> dict[Way, str | timedelta]:
        """The hops that the file names."""
        hops = {way: getattr(self, way.value) for way in Way}
        return {way: hop for way, hop in hops.items() if hop is not None}


class RowsTerms(BaseModel):
    """For how long rows stay that are no keys."""

    model_config = _MODEL

    outbox: Duration | None = None
    workflow: Duration | None = None


class PreviouslyTerms(BaseModel):
    """A longer ttl of before."""

    model_config = _MODEL

    ttl: Duration
    until: Day


class ExemptionTerms(BaseModel):
    """A rule that does not count here for a while."""

    model_config = _MODEL

    code: Text
    owner: Text
    reason: Text
    until: Day


class Terms(BaseModel):
    """What `defaults`, a profile and an endpoint may say alike; the nearest one counts."""

    model_config = _MODEL

    ttl: Duration | None = None
    reason: Text | None = None
    pattern: PatternName | None = None
    key: KeyTerms | None = None
    made_by: Maker | None = None
    scope: tuple[Text, ...] | None = None
    in_progress_timeout: Duration | None = None
    timeout: Duration | None = None
    redis_ttl: Duration | None = None
    upstream_key_ttl: Duration | None = None
    stakes: Annotated[Class | None, Field(alias="class")] = None
    effect: Effect | None = None
    reads: Reads | None = None
    fingerprint: FingerprintTerms | None = None
    answers: AnswersTerms | None = None
    provider: ProviderName | None = None
    replay: tuple[PathTerms, ...] | None = None
    rows_kept: RowsTerms | None = None
    owner: Text | None = None


class EndpointTerms(Terms):
    """One endpoint."""

    endpoint: Annotated[str, Field(min_length=1), AfterValidator(_storable)]
    inherits: Text | None = None
    previously: PreviouslyTerms | None = None
    exempt: tuple[ExemptionTerms, ...] = ()


def _named_once(endpoints: list[EndpointTerms]) -> list[EndpointTerms]:
    seen: set[str] = set()
    for one in endpoints:
        if one.endpoint in seen:
            raise ValueError(f"{one.endpoint} is named twice")
        seen.add(one.endpoint)
    return endpoints


class PolicyFile(BaseModel):
    """The promises that one store's endpoints make."""

    model_config = _MODEL

    version: Literal[1]
    defaults: Terms = Terms()
    profiles: dict[str, Terms] = Field(default_factory=dict)
    endpoints: Annotated[list[EndpointTerms], AfterValidator(_named_once)]

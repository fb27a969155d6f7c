"""What a policy file may say of an endpoint, from whom it inherits, and how strict it is."""

from __future__ import annotations

import json
import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from idemctl.documents import InvalidDocument, parse_document
from idemctl.domain.horizons import Way
from idemctl.domain.policies import (
    Answers,
    Class,
    Effect,
    EndpointPolicy,
    Exemption,
    Fingerprint,
    Key,
    KeyPlace,
    Maker,
    Reads,
)
from idemctl.domain.records import Pattern
from idemctl.settings.policies import policies_in
from idemctl.settings.policy_file import PolicyFile

if TYPE_CHECKING:
    from idemctl.domain.policies import (
        Policies,
    )

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
SHIPPED = Path(__file__).parents[2] / "idemctl" / "schemas" / "policy.json"
WHOLE = """\
version: 1
endpoints:
  - endpoint: POST /v1/tenants/{tenant}/charges
    ttl: 9d
    reason: the client's queue keeps a charge for a week
    pattern: postgres-unique
    key: {in: header, name: Idempotency-Key, format: uuid}
    made_by: client
    scope: [tenant, endpoint]
    in_progress_timeout: 5m
    timeout: 30s
    redis_ttl: 24h
    upstream_key_ttl: 30d
    class: financial
    effect: external
    reads: primary-only
    fingerprint: {hashed: [method, path, body], left_out: [body.sent_at]}
    answers: {mismatch: 409, conflict: 425}
    provider: stripe-webhooks
    replay:
      - {queue: 4d, dead_letter_queue: unknown}
      - {client_retry: 3d, restore_window: 2d}
    rows_kept: {outbox: 14d}
    owner: payments
    exempt:
      - {code: ttl-too-short, owner: ana, reason: until the queue is gone, until: 2026-12-06}
"""


def read(text: str) -> Policies:
    return policies_in(parse_document(text, file="p.yaml"))


def endpoints(*lines: str, head: str = "") -> str:
    return f"version: 1\n{head}endpoints:\n" + "".join(f"  - {line}\n" for line in lines)


def only(text: str) -> EndpointPolicy:
    [policy] = read(text).endpoints.values()
    return policy


def problems(text: str) -> list[str]:
    with pytest.raises(InvalidDocument) as caught:
        read(text)
    return [str(problem) for problem in caught.value.problems]


def test_everything_that_an_endpoint_can_say_is_understood() -> None:
    policy = only(WHOLE)
    assert policy.route is not None
    assert policy.route.parameters == ("tenant",)
    assert policy.pattern is Pattern.POSTGRES_UNIQUE
    assert policy.key == Key(place=KeyPlace.HEADER, name="Idempotency-Key", format="uuid")
    assert (policy.made_by, policy.stakes) == (Maker.CLIENT, Class.FINANCIAL)
    assert (policy.effect, policy.reads) == (Effect.EXTERNAL, Reads.PRIMARY_ONLY)
    assert policy.scope == ("tenant", "endpoint")
    assert (policy.in_progress_timeout, policy.timeout) == (5 * MINUTE, MINUTE / 2)
    assert (policy.redis_ttl, policy.upstream_key_ttl) == (DAY, 30 * DAY)
    assert policy.fingerprint == Fingerprint(
        hashed=("method", "path", "body"), left_out=("body.sent_at",)
    )
    assert policy.answers == Answers(mismatch=409, conflict=425)
    assert (policy.rows_kept, policy.owner) == ({"outbox": 14 * DAY}, "payments")
    assert policy.exempt == (
        Exemption(
            code="ttl-too-short",
            owner="ana",
            reason="until the queue is gone",
            until=datetime(2026, 12, 7, tzinfo=UTC),
        ),
    )


def test_ways_back_are_sums_of_hops_and_an_unknown_one_is_not_zero() -> None:
    policy = only(WHOLE)
    hooks, queue, client = policy.replay
    assert [hop.way for hop in hooks.hops] == [Way.PROVIDER]
    assert hooks.at_least == 3 * DAY
    assert (queue.at_least, [hop.way for hop in queue.unknown]) == (
        4 * DAY,
        [Way.DEAD_LETTER_QUEUE],
    )
    assert (client.at_least, client.unknown) == (5 * DAY, ())
    assert policy.longest is client


def test_what_is_not_said_is_not_known_but_for_class_and_answers() -> None:
    policy = only(endpoints("{endpoint: a, ttl: 1d}"))
    assert policy == EndpointPolicy(endpoint="a", ttl=DAY)
    assert (policy.stakes, policy.answers) == (Class.OTHER, Answers(mismatch=422, conflict=409))


def test_the_nearest_one_counts_and_a_field_is_taken_whole() -> None:
    policies = read(
        endpoints(
            "{endpoint: a, inherits: hooks, ttl: 3d}",
            "{endpoint: b, inherits: hooks}",
            "{endpoint: c, scope: []}",
            head="defaults: {ttl: 1d, scope: [tenant], owner: ana}\n"
            "profiles: {hooks: {ttl: 2d, made_by: provider, scope: [endpoint]}}\n",
        )
    )
    said = [(one.ttl, one.made_by, one.scope, one.owner) for one in policies.endpoints.values()]
    assert said == [
        (3 * DAY, Maker.PROVIDER, ("endpoint",), "ana"),
        (2 * DAY, Maker.PROVIDER, ("endpoint",), "ana"),
        (DAY, None, (), "ana"),
    ]


def test_a_request_is_governed_by_its_label_or_else_by_the_most_specific_route() -> None:
    policies = read(
        endpoints(
            *("{endpoint: 'POST /v1/{id}', ttl: 1d}", "{endpoint: POST /v1/me, ttl: 2d}"),
            "{endpoint: 'POST /v1/{id}/refund', ttl: 3d}",
        )
    )
    found = [
        policies.governing(asked)
        for asked in ("POST /v1/{id}", "POST /v1/me", "POST /v1/ch_1/refund", "PUT /v1/x", "x")
    ]
    assert [one and one.ttl // DAY for one in found] == [1, 2, 3, None, None]


def test_all_loose_ends_of_a_file_are_told_at_once() -> None:
    assert problems(
        endpoints(
            "{endpoint: a}",
            "{endpoint: b, ttl: 1d, inherits: hoks}",
            "{endpoint: c, ttl: 1d, exempt: [{code: ttl-to-short, owner: a, reason: b"
            ", until: 2026-12-06}]}",
            head="profiles: {hooks: {}}\n",
        )
    ) == [
        "p.yaml:4:5: endpoints.0: the field 'ttl' is missing",
        "p.yaml:5:38: endpoints.1.inherits: no profile is called 'hoks'; did you mean 'hooks'?",
        (
            "p.yaml:6:44: endpoints.2.exempt.0.code: no rule has the code 'ttl-to-short'; "
            "did you mean 'ttl-too-short'?"
        ),
    ]


@pytest.mark.parametrize(
    ("field", "says"),
    [
        ("made_by: cleint", "did you mean client?"),
        ("class: finance", "did you mean financial?"),
        ("pattern: redis-setx", "did you mean redis-setnx?"),
        ("reads: primary", "did you mean primary-only?"),
        ("redis_tll: 1d", "did you mean 'redis_ttl'?"),
        ("key: {in: hedder, name: x}", "did you mean header?"),
        ("key: {in: header}", "the field 'name' is missing"),
        ("replay: [{}]", "a way back has at least one of provider, queue, "),
        ("replay: [{queue: 4}]", "a duration is text with a unit, such as 4s"),
        ("replay: [{queue: unknwon}]", "'unknwon' is not a duration"),
        ("replay: [{provider: adyn}]", "did you mean adyen?"),
        ("answers: {mismatch: 200}", "must be at least 400"),
        ("fingerprint: {hashed: []}", "must not be empty"),
        ("redis_ttl: 12:30:00", "'12:30:00' is not a duration"),
        ("redis_ttl: no", "'no' is not a duration"),
        ("redis_ttl: -1h", "'-1h' is not a duration"),
        ("redis_ttl: 5", "a duration is text with a unit, such as 5s"),
        ("redis_ttl: \uff15h", "is not a duration"),
        ("redis_ttl: 1d, redis_ttl: 2d", "redis_ttl"),
    ],
)
def test_a_wrong_field_or_value_is_one_problem_with_its_place(field: str, says: str) -> None:
    [problem] = problems(endpoints(f"{{endpoint: a, ttl: 1d, {field}}}"))
    assert problem.startswith("p.yaml:3:")
    assert says in problem


def bomb() -> str:
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 40)]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("version: 1\nversion: 1\nendpoints: []\n", "p.yaml:2:1: "),
        ("version: 1\nendpoints:\n\t- {endpoint: a}\n", "p.yaml:3:1: "),
        (bomb(), "p.yaml:1:5: "),
        (endpoints(*("{endpoint: a, ttl: 1d}" for _ in range(500_000))), "larger than 1 MiB"),
    ],
    ids=["a key twice", "a tab", "anchors", "ten megabytes"],
)
def test_what_would_be_read_wrong_or_never_is_refused_at_once(text: str, says: str) -> None:
    begun = time.process_time()
    assert says in problems(text)[0]
    # Whole seconds stand between this and reading a bomb; a slow machine is not that slow.
    assert time.process_time() - begun < 1


def schema() -> dict[str, Any]:
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "idemctl/policy/v1",
    }
    return head | PolicyFile.model_json_schema()


def test_the_schema_that_is_published_is_the_models_own() -> None:
    text = json.dumps(schema(), indent=2) + "\n"
    if os.environ.get("REMAKE_SCHEMA"):
        SHIPPED.write_text(text)
    assert SHIPPED.read_text("utf-8") == text


def test_a_file_fits_the_schema_that_is_published_and_a_wrong_one_does_not() -> None:
    validator = jsonschema.Draft202012Validator(json.loads(SHIPPED.read_text("utf-8")))
    data = parse_document(WHOLE, file="p.yaml").data
    assert [error.message for error in validator.iter_errors(data)] == []
    wrongs: list[dict[str, Any]] = [{"made_by": "me"}, {"in": 1}, {"replay": {}}, {"class": "x"}]
    for wrong in wrongs:
        assert not validator.is_valid(data | {"endpoints": [data["endpoints"][0] | wrong]})

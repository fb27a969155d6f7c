"""What idemctl.yaml may say."""

from __future__ import annotations

import json

import pytest

from idemctl.documents import InvalidDocument, parse_document, read_model
from idemctl.settings import Configuration, PostgresSettings


@pytest.mark.parametrize(
    ("store", "problem"),
    [
        ("Pay: {redis: {}}", ("3:3: stores.Pay: a store's name is lower-case letters, digits and "
            "hyphens, with a letter first and 63 characters at most")),
        ("a: {}", ("3:6: stores.a: a store needs postgres, redis or both; "
            "postgres: {} takes all defaults")),
        ("a: {postgres: }", ("3:6: stores.a: a store needs postgres, redis or both; "
            "postgres: {} takes all defaults")),
        ("a: {redis: {}, ttl: 86400}", ("3:23: stores.a.ttl: a duration is text with a unit, "
            "such as 86400s")),
        ("a: {redis: {ttl: 0s}}", ("3:20: stores.a.redis.ttl: '0s' is a duration of zero; "
            "the shortest is 1s")),
        ("a: {redis: {prefix: ''}}", "3:23: stores.a.redis.prefix: must not be empty"),
        ("a: {redis: {}, protected: yes}", ("3:29: stores.a.protected: must be true or false, "
            "not text")),
        ("a: {redis: {}, write_order: postgresfirst}", ("3:31: stores.a.write_order: must be one "
            "of postgres-first, redis-first, unknown, not postgresfirst; "
            "did you mean postgres-first?")),
        ("a: {redis: {}, state: {folder: x}}", ("3:18: stores.a: the field 'state' is unknown; "
            "known here: logs, on_redis_miss, policies, postgres, protected, redis, "
            "replicas, throttle, ttl, write_order")),
        ("a: {redis: {}, logs: {files: []}}", ("3:32: stores.a.logs.files: must not be empty")),
        ("a: {redis: {}, logs: {files: [x], fields: {at: Key}}}", ("3:45: stores.a.logs.fields: "
            "two fields cannot have the same name, not even in other letters")),
        ("a: {redis: {url: x}}", ("3:15: stores.a.redis: the field 'url' is unknown; "
            "did you mean 'url_env'?")),
        ("a: {postgres: {dsn_env: 'postgresql://u:canary@h'}}", ("3:27: stores.a.postgres.dsn_env: "
            "must be the name of an environment variable, such as DATABASE_URL; "
            "the URL itself belongs in that variable")),
    ],
)  # fmt: skip
def test_a_wrong_store_is_refused_with_place_and_words(store: str, problem: str) -> None:
    document = parse_document(f"version: 1\nstores:\n  {store}\n", file="idemctl.yaml")
    with pytest.raises(InvalidDocument) as refusal:
        read_model(document, Configuration)
    assert refusal.value.message == f"idemctl.yaml:{problem}"
    assert "canary" not in repr(refusal.value)


@pytest.mark.parametrize(
    "table",
    [
        "public.processed_events",
        "Public.Processed_Events",
        'public."Processed Events"',
        '"a.b"."c""d"',
        "s.\u00e9v\u00e9nements$1",
        "s." + "t" * 63,
    ],
)
def test_a_table_is_named_as_in_sql(table: str) -> None:
    assert PostgresSettings(table=table).table == table


@pytest.mark.parametrize(
    "table",
    [
        "", "events", "a.b.c", "a.", ".b", "a b.c", "a.b;drop", 'a."', 'a.""', 'a."b"c"', "a.1b",
        "a.b\n", 'a."\x00"', "s." + "t" * 64, "s." + "\u00e9" * 32,
    ],
)  # fmt: skip
def test_what_names_no_table_is_refused(table: str) -> None:
    with pytest.raises(ValueError, match=r"must name schema and table|63 bytes at most"):
        PostgresSettings(table=table)


def test_the_model_describes_itself_as_json_schema() -> None:
    schema = json.dumps(Configuration.model_json_schema())
    assert '"1h30m"' in schema
    assert '"additionalProperties": false' in schema

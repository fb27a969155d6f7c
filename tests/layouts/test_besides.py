"""What a library writes besides: named whole, once, and never what is read anyway."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from idemctl.bootstrap.layouts import preset
from idemctl.documents import InvalidDocument, parse_document, read_model, shipped_text
from idemctl.layouts.besides import read_by
from idemctl.layouts.model import Layout

if TYPE_CHECKING:
    import psycopg

MINE = """\
layout: mine
title: ours
proven: source
{engine}:
  pattern: {pattern}
  {where}
  key: {key}
  scope: tenant
  client: [request, who]
  expires: {{field: until, unit: milliseconds}}
  besides: {besides}
  status:
    in_progress: {{not: {{field: state, is: done}}}}
    completed: {{field: state, is: done}}
"""


def read(engine: str, besides: str) -> Layout:
    own = {
        "postgres": {"pattern": "postgres-unique", "where": "table: keys", "key": "id"},
        "redis": {
            "pattern": "redis-setnx",
            "where": 'prefix: "x:"\n  codec: json\n  key_field: id',
            "key": '"(?P<key>.+)"',
        },
    }
    text = MINE.format(engine=engine, besides=besides, **own[engine])
    return read_model(parse_document(text.encode(), file="mine.yaml"), Layout)


@pytest.mark.parametrize("engine", ["postgres", "redis"])
def test_what_is_read_is_the_first_step_of_every_path(engine: str) -> None:
    side = getattr(read(engine, "[note, hits]"), engine)
    assert read_by(side) == {"id", "tenant", "request", "until", "state"}
    assert side.besides == ("note", "hits")


@pytest.mark.parametrize("engine", ["postgres", "redis"])
@pytest.mark.parametrize("name", ["id", "tenant", "request", "until", "state"])
def test_what_is_read_anyway_is_refused_by_name(engine: str, name: str) -> None:
    with pytest.raises(InvalidDocument, match=f"names what the layout reads anyway: {name}$") as no:
        read(engine, f"[note, {name}]")
    assert "mine.yaml:5:3: " in str(no.value)


@pytest.mark.parametrize(
    ("besides", "message"),
    [
        ("[note, hits, note]", r"names twice: note$"),
        ("[1]", r"must be text, not a number; write it in quotes"),
        ('[""]', r"must not be empty"),
        ("note", r"must be a list, not text"),
        ("[[request, who]]", r"must be text, not a list"),
    ],
)
def test_besides_is_a_list_of_different_names(besides: str, message: str) -> None:
    with pytest.raises(InvalidDocument, match=message) as refusal:
        read("postgres", besides)
    assert str(refusal.value).startswith("mine.yaml:11:")


@pytest.mark.parametrize("name", ["reference", "bare", "workflow", "outbox"])
def test_a_layout_of_a_reference_pattern_names_every_column_of_its_table(
    name: str, connection: psycopg.Connection
) -> None:
    for schema in ("own", "postgres"):
        connection.execute(shipped_text(f"schemas/{schema}.sql").encode())
    side = preset(name).postgres
    assert side is not None
    columns = connection.execute(f"SELECT * FROM {side.table} LIMIT 0".encode()).description or ()
    assert {column.name for column in columns} == read_by(side) | set(side.besides)


def test_the_reference_twin_has_the_members_that_its_description_lists() -> None:
    described = re.findall(
        r"(?m)^# (\w+) +(?:text|number|object)\b", shipped_text("schemas/redis.conf")
    )
    side = preset("reference").redis
    assert side is not None
    assert set(described) == read_by(side) | set(side.besides)

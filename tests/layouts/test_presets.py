"""The layouts that come with idemctl."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import jsonschema
import pytest

from idemctl.bootstrap.layouts import preset_files
from idemctl.documents import InvalidDocument, parse_document, read_model, shipped
from idemctl.domain.records import Pattern, Status
from idemctl.layouts.instants import At
from idemctl.layouts.model import Layout
from idemctl.layouts.sides import Statuses
from idemctl.operations.schema import What, schema

if TYPE_CHECKING:
    from idemctl.layouts.model import PostgresLayout, RedisLayout

FILES = {file.name: file for file in shipped("layouts/presets")}


def layout(name: str) -> Layout:
    return read_model(parse_document(FILES[name].read_bytes(), file=name), Layout)


def postgres(name: str) -> PostgresLayout:
    side = layout(f"{name}.yaml").postgres
    assert side is not None
    return side


def redis(name: str) -> RedisLayout:
    side = layout(f"{name}.yaml").redis
    assert side is not None
    return side


def read(text: str) -> Layout:
    return read_model(parse_document(text.encode(), file="mine.yaml"), Layout)


MINE = """\
layout: mine
title: a library of ours
proven: source
postgres:
  pattern: postgres-unique
  table: public.keys
  key: id
  counted_from: created_at
  status: {completed: always}
"""


@pytest.mark.parametrize("name", FILES)
def test_a_preset_is_a_layout_named_like_its_file(name: str) -> None:
    one = layout(name)
    assert f"{one.layout}.yaml" == name
    assert one.title
    assert one.proven in {"live", "source"}


def test_every_pattern_has_a_preset() -> None:
    sides = [side for name in FILES for side in (layout(name).postgres, layout(name).redis) if side]
    assert {side.pattern for side in sides} == set(Pattern)


@pytest.mark.parametrize("name", FILES)
def test_a_preset_knows_what_is_in_progress_or_that_nothing_can_be(name: str) -> None:
    for side in (layout(name).postgres, layout(name).redis):
        if side is None or side.status == "unknown":
            continue
        assert isinstance(side.status, Statuses)
        known = [status for status, _ in side.status.conditions()]
        assert Status.IN_PROGRESS in known or known == [Status.COMPLETED], name


def test_the_reference_sees_everything_that_gc_needs() -> None:
    side = postgres("reference")
    assert (side.key, side.scope, side.endpoint) == ("idempotency_key", "scope", "endpoint")
    assert (side.expires, side.counted_from) == (At(field="expires_at"), At(field="created_at"))
    assert side.lease == At(field="lease_until")
    assert (side.fence, side.epoch) == ("fence", "epoch")


def test_the_bare_form_expires_by_its_creation_alone() -> None:
    side = postgres("bare")
    assert (side.expires, side.counted_from, side.endpoint) == (None, At(field="created_at"), None)


def test_work_that_is_not_done_has_no_instant_to_expire_by() -> None:
    assert postgres("workflow").counted_from == At(field="finished_at")
    assert postgres("outbox").counted_from == At(field="dispatched_at")
    child = postgres("workflow").child
    assert child is not None
    assert child.join == "run_id"


@pytest.mark.parametrize("name", ["bare", "body-hash"])
def test_of_a_flag_only_presence_is_known(name: str) -> None:
    assert redis(name).status == "unknown"


def test_a_layout_of_ones_own_takes_ten_lines() -> None:
    one = read(MINE)
    assert one.postgres is not None
    assert one.postgres.status == Statuses(completed="always")
    assert one.redis is None


def test_a_table_without_any_instant_is_one_of_which_nothing_ever_goes() -> None:
    one = read(MINE.replace("counted_from: created_at", "never_collected: always")).postgres
    assert one is not None
    assert (one.ordered_by, one.expiry_column) == (None, None)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("  counted_from: created_at\n", "", "needs expires or counted_from"),
        ("counted_from: created_at", "never_collected: {field: x, is: y}", "has neither says"),
        ("{completed: always}", "{completed: sometimes}", "is no condition"),
        ("{completed: always}", "{done: always}", "done"),
        ("{completed: always}", "{}", "needs one of"),
        ("{completed: always}", "guess", "status"),
        ("pattern: postgres-unique", "pattern: unique", "write one of postgres-unique"),
        ("layout: mine", "layout: Mine", "layout"),
        ("proven: source", "proven: maybe", "proven"),
        ("  key: id\n", "", "key"),
        ("  key: id\n", "  key: id\n  expire: x\n", "expire"),
    ],
)
def test_a_wrong_layout_is_refused_with_its_place(old: str, new: str, message: str) -> None:
    assert MINE.count(old) == 1
    with pytest.raises(InvalidDocument, match=message) as refusal:
        read(MINE.replace(old, new))
    assert "mine.yaml:" in str(refusal.value)


def test_a_layout_describes_at_least_one_store() -> None:
    with pytest.raises(InvalidDocument, match="describes neither postgres nor redis"):
        read("layout: mine\ntitle: nothing\nproven: source\n")


@pytest.mark.parametrize(
    ("expression", "message"),
    [("(?P<key>", "is no regular expression"), (".+", "must name the part that is the key")],
)
def test_a_key_expression_names_the_key(expression: str, message: str) -> None:
    text = (
        "layout: mine\ntitle: x\nproven: source\nredis:\n  pattern: redis-setnx\n"
        f'  prefix: "x:"\n  key: "{expression}"\n  codec: flag\n  status: unknown\n'
    )
    with pytest.raises(InvalidDocument, match=message):
        read(text)


def test_every_layout_fits_the_schema_that_is_published_and_a_wrong_one_does_not() -> None:
    validator = jsonschema.Draft202012Validator(json.loads(schema(What.LAYOUT).text))
    for name, file in preset_files().items():
        document = parse_document(file.read_bytes(), file=file.name).data
        assert [error.message for error in validator.iter_errors(document)] == [], name
        for side in ("postgres", "redis"):
            if side in document:
                wrong = document | {side: document[side] | {"fingerprnt": "x"}}
                assert not validator.is_valid(wrong)
                assert not validator.is_valid(document | {side: document[side] | {"pattern": 1}})

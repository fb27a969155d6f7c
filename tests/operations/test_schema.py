"""The texts of schema."""

from __future__ import annotations

import re

import pytest

from idemctl.operations.schema import What, schema


@pytest.mark.parametrize("what", What)
def test_every_text_is_plain_and_prints_as_it_is(what: What) -> None:
    text = schema(what).text
    assert text.isascii()
    assert text.endswith("\n")
    assert all(line.isprintable() and line == line.rstrip() for line in text.splitlines())


def test_what_is_idemctls_own_and_what_is_the_applications_stand_apart() -> None:
    own, postgres = schema(What.OWN).text, schema(What.POSTGRES).text
    made = re.compile(r"^CREATE TABLE IF NOT EXISTS public\.(\w+)", re.MULTILINE)
    assert made.findall(own) == ["idemctl_epoch"]
    assert made.findall(postgres) == [
        *("processed_events", "seen_events", "workflow_runs", "workflow_steps", "outbox_events")
    ]
    assert "idemctl schema own | psql" in postgres.split("CREATE")[0]

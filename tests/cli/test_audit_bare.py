"""audit of a store that remembers a key and no more: what nobody can see is never said as zero."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.cli.pairs import Pairs

BARE = """\
version: 1
stores:
  bare:
    postgres: {layout: bare, table: public.bare_keys}
    redis: {layout: bare, prefix: "bare:", ttl: 24h}
    ttl: 7d
"""
STATUSES = ("in progress", "completed", "failed", "unknown", "malformed")


@pytest.fixture
def bare(durable: None, pairs: Pairs) -> Pairs:
    """A table of keys and times, and flags in front of it."""
    pairs.connection.execute(
        "CREATE TABLE bare_keys"
        " (idempotency_key text PRIMARY KEY, created_at timestamptz NOT NULL DEFAULT now());"
        "INSERT INTO bare_keys SELECT md5(n::text), now() - n * interval '1 minute'"
        " FROM generate_series(1, 200) n"
    )
    for number in range(1, 201):
        key = hashlib.md5(str(number).encode(), usedforsecurity=False).hexdigest()
        pairs.client.set(f"bare:{key}", "1", ex=80_000)
    pairs.place.configure(BARE)
    return pairs


def audited(pairs: Pairs) -> Any:
    return pairs.place.main("audit", "--pace", "full", "-o", "json").document


def test_each_failure_mode_that_a_key_alone_does_not_show_is_blind_and_says_why(
    bare: Pairs,
) -> None:
    document = audited(bare)
    assert document["items"] == []
    assert document["errors"] == []
    said = {
        mode: (seen["sight"], seen["why"], seen["add"])
        for mode, seen in document["summary"]["sight"]["bare"].items()
    }
    later = "in the layout, once the application writes it"
    no_print = ("blind", "no fingerprint column", f"fingerprint: {later}")
    assert said["key-collision"] == no_print
    assert said["malicious-reuse"] == no_print
    assert said["crash-mid-write"] == (
        "blind", "no status column, no lease column", f"status:, lease: {later}",
    )  # fmt: skip
    assert said["cross-region-lag"] == ("blind", "no fence column", f"fence: {later}")
    unjudged = [
        {one["code"] for one in place["cannot_judge"]} for place in document["summary"]["places"]
    ]
    for codes in unjudged:
        assert {"stuck-in-progress", "fingerprint-missing", "stored-server-error"} <= codes


def test_statuses_that_a_layout_does_not_tell_are_not_counted_as_none(bare: Pairs) -> None:
    head, _, *rows = bare.place.main("audit", "--pace", "full").out.splitlines()[1:]
    columns = [head.index(name) for name in STATUSES]
    told = {
        row.split()[2]: [row[column:].split()[0] for column in columns]
        for row in rows
        if " bare " in row
    }
    assert told == {
        "postgres": ["-", "200", "-", "-", "0"],
        "redis": ["-", "-", "-", "200", "0"],
    }
    assert audited(bare)["summary"]["records"] == {
        "bare": {"postgres-unique": {"completed": 200}, "redis-setnx": {"unknown": 200}}
    }

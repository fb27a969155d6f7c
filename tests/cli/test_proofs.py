"""A layout that was read from source is written through only where a live check has passed."""

from __future__ import annotations

import json
import os
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.pairs import PAYMENTS
from tests.stores.postgres.test_libraries import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable

    import psycopg

    from tests.cli.pairs import Pairs
    from tests.cli.places import Place

CONFIG = """\
version: 1
stores:
  keys:
    postgres: {{dsn_env: DATABASE_URL, layout: {layout}, table: {table}}}
    ttl: 72h
  others:
    postgres: {{dsn_env: DATABASE_URL, layout: {layout}, table: {table}}}
    ttl: 72h
"""
ROWS = """\
INSERT INTO {table} (created_at, idempotency_key, locked_at, recovery_point, user_id) VALUES
(now() - interval '4 days', 'old', NULL, 'finished', 7),
(now() - interval '1 hour', 'young', NULL, 'finished', 7),
(now() - interval '4 days', 'at work', now(), 'started', 7)
"""
LIVE = ("--live", "--store", "keys")
APPLY = ("gc", "--apply", "--store", "keys")


@pytest.fixture
def keys(place: Place, dsn: str, connection: psycopg.Connection) -> Callable[[], set[Any]]:
    """Brandur's table with an expired key, a living one and one at work; tells which are left."""
    connection.execute(TABLES["brandur"]["ddl"].encode())
    connection.execute(ROWS.format(table="idempotency_keys").encode())
    place.lead(DATABASE_URL=dsn)
    configure(place)

    def left() -> set[Any]:
        found = connection.execute("SELECT idempotency_key FROM idempotency_keys").fetchall()
        return {key for (key,) in found}

    return left


def configure(
    place: Place, layout: str = "brandur", table: str = "public.idempotency_keys"
) -> None:
    place.configure(CONFIG.format(layout=layout, table=table))


def check(place: Place, layout: str = "brandur", *words: str) -> dict[str, Any]:
    done = place.main("layout", "check", layout, *(words or LIVE), "-o", "json")
    [tried] = done.summary["tried"]
    return {**tried, "exit": done.status}


def refusal(place: Place, store: str = "keys") -> str:
    done = place.main("gc", "--apply", "--store", store)
    assert (done.status, done.out) == (5, "")
    return done.err


ALL = {"old", "young", "at work"}


def test_a_check_that_passes_lets_gc_collect_through_the_layout(
    place: Place, keys: Callable[[], set[Any]]
) -> None:
    said = refusal(place)
    assert "was not tried as it is on this store: nothing is changed through it in postgres" in said
    assert "idemctl layout check brandur --live --store keys\n" in said
    assert keys() == ALL
    told = place.main("layout", "check", "brandur", *LIVE)
    assert told.status == 0
    assert "idemctl may now write through it to keys, for 90 days" in told.out
    assert keys() == ALL
    done = place.main(*APPLY, "-o", "json")
    assert (done.status, done.summary["deleted"]) == (0, 1)
    assert keys() == {"young", "at work"}


def test_a_proof_is_of_one_store_and_one_table(
    place: Place, keys: Callable[[], set[Any]], connection: psycopg.Connection
) -> None:
    assert check(place)["may_write"] is True
    assert "--store others\n" in refusal(place, "others")
    connection.execute("CREATE TABLE elsewhere (LIKE idempotency_keys INCLUDING ALL)")
    connection.execute(ROWS.format(table="elsewhere").encode())
    configure(place, table="public.elsewhere")
    assert "was not tried" in refusal(place)
    configure(place)
    assert place.main(*APPLY).status == 0
    assert keys() == {"young", "at work"}


def test_one_byte_more_is_another_layout(place: Place, keys: Callable[[], set[Any]]) -> None:
    file = place.folder / "our keys.yaml"
    file.write_text(place.main("layout", "show", "brandur").out)
    configure(place, layout='"our keys.yaml"')
    assert "our keys.yaml' --live --store keys\n" in refusal(place)
    assert check(place, "our keys.yaml")["may_write"] is True
    with file.open("a") as stream:
        stream.write("\n")
    assert "was not tried as it is" in refusal(place)
    assert keys() == ALL
    # The same content has the same proof, whatever its name.
    file.write_bytes(file.read_bytes()[:-1])
    configure(place)
    assert place.main(*APPLY).status == 0
    assert keys() == {"young", "at work"}


def test_a_check_that_fails_withdraws_what_was_proven(
    place: Place, keys: Callable[[], set[Any]], connection: psycopg.Connection
) -> None:
    assert check(place)["may_write"] is True
    connection.execute("UPDATE idempotency_keys SET created_at = '1770-01-01'")
    tried = check(place)
    assert (tried["exit"], tried["may_write"]) == (3, False)
    assert tried["why_not"] == "not all is read right"
    assert "did not pass when it was tried on postgres public.idempotency_keys" in refusal(place)
    assert keys() == ALL
    connection.execute("UPDATE idempotency_keys SET created_at = now() - interval '4 days'")
    assert check(place)["may_write"] is True
    assert place.main(*APPLY).status == 0
    assert keys() == {"at work"}


def test_what_was_never_completed_proves_too_little(
    place: Place, keys: Callable[[], set[Any]], connection: psycopg.Connection
) -> None:
    connection.execute("UPDATE idempotency_keys SET recovery_point = 'started'")
    told = place.main("layout", "check", "brandur", *LIVE)
    assert told.status == 0
    assert "may not write through it to keys: no completed record was seen" in told.out
    assert "did not pass when it was tried" in refusal(place)
    connection.execute("DELETE FROM idempotency_keys")
    tried = check(place)
    assert (tried["exit"], tried["why_not"]) == (3, "no record was there to be read")


def test_a_proof_is_too_old_after_ninety_days(place: Place, keys: Callable[[], set[Any]]) -> None:
    check(place)
    file = place.state / "proofs.jsonl"
    proof = json.loads(file.read_text())
    made = datetime.fromisoformat(proof["at"])
    for days, status in ((91, 5), (-1, 5), (89, 0)):
        file.write_text(json.dumps(proof | {"at": str(made - timedelta(days=days))}) + "\n")
        done = place.main(*APPLY)
        assert done.status == status, days
        assert ("more than 90 days ago" in done.err) == (days == 91)
        assert ("has not come yet" in done.err) == (days == -1)
    assert keys() == {"young", "at work"}


@pytest.mark.parametrize("left", [b"", b"{}\n", b"\xff\n", b"null\n", b"[[[[\n"])
def test_a_proof_that_is_cut_off_or_no_proof_proves_nothing(
    place: Place, keys: Callable[[], set[Any]], left: bytes
) -> None:
    check(place)
    file = place.state / "proofs.jsonl"
    # Without its end the line was never written; what a stranger wrote is passed over.
    file.write_bytes(left + file.read_bytes().rstrip(b"\n"))
    assert "was not tried" in refusal(place)
    assert keys() == ALL


def test_what_cannot_be_remembered_is_told_all_the_same(
    place: Place, keys: Callable[[], set[Any]]
) -> None:
    place.state.write_text("no folder")
    told = place.main("layout", "check", "brandur", *LIVE)
    assert told.status == 0
    assert "it passed, and that could not be remembered: state folder" in " ".join(told.out.split())
    place.state.unlink()
    assert "was not tried" in refusal(place)
    assert keys() == ALL


def test_a_file_that_says_live_needs_no_proof_and_leaves_none(
    place: Place, keys: Callable[[], set[Any]]
) -> None:
    shown = place.main("layout", "show", "brandur").out
    (place.folder / "ours.yaml").write_text(shown.replace("proven: source", "proven: live"))
    configure(place, layout="ours.yaml")
    assert check(place, "ours.yaml")["may_write"] is True
    assert not os.path.lexists(place.state)
    assert place.main(*APPLY).status == 0
    assert keys() == {"young", "at work"}


def test_a_side_of_a_pair_that_was_read_from_source_is_written_after_its_check(
    pairs: Pairs,
) -> None:
    place = pairs.place
    shown = place.main("layout", "show", "reference").out
    (place.folder / "theirs.yaml").write_text(shown.replace("proven: live", "proven: source"))
    pairs.configure(
        ("url_env: REDIS_URL, layout: reference", "url_env: REDIS_URL, layout: theirs.yaml")
    )
    lost = pairs.names()[0]
    pairs.client.delete(lost)
    apply = ("reconcile", "--apply", "--yes", *PAYMENTS)
    refused = place.main(*apply)
    assert refused.status == 5
    assert "nothing is changed through it in redis" in refused.err
    done = place.main(
        "layout", "check", "theirs.yaml", "--live", "--store", "payments", "-o", "json"
    )
    assert [tried["may_write"] for tried in done.summary["tried"]] == [True, True]
    assert place.main(*apply).status == 0
    assert lost in pairs.names()


def test_a_preset_is_checked_by_its_name_unless_there_is_such_a_file(place: Place) -> None:
    done = place.main("layout", "check", "brandur", "-o", "json")
    assert (done.status, done.summary["layouts"][0]["layout"]) == (0, "brandur")
    unknown = place.main("layout", "check", "brander")
    assert unknown.status == 78
    assert (
        "no such file, and no layout that comes with idemctl; did you mean brandur?" in unknown.err
    )
    (place.folder / "brandur").write_text("layout: [")
    assert place.main("layout", "check", "brandur").status == 3

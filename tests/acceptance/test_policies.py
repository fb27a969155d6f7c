"""The policy files that idemctl ships: they are valid, and gc keeps what they promise."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from idemctl.cli.main import main
from idemctl.sandbox.seed.postgres import schema
from idemctl.settings.policies import read_policies

if TYPE_CHECKING:
    import psycopg

FOLDER = Path(__file__).parents[2] / "policies"
FILES = sorted(FOLDER.glob("*.yaml"))
PAYMENTS = FOLDER / "payments.yaml"
ROW = """
INSERT INTO processed_events (idempotency_key, endpoint, status, created_at, expires_at)
VALUES (%s, %s, 'completed', now() - %s::interval, now() - interval '1 hour')
"""


def test_there_are_policy_files() -> None:
    assert PAYMENTS in FILES


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_policy_file_is_valid_and_promises_something(file: Path) -> None:
    assert read_policies(file).endpoints


def test_a_shortened_ttl_is_owed_in_full_until_its_last_day_is_over() -> None:
    owed = read_policies(PAYMENTS).ttls_owed
    last_moment = datetime(2026, 12, 6, 23, 59, 59, 999_999, tzinfo=UTC)
    at_midnight = datetime(2026, 12, 7, tzinfo=UTC)

    assert owed(last_moment)[b"POST /v1/bookings"] == timedelta(days=7)
    assert owed(at_midnight)[b"POST /v1/bookings"] == timedelta(days=3)


def test_gc_keeps_a_record_for_as_long_as_the_policy_promises(
    dsn: str,
    connection: psycopg.Connection[tuple[object, ...]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    connection.execute(schema())
    rows = [
        ("six days old", "POST /v1/charges", "6 days"),
        ("eight days old", "POST /v1/charges", "8 days"),
        ("no policy names it", "POST /v1/push", "6 days"),
    ]
    with connection.cursor() as cursor:
        cursor.executemany(ROW, rows)
    config = tmp_path / "idemctl.yaml"
    config.write_text(
        f"version: 1\nstores: {{payments: {{postgres: {{}}, policies: {PAYMENTS}}}}}\n"
    )
    monkeypatch.setenv("DATABASE_URL", dsn)
    monkeypatch.setenv("IDEMCTL_CONFIG", str(config))
    monkeypatch.setenv("IDEMCTL_STATE", str(tmp_path / "state"))

    status = main(["gc", "--apply", "-o", "json"])

    left = connection.execute("SELECT idempotency_key FROM processed_events").fetchall()
    summary = json.loads(capsys.readouterr().out)["summary"]
    assert (status, left, summary["deleted"]) == (0, [("six days old",)], 2)

"""Freezes: their text, and what they say to whoever is stopped."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from idemctl.domain.freezes import Freeze, decoded
from idemctl.errors import ExitStatus

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
ONE = Freeze(
    store="payments",
    by="ann@db1",
    reason="restoring",
    run_id="r",
    frozen_at=NOW,
    until=NOW + timedelta(hours=4),
)


def test_whoever_is_stopped_reads_who_why_until_when_and_the_way_out() -> None:
    error = ONE.refusal("postgres idemctl")
    assert error.message == (
        "payments: frozen by ann@db1 until 2026-11-29 16:00:00 UTC: restoring "
        "(since 2026-11-29 12:00:00, says postgres idemctl)"
    )
    assert error.hint is not None
    assert error.hint.endswith("idemctl store thaw --store payments --apply")
    assert error.status is ExitStatus.REFUSED


def test_a_reason_acts_on_no_terminal() -> None:
    hostile = Freeze(
        store="s", by="\x1b[31m", reason="a\nb\udc80", run_id="r", frozen_at=NOW, until=NOW
    )
    assert hostile.refusal("x").message.isprintable()
    assert "\\x1b[31m" in hostile.refusal("x").message


def test_a_freeze_survives_its_text() -> None:
    assert decoded(ONE.encoded()) == ONE


@pytest.mark.parametrize(
    "text", [b"", b"{}", b"[]", b"\xff", ONE.encoded().replace(b"+00:00", b""), b'{"until": 1}']
)
def test_what_is_no_freeze_is_told_from_one(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        decoded(text)

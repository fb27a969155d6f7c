"""Severities are one scale."""

from __future__ import annotations

from idemctl.domain.findings import Severity


def test_severities_rise() -> None:
    assert [one.label for one in sorted(Severity)] == ["info", "warning", "error", "critical"]
    assert Severity.ERROR >= Severity.WARNING > Severity.INFO

"""Findings as SARIF 2.1.0, which code hosts show beside the line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from idemctl.domain.findings import Severity
from idemctl.domain.keys import escape

if TYPE_CHECKING:
    from collections.abc import Iterable

    from idemctl.operations.policy_check import Finding

_LEVELS = {
    Severity.INFO: "note",
    Severity.WARNING: "warning",
    Severity.ERROR: "error",
    Severity.CRITICAL: "error",
}


def sarif(findings: Iterable[Finding]) -> str:
    """Write findings as one log with one run."""
    results = [_result(one) for one in findings]
    rules = [{"id": code} for code in sorted({one["ruleId"] for one in results})]
    driver = {"name": "idemctl", "rules": rules}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    }
    return json.dumps(log, indent=2) + "\n"


def _result(one: Finding) -> dict[str, Any]:
    about = "" if one.endpoint is None else f"{one.endpoint}: "
    text = f"{about}{one.message}" + ("" if one.fix is None else f"; {one.fix}")
    return {
        "ruleId": one.code,
        "level": _LEVELS[one.severity],
        "message": {"text": escape(text.encode())},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": one.place.file},
                    "region": {"startLine": one.place.line, "startColumn": one.place.column},
                }
            }
        ],
    }

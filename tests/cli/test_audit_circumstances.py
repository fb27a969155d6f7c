"""audit of places: each code where it must fire, and as near to that as it must not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from idemctl.checks.check import Source
from idemctl.checks.registry import CHECKS
from tests.cli.circumstances_postgres import POSTGRES
from tests.cli.circumstances_redis import REDIS
from tests.cli.circumstances_upkeep import UPKEEP

if TYPE_CHECKING:
    from tests.cli.circumstances import Case
    from tests.cli.pairs import Pairs

WORDS = ("audit", "--store", "payments", "--pace", "full", "-o", "json")
ON_SERVERS_OF_THEIR_OWN = {
    "archiver-failing", "read-from-standby", "standby-behind", "standby-missing",
}  # fmt: skip
"""See test_audit_standbys.py."""
CODES = {check.code for check in CHECKS if check.source is Source.CIRCUMSTANCES}


pytestmark = pytest.mark.usefixtures("durable")


def found(pairs: Pairs, case: Case[Any]) -> dict[str, dict[str, Any]]:
    """Give what circumstances tell of the payments, by code; that of the case was looked at."""
    done = pairs.place.main(*WORDS)
    assert done.document["errors"] == []
    assert case.code in {code for one in done.summary["places"] for code in one["checked"]}
    return {item["code"]: item for item in done.document["items"] if item["code"] in CODES}


def check_that_it_fires(pairs: Pairs, case: Case[Any]) -> None:
    items = found(pairs, case)
    assert set(items) == {case.code} | case.beside
    item = items[case.code]
    assert (item["store"], item["count"]) == ("payments", case.count)
    assert case.says in item["evidence"]


def test_every_code_has_a_case_on_a_real_server() -> None:
    cases = [*(one.code for one in (*POSTGRES, *UPKEEP)), *(one.code for one in REDIS)]
    assert sorted([*cases, *ON_SERVERS_OF_THEIR_OWN]) == sorted(CODES)


@pytest.mark.parametrize("case", [*POSTGRES, *UPKEEP], ids=lambda case: case.code)
def test_a_sick_table_is_told_from_one_that_is_nearly_so(pairs: Pairs, case: Case[Pairs]) -> None:
    case.near(pairs)
    assert found(pairs, case) == {}
    case.sick(pairs)
    check_that_it_fires(pairs, case)

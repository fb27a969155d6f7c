"""The registry as a whole, and the page that explains it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import idemctl
from idemctl.checks.check import Source
from idemctl.checks.registry import BY_CODE, CHECKS
from idemctl.domain.differences import Difference
from tests.checks.places import POSTGRES

if TYPE_CHECKING:
    from idemctl.checks.check import Check

PAGE = (Path(idemctl.__file__).parents[1] / "docs" / "audit.md").read_text("utf-8")
FINDINGS = PAGE.partition("## Findings")[2].partition("\n## ")[0]
LOOKED_AT = {Source.CIRCUMSTANCES, Source.CLOCKS, Source.HEADERS, Source.WITNESS}
SECTIONS = {
    section.partition("\n")[0]: section
    for section in re.split("^### ", FINDINGS, flags=re.MULTILINE)[1:]
}


def test_every_code_is_one_of_a_kind_and_a_sentence_in_kebab_case() -> None:
    assert len(BY_CODE) == len(CHECKS)
    assert all(re.fullmatch("[a-z]+(-[a-z]+)*", code) for code in BY_CODE)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.code)
def test_a_check_says_where_it_looks_and_why_it_matters(check: Check) -> None:
    assert (check.mask is not None) is (check.source is Source.RECORDS)
    assert (check.look is not None) is (check.evidence is None)
    assert (check.look is not None) is (check.source in LOOKED_AT)
    assert (check.group is not None) is (check.source is Source.REPEATS)
    assert check.why.endswith(".")
    assert all(line.endswith(".") for line in check.what.split("\n"))


def test_a_pair_is_judged_by_the_differences_that_have_no_check_of_their_own() -> None:
    named = {check.code for check in CHECKS if check.source is Source.TWINS}
    assert named == {"missing", "orphan", "stale", "divergent"}
    assert named < {difference.label for difference in Difference}


def test_the_page_has_a_section_for_each_code_and_for_no_other() -> None:
    assert list(SECTIONS) == [check.code for check in CHECKS]


def test_an_applying_check_is_one_for_such_a_place() -> None:
    alone = {check.code for check in CHECKS if check.applies(POSTGRES)}
    assert "stuck-in-progress" in alone
    assert not alone & {"missing", "wrong-type", "workflow-stuck", "path-without-uuid"}

"""Keeps what the documentation shows equal to what idemctl prints and does.

A block of help begins with a comment that holds the command, `<!-- idemctl gc --help -->`,
and a fence right below it; the sections of checks stand between `<!-- checks -->` and
`<!-- end of checks -->`. Run it to rewrite the blocks; with --check it only tells whether
they are current.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from idemctl.checks.check import Source
from idemctl.checks.registry import CHECKS
from idemctl.domain.records import Pattern
from idemctl.domain.sight import Engine

if TYPE_CHECKING:
    from idemctl.checks.check import Check

PROJECT = Path(__file__).parent.parent
_BLOCK = re.compile(r"<!-- idemctl (?P<words>[^>\n]+) -->\n```text\n(?P<shown>.*?)```\n", re.DOTALL)
_SECTIONS = re.compile(r"<!-- checks -->\n.*?<!-- end of checks -->\n", re.DOTALL)
_NAMES = {Engine.POSTGRES: "Postgres", Engine.REDIS: "Redis"}


def main() -> int:
    """Rewrite or check every block; 1 when a check found one that is not current."""
    only_check = sys.argv[1:] == ["--check"]
    stale = [file for file in pages() if current(file) != file.read_text("utf-8")]
    for file in stale:
        name = file.relative_to(PROJECT)
        if only_check:
            sys.stderr.write(f"{name}: a block is not current; run make docs\n")
        else:
            file.write_text(current(file), "utf-8")
            sys.stdout.write(f"{name}: rewritten\n")
    return 1 if only_check and stale else 0


def pages() -> list[Path]:
    """List the pages that a reader sees."""
    return [*sorted(PROJECT.glob("*.md")), *sorted(PROJECT.glob("[!.]*/*.md"))]


def current(file: Path) -> str:
    """Give a page's text as it should be."""
    text = _SECTIONS.sub(
        lambda _: f"<!-- checks -->\n{sections()}\n<!-- end of checks -->\n",
        file.read_text("utf-8"),
    )
    return _BLOCK.sub(
        lambda block: (
            f"<!-- idemctl {block['words']} -->\n```text\n{_printed(block['words'])}```\n"
        ),
        text,
    )


def sections() -> str:
    """Write all of them, in the order of the registry."""
    return "\n\n".join(map(_section, CHECKS))


def _section(check: Check) -> str:
    following = f"Next: `{check.next.format(store='NAME')}`"
    if check.next_alone:
        following += f"; where the store is no pair `{check.next_alone.format(store='NAME')}`"
    lines = [f"### {check.code}", "", _head(check), "", check.what, check.why, f"{following}."]
    return "\n".join(lines)


def _head(check: Check) -> str:
    engines = " and ".join(_NAMES[one] for one in Engine if one in check.engines)
    patterns = "pairs" if check.source is Source.TWINS else "every pattern"
    if left_out := frozenset(Pattern) - check.patterns:
        patterns = ", ".join(f"`{one.label}`" for one in sorted(check.patterns))
        if len(left_out) == 1:
            (one,) = left_out
            patterns = f"every pattern but `{one.label}`"
    needs = ", ".join(" or ".join(one.value for one in group) for group in check.needs)
    return (
        f"*{check.severity.label}*, in {engines}, {patterns}{f'; needs {needs}' if needs else ''}."
    )


def _printed(words: str) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("IDEMCTL_")}
    run = subprocess.run(
        [sys.executable, "-m", "idemctl", *words.split()],
        env=kept | {"COLUMNS": "80", "NO_COLOR": "1"},
        cwd=PROJECT,
        check=True,
        capture_output=True,
        text=True,
    )
    return "\n".join(line.rstrip() for line in run.stdout.splitlines()) + "\n"


if __name__ == "__main__":
    sys.exit(main())

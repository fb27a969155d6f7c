"""Keeps the help that the documentation shows equal to the help that idemctl prints.

A block begins with a comment that holds the command, `<!-- idemctl gc --help -->`, and a
fence right below it. Run it to rewrite the blocks; with --check it only tells whether they
are current.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parent.parent
_BLOCK = re.compile(r"<!-- idemctl (?P<words>[^>\n]+) -->\n```text\n(?P<shown>.*?)```\n", re.DOTALL)


def main() -> int:
    """Rewrite or check every block; 1 when a check found one that is not current."""
    only_check = sys.argv[1:] == ["--check"]
    stale = [file for file in pages() if current(file) != file.read_text("utf-8")]
    for file in stale:
        name = file.relative_to(PROJECT)
        if only_check:
            sys.stderr.write(f"{name}: a help block is not current; run make docs\n")
        else:
            file.write_text(current(file), "utf-8")
            sys.stdout.write(f"{name}: rewritten\n")
    return 1 if only_check and stale else 0


def pages() -> list[Path]:
    """List the pages that a reader sees."""
    return [*sorted(PROJECT.glob("*.md")), *sorted(PROJECT.glob("[!.]*/*.md"))]


def current(file: Path) -> str:
    """Give a page's text as it should be."""
    return _BLOCK.sub(
        lambda block: (
            f"<!-- idemctl {block['words']} -->\n```text\n{_printed(block['words'])}```\n"
        ),
        file.read_text("utf-8"),
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

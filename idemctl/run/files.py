"""Files under test, one after the other; one that cannot be read keeps nobody from the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from idemctl.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from idemctl.run.run import Run

Checked = TypeVar("Checked")


def check_each(
    files: Iterable[Path], check: Callable[[Path], Checked], run: Run
) -> tuple[tuple[Checked, ...], tuple[ConfigError, ...]]:
    """Check each file once; give what came of them, and what kept others from being read.

    Raises:
        ConfigError: no file could be read.
    """
    done: list[Checked] = []
    failures: list[ConfigError] = []
    for file in dict.fromkeys(files):
        run.checkpoint()
        try:
            done.append(check(file))
        except ConfigError as failure:
            failures.append(failure)
    if failures and not done:
        raise failures[0]
    return tuple(done), tuple(failures)

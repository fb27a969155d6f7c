"""The logs of hits that stores name, or that the operator does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from idemctl.run.pace import PaceName
from idemctl.settings import logs
from idemctl.settings.logs import NamedLogs, logs_as_of, logs_of_stores
from idemctl.stores.logs import Fields, HitLog

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from idemctl.bootstrap.workplace import Workplace
    from idemctl.run.run import Run


def hit_logs(workplace: Workplace, run: Run, files: Sequence[Path]) -> list[HitLog]:
    """List the logs of the chosen stores; or `files`, which need no configuration.

    Raises:
        ConfigError: there are none.
        UsageError: files are named, and several stores.
    """
    if not files:
        named = list(logs_of_stores(workplace.settings))
    elif workplace.asks_for_stores:
        named = [logs_as_of(workplace.settings, files)]
    else:
        named = [NamedLogs(files=tuple(files))]
    return [_log(one, run) for one in named]


def logs_there_are(workplace: Workplace, run: Run) -> dict[str | None, HitLog]:
    """List the logs of those chosen stores that have some, by store."""
    return {one.store: _log(one, run) for one in logs.logs_there_are(workplace.settings)}


def _log(named: NamedLogs, run: Run) -> HitLog:
    return HitLog(
        store=named.store,
        files=named.files,
        fields=Fields(**named.fields.model_dump()),
        named_in=named.named_in,
        gentle=run.pace_name is PaceName.GENTLE,
    )

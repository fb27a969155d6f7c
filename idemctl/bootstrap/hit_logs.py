"""The logs of hits that stores name, or that the operator does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from idemctl.run.pace import PaceName
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
    return [
        HitLog(
            store=one.store,
            files=one.files,
            fields=Fields(**one.fields.model_dump()),
            named_in=one.named_in,
            gentle=run.pace_name is PaceName.GENTLE,
        )
        for one in named
    ]

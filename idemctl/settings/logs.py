"""Which logs of hits a run reads, and what their fields are called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from idemctl.errors import ConfigError, UsageError
from idemctl.settings.model import LogFields

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from idemctl.settings.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedLogs:
    """The logs of one application."""

    files: tuple[Path, ...]
    store: str | None = None
    fields: LogFields = LogFields()  # noqa: RUF009 - Frozen, as the class that holds it.
    named_in: str = "command line"
    """Where the files are named."""


def logs_of_stores(settings: Settings) -> Iterator[NamedLogs]:
    """List the logs of the chosen stores.

    Raises:
        ConfigError: no chosen store has logs, or one that was named has none.
    """
    chosen = settings.chosen()
    without = [name for name, store in chosen.items() if store.logs is None]
    if len(without) == len(chosen) or (settings.asked and without):
        raise ConfigError(
            f"no logs are configured for {', '.join(without)}",
            hint="add logs: {files: [...]} to the store, or name files: idemctl hits FILE",
        )
    yield from logs_there_are(settings)


def logs_there_are(settings: Settings) -> Iterator[NamedLogs]:
    """List the logs of those chosen stores that have some."""
    for name, store in settings.chosen().items():
        if store.logs is not None:
            yield NamedLogs(
                files=tuple(store.logs.files),
                store=name,
                fields=store.logs.fields,
                named_in=settings.origin(f"stores.{name}.logs.files"),
            )


def logs_as_of(settings: Settings, files: Sequence[Path]) -> NamedLogs:
    """Read some files as the one chosen store's: with its names for the fields.

    Raises:
        UsageError: several stores are chosen.
    """
    chosen = settings.chosen()
    if len(chosen) > 1:
        raise UsageError(
            "FILE is read with the names of one store",
            hint="give one --store, or none for the usual names",
        )
    [(name, store)] = chosen.items()
    fields = LogFields() if store.logs is None else store.logs.fields
    return NamedLogs(files=tuple(files), store=name, fields=fields)

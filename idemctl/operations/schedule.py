"""schedule: what runs gc regularly, decided for one scheduler; nothing is installed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from idemctl.domain.durations import format_duration
from idemctl.domain.periods import Period
from idemctl.errors import ConfigError, ExitStatus, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta
    from pathlib import Path


class Scheduler(StrEnum):
    """Who starts the runs."""

    CRON = "cron"
    SYSTEMD = "systemd"
    KUBERNETES = "kubernetes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Premises:
    """Where the runs take place; every path is absolute, for nothing tells a current folder."""

    command: tuple[str, ...]
    """The words that start idemctl with nothing in its environment."""
    version: str
    host: str
    user: str
    config: Path
    state: Path
    env_file: Path
    """The file of the operator with the variables; only its name is known."""
    collected: Sequence[str]
    """The chosen stores that have records for gc."""
    variables: Sequence[str]
    """The names of the variables that those stores need; never a value."""
    files: Sequence[Path]
    """What the configuration names beside itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The regular run for one store."""

    store: str
    name: str
    """Of at most 52 characters, as Kubernetes has it."""
    cron: str
    words: tuple[str, ...]
    """What gc is told, beside the configuration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What is to be written down; printing it cannot fail."""

    scheduler: Scheduler
    premises: Premises
    period: Period
    jobs: tuple[Job, ...]
    image: str = ""
    status: ExitStatus = ExitStatus.OK


def schedule(
    scheduler: Scheduler,
    premises: Premises,
    *,
    every: timedelta,
    max_duration: timedelta | None = None,
    image: str = "",
) -> Outcome:
    """Decide what runs when.

    Args:
        scheduler: who starts the runs.
        premises: where.
        every: how often.
        max_duration: how long a run may take; where absent, most of a period.
        image: what Kubernetes runs.

    Raises:
        UsageError: the scheduler cannot express it.
        ConfigError: there is nothing to collect, or a path that no line can hold.
    """
    if not premises.collected:
        raise ConfigError(
            "no chosen store has records that gc collects",
            hint="Redis removes its own, and a layout may say never_collected: always; "
            "name another store with --store",
        )
    _refuse_unwritable(premises)
    period = _period(scheduler, every)
    longest = max_duration or period.longest_run
    if longest >= every:
        raise UsageError(
            f"--max-duration: {format_duration(longest)} is not shorter than "
            f"{format_duration(every)}, after which the next run comes",
            hint=f"leave it out, and a run ends after {format_duration(period.longest_run)}",
        )
    # The place of a pod says nothing, so that there the store alone is spread.
    host = "" if scheduler is Scheduler.KUBERNETES else premises.host
    jobs = tuple(
        Job(
            store=store,
            name=_name(store),
            cron=period.cron(f"{host} {store}"),
            # That another host collects meanwhile is no reason to wake anybody.
            words=(
                *("--store", store, "-q", "--if-locked", "skip"),
                *("--max-duration", format_duration(longest)),
            ),
        )
        for store in premises.collected
    )
    return Outcome(scheduler=scheduler, premises=premises, period=period, jobs=jobs, image=image)


def _period(scheduler: Scheduler, every: timedelta) -> Period:
    try:
        period = Period.of(every)
    except ValueError as error:
        raise UsageError(
            f"--every: no scheduler comes back evenly every {format_duration(every)}",
            hint=str(error),
        ) from None
    if scheduler is Scheduler.CRON and not period.is_within_an_hour:
        raise UsageError(
            f"--every: cron counts the hours of {format_duration(every)} by the local clock, "
            "which skips one in spring and repeats one in autumn",
            hint="write 1h or less, or take systemd or kubernetes, which are told UTC",
        )
    return period


def _refuse_unwritable(premises: Premises) -> None:
    paths = (premises.config, premises.state, premises.env_file)
    for text in (*premises.command, *map(str, paths)):
        if not text.isprintable() or "\\" in text:
            raise ConfigError(
                f"{text!r}: a path with such a character cannot be written down for a scheduler",
                hint="move the file, or reach it through a link with a plain name",
            )


_LONGEST_NAME = 52
_PREFIX = "idemctl-gc-"


def _name(store: str) -> str:
    """Name what is made for a store, where names are shorter and end in no hyphen."""
    whole = _PREFIX + store
    if len(whole) <= _LONGEST_NAME and not whole.endswith("-"):
        return whole
    digest = hashlib.sha256(store.encode()).hexdigest()[:8]
    return f"{whole[: _LONGEST_NAME - 9].rstrip('-')}-{digest}"

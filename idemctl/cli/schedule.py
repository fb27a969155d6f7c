"""`idemctl schedule`."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from idemctl.cli.options import duration, option
from idemctl.cli.verb import Work, verb
from idemctl.domain.outcomes import Report

_EVERY = timedelta(minutes=5)
_ENV_FILE = Path("/etc/idemctl/env")
Every = Annotated[
    timedelta,
    option(
        "--every",
        help="how often: a part of an hour or of a day",
        parser=duration,
        metavar="DURATION",
        show_default="5m",
    ),
]
EnvFile = Annotated[
    Path,
    option("--env-file", help="file with the variables, which you write", metavar="FILE"),
]


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(help="Ready lines for regular runs of gc.")
    for function in (cron, systemd, kubernetes):
        verb(group, function.__name__, full_name=f"schedule {function.__name__}")(function)
    app.add_typer(group, name="schedule")


def cron(work: Work, *, every: Every = _EVERY, env_file: EnvFile = _ENV_FILE) -> Report:
    """Print lines of a crontab that collect regularly, one for each chosen store.

    idemctl schedule cron | crontab -      replaces what that user's crontab holds
    idemctl schedule cron --every 15m --store payments

    Reads the configuration, connects to nothing, and changes nothing. The lines need
    nothing of the environment: the variables that the configuration names come from
    --env-file, whose values are never printed. Which minute a line has follows from host
    and store; it is the same in every time zone, so that cron takes an hour at most.
    --max-duration is handed on to gc; left out, a run may take four fifths of a period.

    Exit status: 0 printed, 2 cron cannot express it, 5 no configuration names a store,
    78 configuration.
    """
    return _print("cron", work, every, env_file)


def systemd(work: Work, *, every: Every = _EVERY, env_file: EnvFile = _ENV_FILE) -> Report:
    """Print a service and a timer that collect regularly, templates for every store.

    idemctl schedule systemd                  both, each below its name
    idemctl schedule systemd -o json | jq -r '.items[0].text'    the service alone

    Reads the configuration, connects to nothing, and changes nothing. The variables that
    the configuration names come from --env-file, whose values are never printed. The
    service may write into the state folder alone.
    --max-duration is handed on to gc; left out, a run may take four fifths of a period.

    Exit status: 0 printed, 2 systemd cannot express it, 5 no configuration names a store,
    78 configuration.
    """
    return _print("systemd", work, every, env_file)


def kubernetes(
    work: Work,
    *,
    every: Every = _EVERY,
    image: Annotated[
        str, option("--image", help="image that holds idemctl", metavar="NAME")
    ] = "idemctl",
) -> Report:
    """Print CronJobs that collect regularly, each with a claim for its history.

    idemctl schedule kubernetes --image example/idemctl:1 | kubectl apply -f -

    Reads the configuration, connects to nothing, and changes nothing. The variables that
    the configuration names come from the Secret idemctl, the configuration from the
    ConfigMap idemctl; the first lines say how both are made.
    --max-duration is handed on to gc; left out, a run may take four fifths of a period.

    Exit status: 0 printed, 2 Kubernetes cannot express it, 5 no configuration names a
    store, 78 configuration.
    """
    return _print("kubernetes", work, every, _ENV_FILE, image=image)


def _print(name: str, work: Work, every: timedelta, env_file: Path, *, image: str = "") -> Report:
    from idemctl.bootstrap.scheduling import premises
    from idemctl.operations.schedule import Scheduler, schedule
    from idemctl.render.schedule import report

    settings = work.workplace.settings
    work.workplace.refuse_guess()
    work.say_what_is_assumed()
    outcome = schedule(
        Scheduler(name),
        premises(settings, work.workplace.catalogue, env_file),
        every=every,
        max_duration=work.run.max_duration,
        image=image,
    )
    return report(outcome, work.run, work.now())

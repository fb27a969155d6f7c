"""Lines for a scheduler: the bare file for a pipe, the envelope for programs.

What a path holds is quoted by the rules of whoever reads it: a shell inside a crontab, a
unit of systemd, YAML.
"""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING

from idemctl.domain.outcomes import Report, Sheet
from idemctl.render.cronjob import cronjobs

if TYPE_CHECKING:
    from datetime import datetime

    from idemctl.operations.schedule import Job, Outcome
    from idemctl.run.run import Run

_STATUSES = """\
# 0: done; what others had locked, or the deadline left, the next run takes.
# 4: expired records are over a day old, or the database refused some. 5: a brake or a freeze
# said no. 10: unreachable. 12: rights. 78: configuration.
"""
_OF_SYSTEMD = "/etc/systemd/system/"
_STATE_FOLDERS = re.compile(r"/var/lib/([\w./-]+)", re.ASCII)


def report(outcome: Outcome, run: Run, finished_at: datetime) -> Report:
    """Make the report of what one scheduler is told."""
    files = {"cron": _crontab, "systemd": _units, "kubernetes": cronjobs}[outcome.scheduler](
        outcome, _STATUSES
    )
    return Report(
        command=f"schedule-{outcome.scheduler}",
        status=outcome.status,
        store=None,
        run_id=run.id,
        started_at=run.started_at,
        finished_at=finished_at,
        summary={"stores": len(outcome.jobs)},
        items=[{"code": name, "text": text} for name, text in files],
        sheets=[Sheet(lines="".join(text for _, text in files).splitlines())],
        headline=f"{outcome.scheduler}: {len(outcome.jobs)} regular runs",
    )


def _crontab(outcome: Outcome, statuses: str) -> list[tuple[str, str]]:
    here = outcome.premises
    head = (
        f"# idemctl gc, one line for each store; the crontab of {here.user}.\n"
        f"# {here.env_file} is yours to write, 0600, lines of NAME='value': "
        f"{', '.join(here.variables)}.\n"
        f"# The brakes compare a run with earlier ones: {here.state} has to outlive it.\n"
    ) + statuses
    return [("crontab", head), *((job.name, _cron_line(outcome, job)) for job in outcome.jobs)]


def _cron_line(outcome: Outcome, job: Job) -> str:
    here = outcome.premises
    command = shlex.join([*here.command, "gc", "--apply", "--config", str(here.config), *job.words])
    line = (
        f"set -a && . {shlex.quote(str(here.env_file))} && "
        f"IDEMCTL_STATE={shlex.quote(str(here.state))} && exec {command}"
    )
    # To cron an unescaped one ends the command, inside quotes too.
    return f"{job.cron} {line.replace('%', chr(92) + '%')}\n"


def _units(outcome: Outcome, statuses: str) -> list[tuple[str, str]]:
    service = _SERVICE.format(
        statuses=statuses.rstrip("\n"),
        env_file=_specifiers(str(outcome.premises.env_file)),
        names=", ".join(outcome.premises.variables),
        user=outcome.premises.user,
        state=_quoted(f"IDEMCTL_STATE={outcome.premises.state}"),
        command=_exec_start(outcome),
        timeout=int(outcome.period.length.total_seconds()),
        room=_room(str(outcome.premises.state)),
    )
    timer = _TIMER.format(
        calendar=outcome.period.calendar,
        delay=int((outcome.period.length - outcome.period.longest_run).total_seconds()),
        timers=" ".join(f"idemctl-gc@{job.store}.timer" for job in outcome.jobs),
    )
    files = {"idemctl-gc@.service": service, "idemctl-gc@.timer": timer}
    return [(name, f"# {_OF_SYSTEMD}{name}\n{text}") for name, text in files.items()]


def _exec_start(outcome: Outcome) -> str:
    here, (_, _, *options) = outcome.premises, outcome.jobs[0].words
    words = [*here.command, "gc", "--apply", "--config", str(here.config)]
    # A dollar is doubled: to systemd a single one begins the name of a variable.
    given = [_quoted(word).replace("$", "$$") for word in words]
    return " ".join([*given, "--store %i", *options])


def _room(state: str) -> str:
    below = _STATE_FOLDERS.fullmatch(state)
    if below is not None:
        return f"StateDirectory={below[1]}\nStateDirectoryMode=0700"
    made = f"install -d -m 700 {shlex.quote(state)}"
    return f"# It has to be there: {made}\nReadWritePaths={_quoted(state)}"


def _quoted(word: str) -> str:
    """Write a word as systemd splits it; what needs no quotes has none."""
    bare = re.fullmatch(r"[\w./=:@+,%-]+", word, re.ASCII) is not None
    return _specifiers(word if bare else json.dumps(word, ensure_ascii=False))


def _specifiers(text: str) -> str:
    return text.replace("%", "%%")


_SERVICE = """\
# One template for all stores; the name after @ is the store's.
# The brakes compare a run with earlier ones: the state folder has to outlive it.
{statuses}
[Unit]
Description=Collect expired idempotency keys of %i
Wants=network-online.target
After=network-online.target

[Service]
Type=oneshot
User={user}
# Yours to write, 0600, lines of NAME='value': {names}.
EnvironmentFile={env_file}
Environment={state}
ExecStart={command}
# A run ends by itself long before.
TimeoutStartSec={timeout}
{room}
UMask=0077
NoNewPrivileges=yes
ProtectSystem=strict
# Not PrivateTmp: a socket of the database may be there; nor =yes, for a venv may be at home.
ProtectHome=read-only
PrivateDevices=yes
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectControlGroups=yes
RestrictSUIDSGID=yes
RestrictRealtime=yes
LockPersonality=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
"""
_TIMER = """\
# systemctl daemon-reload && systemctl enable --now {timers}
[Unit]
Description=Collect expired idempotency keys of %i regularly

[Timer]
OnCalendar={calendar}
# Always the same delay on one host, and another one on each.
RandomizedDelaySec={delay}
FixedRandomDelay=yes
AccuracySec=1s
Persistent=yes

[Install]
WantedBy=timers.target
"""

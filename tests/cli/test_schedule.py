"""schedule at the command line: what it prints runs where nothing else is set, and collects."""

from __future__ import annotations

import configparser
import json
import shlex
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.cli.places import PAYMENTS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.places import Database, Place

SCHEDULERS = ("cron", "systemd", "kubernetes")
CANARY = "canary-5f3a"
PAIR = """\
version: 1
stores:
  payments:
    postgres: {dsn_env: PG_PAYMENTS, direct_dsn_env: PG_DIRECT, password_file: pg.password}
    redis: {url_env: REDIS_PAYMENTS}
    policies: policies.yaml
  webhooks:
    postgres: {layout: bare, table: public.seen_events}
    ttl: 7d
  sessions:
    redis: {url_env: REDIS_SESSIONS}
  orders:
    postgres: {layout: lago, dsn_env: PG_ORDERS}
"""


def entries(crontab: str) -> list[str]:
    return [line for line in crontab.splitlines() if not line.startswith("#")]


def as_cron_reads(entry: str) -> str:
    """The command that cron hands to sh: cut at the first bare %, after five fields."""
    command, position = "", 0
    rest = entry.split(" ", 5)[5]
    while position < len(rest) and rest[position] != "%":
        if rest[position] == "\\" and rest[position + 1] == "%":
            position += 1
        command += rest[position]
        position += 1
    return command


def run_bare(command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/usr/bin/env", "-i", "/bin/sh", "-c", command],
        cwd="/",
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )


def awkward(place: Place) -> tuple[Path, Path]:
    """A configuration and a file of variables in a folder whose name needs every quote."""
    folder = place.folder / 'it\'s 100% "$HOME" & more'
    folder.mkdir()
    config, env_file = folder / "idemctl.yaml", folder / "env of gc"
    config.write_text(PAYMENTS, "utf-8")
    needed = {name: place.environ[name] for name in ("DATABASE_URL", "PYTHONPATH")}
    lines = [f"{name}={shlex.quote(value)}\n" for name, value in needed.items()]
    env_file.write_text("".join(lines), "utf-8")
    place.lead(IDEMCTL_STATE=str(folder / "state"))
    return config, env_file


def test_the_line_of_cron_collects_with_nothing_in_the_environment(
    place: Place, seeded: Database
) -> None:
    config, env_file = awkward(place)
    over = "processed_events WHERE expires_at < now() AND status IN ('completed', 'failed')"
    words = ("schedule", "cron", "--config", str(config), "--env-file", str(env_file))
    (entry,) = entries(place.main(*words).out)
    kept_open = env_file.rename(env_file.with_name("elsewhere"))
    assert run_bare(as_cron_reads(entry)).returncode != 0
    kept_open.rename(env_file)
    # Nor does it work where nobody escaped what cron takes for an end.
    assert run_bare(as_cron_reads(entry.replace("\\%", "%"))).returncode != 0
    before = seeded.count(over)
    assert before

    done = run_bare(as_cron_reads(entry))

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert seeded.count(over) == 0
    assert list((config.parent / "state" / "journals").glob("*.jsonl"))


def test_a_store_has_a_line_of_its_own_and_what_is_not_collected_has_none(place: Place) -> None:
    place.configure(PAIR)

    def stores(*words: str) -> list[str]:
        lines = entries(place.main("schedule", "cron", *words).out)
        return [line.split("--store ")[1].split()[0] for line in lines]

    assert stores() == ["payments", "webhooks"]
    assert stores("--store", "webhooks") == ["webhooks"]
    for name in ("sessions", "orders"):
        alone = place.main("schedule", "cron", "--store", name)
        assert (alone.status, alone.out) == (78, "")
        assert "no chosen store has records that gc collects" in alone.err


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_names_of_variables_are_printed_and_never_their_values(
    place: Place, scheduler: str
) -> None:
    place.configure(PAIR)
    (place.folder / "pg.password").write_text(CANARY, "utf-8")
    names = ("PG_PAYMENTS", "PG_DIRECT", "REDIS_PAYMENTS", "DATABASE_URL")
    place.lead(**dict.fromkeys((*names, "REDIS_SESSIONS"), f"redis://u:{CANARY}@h/0"))
    for form in ("table", "json", "markdown", "csv"):
        done = place.main("schedule", scheduler, "-v", "-o", form)
        assert done.status == 0
        assert CANARY not in done.out + done.err
    printed = place.main("schedule", scheduler).out
    assert all(name in printed for name in names)
    # Of a store that has no line.
    assert "REDIS_SESSIONS" not in printed
    assert "PG_ORDERS" not in printed


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_the_envelope_carries_the_same_text_in_parts(place: Place, scheduler: str) -> None:
    place.configure(PAIR)
    bare = place.main("schedule", scheduler)
    document = place.main("schedule", scheduler, "-o", "json").document
    assert (bare.status, bare.err, document["exit"]) == (0, "", 0)
    assert document["schema"] == f"idemctl/schedule-{scheduler}/v1"
    assert "".join(item["text"] for item in document["items"]) == bare.out
    assert not place.state.exists()


def units(place: Place, folder: Path, *words: str) -> dict[str, str]:
    items = place.main("schedule", "systemd", "-o", "json", *words).document["items"]
    for item in items:
        (folder / item["code"]).write_text(item["text"], "utf-8")
    return {item["code"]: item["text"] for item in items}


def parsed(unit: str) -> dict[str, dict[str, str]]:
    parser = configparser.ConfigParser(strict=False, interpolation=None, comment_prefixes="#")
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read_string(unit)
    return {name: dict(parser[name]) for name in parser.sections()}


def test_the_units_say_what_they_have_to(place: Place, tmp_path: Path) -> None:
    place.configure(PAIR)
    place.lead(IDEMCTL_STATE="/var/lib/idemctl/prod")
    made = units(place, tmp_path)
    service, timer = (parsed(made[f"idemctl-gc@.{kind}"]) for kind in ("service", "timer"))
    assert service["Service"]["Type"] == "oneshot"
    assert "Restart" not in service["Service"]
    assert service["Service"]["EnvironmentFile"] == "/etc/idemctl/env"
    assert service["Service"]["Environment"] == "IDEMCTL_STATE=/var/lib/idemctl/prod"
    assert service["Service"]["StateDirectory"] == "idemctl/prod"
    command = service["Service"]["ExecStart"]
    assert command.startswith(f"{place.python} -P -m idemctl gc --apply --config {place.folder}")
    assert command.endswith("--store %i -q --if-locked skip --max-duration 4m")
    assert timer["Timer"]["OnCalendar"] == "*:0/5 UTC"
    assert timer["Timer"]["RandomizedDelaySec"] == "60"
    assert "idemctl-gc@payments.timer idemctl-gc@webhooks.timer" in made["idemctl-gc@.timer"]


def test_systemd_finds_no_fault_in_the_units(place: Place, seeded: Database) -> None:
    config, env_file = awkward(place)
    folder = place.folder / "units"
    folder.mkdir()
    made = units(place, folder, "--config", str(config), "--env-file", str(env_file))
    service = parsed(made["idemctl-gc@.service"])["Service"]
    quoted = str(config.parent).replace("%", "%%").replace('"', '\\"')
    assert service["EnvironmentFile"] == str(env_file).replace("%", "%%")
    assert service["ReadWritePaths"] == f'"{quoted}/state"'
    assert f'--config "{quoted.replace("$", "$$")}/idemctl.yaml"' in service["ExecStart"]
    analyze = shutil.which("systemd-analyze")
    if analyze is not None:
        assert faults(analyze, folder) == []
        broken = made["idemctl-gc@.service"].replace("Type=oneshot", "Type=oneshoot")
        (folder / "idemctl-gc@.service").write_text(broken, "utf-8")
        assert "oneshoot" in faults(analyze, folder)[0]


def faults(analyze: str, folder: Path) -> list[str]:
    """What systemd says of the units there; of this host's own it may say more."""
    done = subprocess.run(
        [analyze, "verify", *sorted(folder.iterdir())],
        check=False,
        capture_output=True,
        text=True,
    )
    return [line for line in done.stderr.splitlines() if "idemctl-gc@" in line]


def manifests(place: Place, *words: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(place.main("schedule", "kubernetes", *words).out))


def test_the_manifests_say_what_they_have_to(place: Place) -> None:
    place.configure(PAIR)
    claim, job, *others = manifests(place, "--image", 'a"b: c')
    assert [one["kind"] for one in others] == ["PersistentVolumeClaim", "CronJob"]
    assert claim["kind"] == "PersistentVolumeClaim"
    assert job["metadata"]["name"] == claim["metadata"]["name"] == "idemctl-gc-payments"
    spec = job["spec"]
    assert (spec["timeZone"], spec["concurrencyPolicy"]) == ("Etc/UTC", "Forbid")
    assert spec["jobTemplate"]["spec"]["backoffLimit"] == 0
    pod = spec["jobTemplate"]["spec"]["template"]["spec"]
    assert pod["restartPolicy"] == "Never"
    (container,) = pod["containers"]
    assert container["image"] == 'a"b: c'
    assert container["envFrom"] == [{"secretRef": {"name": "idemctl"}}]
    assert container["args"][-7:] == [
        *("--store", "payments", "-q", "--if-locked", "skip", "--max-duration", "4m"),
    ]
    mounts = {one["name"]: one["mountPath"] for one in container["volumeMounts"]}
    (state,) = (one["value"] for one in container["env"] if one["name"] == "IDEMCTL_STATE")
    assert state.startswith(mounts["history"] + "/")
    claimed = {one["name"]: one.get("persistentVolumeClaim") for one in pod["volumes"]}
    assert claimed["history"] == {"claimName": "idemctl-gc-payments"}
    printed = place.main("schedule", "kubernetes").out
    assert f"{place.folder}/policies.yaml, {place.folder}/pg.password\n" in printed


@pytest.mark.parametrize("name", ["a" * 63, "a-", "b" * 41 + "-", "c" * 40 + "--d"])
def test_long_names_of_stores_become_names_that_kubernetes_takes(place: Place, name: str) -> None:
    place.configure(
        f"version: 1\nstores: {{{name}: {{postgres: {{}}}}, {name[:-1]}: {{postgres: {{}}}}}}\n"
    )
    names = {one["metadata"]["name"] for one in manifests(place)}
    assert len(names) == 2
    assert all(len(one) <= 52 and one[-1].isalnum() for one in names)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("cron", "--every", "6h"), "by the local clock"),
        (("cron", "--every", "7m"), "evenly every 7m"),
        (("cron", "--every", "90s"), "evenly every 1m30s"),
        (("systemd", "--every", "5h"), "evenly every 5h"),
        (("kubernetes", "--every", "2d"), "evenly every 2d"),
        (("systemd", "--every", "90m"), "evenly every 1h30m"),
        (("cron", "--max-duration", "5m"), "--max-duration: 5m is not shorter"),
    ],
)
def test_what_a_scheduler_cannot_express_is_refused(
    place: Place, words: tuple[str, ...], says: str
) -> None:
    place.configure(PAYMENTS)
    done = place.main("schedule", *words)
    assert (done.status, done.out) == (2, "")
    assert says in done.err
    assert "Traceback" not in done.err


def test_hours_are_told_to_those_who_know_utc(place: Place, tmp_path: Path) -> None:
    place.configure(PAYMENTS)
    job = manifests(place, "--every", "6h", "--max-duration", "10m")[1]
    minute, hours, *rest = job["spec"]["schedule"].split()
    assert (int(minute) < 60, hours[-5:], rest) == (True, "-23/6", ["*"] * 3)
    made = units(place, tmp_path, "--every", "1d")["idemctl-gc@.timer"]
    assert parsed(made)["Timer"]["OnCalendar"] == "00:00 UTC"


def test_by_a_guess_nothing_is_scheduled(place: Place) -> None:
    place.lead(DATABASE_URL=f"postgresql://u:{CANARY}@h/d")
    done = place.main("schedule", "cron", "-o", "json")
    assert done.status == 5
    assert CANARY not in done.out + done.err
    assert json.loads(done.out)["items"] == []


def test_a_path_that_no_line_can_hold_is_refused(place: Place) -> None:
    place.configure(PAYMENTS)
    for name in ("a\nb", "a\\b", "a\x1bb"):
        done = place.main("schedule", "systemd", "--env-file", name)
        assert (done.status, done.out) == (78, "")
        assert len(done.err.splitlines()) == 2

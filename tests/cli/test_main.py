"""Whatever goes wrong: one line, one way out, the right status, and no secret."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg import sql

from idemctl import __version__
from idemctl.cli.main import main
from idemctl.errors import ExitStatus
from tests.cli.failures import CANARY, CASES, IN_REPORT
from tests.cli.places import PAYMENTS, Done

if TYPE_CHECKING:
    from collections.abc import Iterator

    from idemctl.sandbox.servers import Sandbox
    from tests.cli.conftest import Databases
    from tests.cli.failures import Case
    from tests.cli.places import Place


@pytest.fixture(scope="module")
def words(databases: Databases, seeded_template: str, sandbox: Sandbox) -> Iterator[dict[str, str]]:
    """What a case's strings are completed with; the reader may do everything but delete."""
    reader = f"reader_{seeded_template}"
    identifier = sql.Identifier(reader)
    databases.admin.execute(
        sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(identifier, sql.Literal(CANARY))
    )
    with psycopg.connect(sandbox.dsn(seeded_template)) as owner:
        owner.execute(sql.SQL("GRANT SELECT, UPDATE ON processed_events TO {}").format(identifier))
    with socket.create_server(("127.0.0.1", 0)) as once_open:
        closed = str(once_open.getsockname()[1])
    status = sandbox.status()
    yield {
        "password": sandbox.dsn().split(":")[2].partition("@")[0],
        "port": str(status.postgres.port),
        "database": seeded_template,
        "redis_password": sandbox.redis_url().split(":")[2].partition("@")[0],
        "redis_port": str(status.redis.port),
        "reader": reader,
        "closed": closed,
        "config": "case.yaml",
    }
    with psycopg.connect(sandbox.dsn(seeded_template)) as owner:
        owner.execute(sql.SQL("REVOKE ALL ON processed_events FROM {}").format(identifier))
    databases.admin.execute(sql.SQL("DROP ROLE {}").format(identifier))


def set_up(case: Case, place: Place, words: dict[str, str]) -> None:
    (place.folder / words["config"]).write_text(case.config, "utf-8")
    place.lead(
        IDEMCTL_CONFIG=words["config"],
        DATABASE_URL=case.dsn.format(**words),
        REDIS_URL=case.redis.format(**words),
    )


def check(
    case: Case, done: Done, place: Place, words: dict[str, str], *, json_wanted: bool
) -> None:
    assert done.status == case.status, done
    message, *hints = done.err.splitlines()
    says, hint = case.says.format(**words), case.hint.format(**words)
    group = {"store", "sandbox"} & {case.words[0]}
    command = " ".join(case.words[: 2 if group else 1])
    if says.endswith(": "):
        assert message.startswith(f"idemctl {command}: {says}")
    else:
        assert message == f"idemctl {command}: {says}"
    assert len(hints) <= 1
    assert "".join(hints) == (f"  {hint}" if hint else "")
    if json_wanted:
        document = done.document
        assert document["exit"] == case.status
        assert document["status"] == case.status.label
        assert document["items"] == []
        [error] = document["errors"]
        assert message == f"idemctl {command}: {error['message']}"
        assert (error["hint"] or "") == hint
    else:
        assert done.out == ""
    no_secret(done, place, words)


def no_secret(done: Done, place: Place, words: dict[str, str]) -> None:
    kept = [file.read_text("utf-8") for file in place.state.rglob("*") if file.is_file()]
    for text in (done.out, done.err, *kept):
        assert "Traceback" not in text
        for secret in (CANARY, words["password"], words["redis_password"]):
            assert secret not in text


@pytest.mark.parametrize("name", [name for name in CASES if name not in IN_REPORT])
def test_each_failure_is_one_line_with_a_way_out(
    place: Place, words: dict[str, str], name: str
) -> None:
    case = CASES[name]
    set_up(case, place, words)
    check(case, place.main(*case.words), place, words, json_wanted=False)
    check(case, place.main(*case.words, "-o", "json"), place, words, json_wanted=True)
    place.lead(IDEMCTL_OUTPUT="json")
    check(case, place.main(*case.words), place, words, json_wanted=True)


def test_the_same_holds_for_real_processes(place: Place, words: dict[str, str]) -> None:
    names = [name for name in CASES if name not in IN_REPORT][::2]
    assert len(names) == 10
    started = []
    for number, name in enumerate(names):
        here = words | {"config": f"case-{number}.yaml"}
        set_up(CASES[name], place, here)
        as_json = ("-o", "json") if number % 2 else ()
        started.append((name, here, place.start(*CASES[name].words, *as_json)))
    for number, (name, here, process) in enumerate(started):
        done = place.end(process)
        check(CASES[name], done, place, here, json_wanted=bool(number % 2))


def test_doctor_turns_a_refused_store_into_a_line(place: Place, words: dict[str, str]) -> None:
    case = CASES["redis-wrong-password"]
    set_up(case, place, words)
    done = place.main(*case.words, "-o", "json")
    assert done.status == ExitStatus.DENIED
    assert done.err == ""
    statuses = {"ok", "not looked at"}
    [line] = [item for item in done.document["items"] if item["status"] not in statuses]
    assert (line["code"], line["status"]) == ("login", "denied")
    assert line["fix"]
    no_secret(done, place, words)


def test_ndjson_and_nagios_hold_for_failures_too(place: Place) -> None:
    place.configure(PAYMENTS)
    header, whole = place.main("gc", "-o", "ndjson").out.splitlines()
    assert json.loads(header)["schema"] == "idemctl/gc/v1"
    assert json.loads(whole)["exit"] == 78
    done = place.main("gc", "-o", "nagios")
    assert done.status == 3
    assert done.out.startswith("IDEMCTL UNKNOWN - idemctl.yaml:4:16: store 'payments' needs ")
    assert done.out.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        ("-o", "json"),
        ("-ojson",),
        ("--output=json",),
        ("--output", "json"),
        ("-qo", "json"),
        ("-o", "table", "-o", "json"),
    ],
)
def test_every_way_to_ask_for_json_is_understood_when_words_are_wrong(
    place: Place, words: tuple[str, ...]
) -> None:
    done = place.main("gc", "--aply", *words)
    assert done.status == 2
    assert done.document["schema"] == "idemctl/gc/v1"


def test_a_group_alone_is_no_command(place: Place) -> None:
    done = place.main("sandbox")
    assert (done.status, done.out) == (2, "")
    assert done.err == "idemctl sandbox: Missing command.\n  see idemctl sandbox --help\n"


def test_idemctl_alone_shows_its_help(place: Place) -> None:
    done = place.main()
    assert done.status == 0
    assert done == place.main("--help")


def test_a_form_asked_for_later_wins_over_json(place: Place) -> None:
    place.lead(IDEMCTL_OUTPUT="json")
    assert place.main("gc", "--aply", "-o", "csv").out == ""


def test_what_was_typed_is_inert_when_it_is_repeated(place: Place) -> None:
    done = place.main("gc\x1b[31m\n")
    assert done.status == 2
    assert "\x1b" not in done.err
    assert done.err.count("\n") == 2


def test_an_unexpected_error_is_a_bug_without_its_text(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError(CANARY)

    monkeypatch.setattr("idemctl.settings.load_settings", broken)
    done = place.main("gc", "-o", "json")
    assert done.status == 1
    message, hint = done.err.splitlines()
    assert message.startswith("idemctl gc: unexpected ZeroDivisionError in test_main.py:")
    assert message.endswith(f"; idemctl {__version__}")
    assert hint == "  this is a bug: please report this line, and what you ran"
    assert done.document["status"] == "bug"
    assert CANARY not in done.out + done.err


def test_the_version_is_told(place: Place) -> None:
    assert place.main("--version") == Done(status=0, out=f"idemctl {__version__}\n", err="")


def test_main_takes_words_and_gives_a_status(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "exit-codes", "-o", "csv"]) == 0
    assert capsys.readouterr().out.startswith("code,name,meaning\n0,ok,")

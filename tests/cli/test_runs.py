"""Archives at the command line: what was collected comes back, and the numbers agree."""

from __future__ import annotations

import resource
import subprocess
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.places import LARGE_EXPIRED, LARGE_KEPT, await_that
from tests.stores.postgres.tables import open_table

if TYPE_CHECKING:
    from tests.cli.places import Database, Done, Place

GC = (
    *("gc", "--apply", "--despite", "volume", "--pace", "full"),
    *("--archive", "kept", "-o", "json"),
)
NEVER = "20260101T000000-abcdef"
# Stands still with its third batch in the archive, which has not committed.
STOPS = """\
import sys, time, pathlib
from idemctl.cli.main import main
from idemctl.state.archive import ArchiveFile

kept, count = ArchiveFile.keep, 0

def keep(self, taken):
    global count
    kept(self, taken)
    count += 1
    if count == 3:
        pathlib.Path("here").touch()
        time.sleep(60)

ArchiveFile.keep = keep
sys.exit(main(sys.argv[1:]))
"""


def digest(database: Database, table: str = "processed_events") -> Any:
    return database.ask(
        f"SELECT count(*), md5(string_agg(t::text, E'\\n' ORDER BY t::text)) FROM {table} t"
    )


def collected(place: Place, *more: str) -> Done:
    done = place.main(*GC, *more)
    assert done.status == 0, done.err
    return done


def run_of(done: Done) -> str:
    run_id: str = done.document["run_id"]
    return run_id


def test_archive_table_report_and_journal_agree_and_all_comes_back(
    large: Database, place: Place
) -> None:
    before = digest(large)
    gc = collected(place, "--workers", "2")
    run = run_of(gc)
    assert gc.summary["deleted"] == LARGE_EXPIRED
    assert large.count("processed_events") == LARGE_KEPT
    files = sorted((place.folder / "kept").iterdir())
    assert len(files) == 2
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}

    check = place.main("runs", "check", run, "-o", "json", "--pace", "full")
    assert check.status == 0, check.out
    [item] = check.document["items"]
    assert item["archived"] == item["journal_deleted"] == LARGE_EXPIRED
    assert (check.summary["absent"], check.summary["same"]) == (LARGE_EXPIRED, 0)
    assert all(file["has_end"] and file["records"] for file in item["files"])

    look = place.main("runs", "undo", run, "-o", "json", "--pace", "full")
    assert (look.status, look.summary["absent"]) == (0, LARGE_EXPIRED)
    assert large.count("processed_events") == LARGE_KEPT

    words = ("runs", "undo", run, "--apply", "--confirm", "payments", "--pace", "full")
    undo = place.main(*words, "-o", "json")
    assert (undo.status, undo.summary["restored"]) == (0, LARGE_EXPIRED), undo.err
    assert digest(large) == before
    again = place.main(*words, "-o", "json")
    assert (again.summary["restored"], again.summary["same"]) == (0, LARGE_EXPIRED)
    assert collected(place).summary["deleted"] == LARGE_EXPIRED

    listed = place.main("runs", "list", "-o", "json").document["items"]
    assert [(one["verb"], one["ended_with"]) for one in listed] == [
        ("gc", 0),
        ("runs undo", 0),
        ("runs undo", 0),
        ("gc", 0),
    ]
    shown = place.main("runs", "show", run, "-o", "json").summary
    assert (shown["deleted"], len(shown["archive_files"])) == (LARGE_EXPIRED, 2)


def test_every_store_comes_back_with_what_hangs_on_it(seeded: Database, place: Place) -> None:
    tables = ("processed_events", "seen_events", "workflow_runs", "workflow_steps", "outbox_events")
    before = [digest(seeded, table) for table in tables]
    names = ("payments", "webhooks", "workflows", "outbox")
    stores = [word for name in names for word in ("--store", name)]
    gc = collected(place, *stores)
    assert [digest(seeded, table) for table in tables] != before
    run = run_of(gc)
    for name in names:
        undo = place.main(
            "runs", "undo", run, "--apply", "--store", name, "--confirm", name, "-o", "json",
            "--pace", "full",
        )  # fmt: skip
        assert undo.status == 0, undo.err
        assert undo.summary["refused"] == undo.summary["altered"] == 0
    assert [digest(seeded, table) for table in tables] == before


def test_a_run_killed_between_archive_and_commit_is_told_and_undone(
    large: Database, place: Place
) -> None:
    before = digest(large)
    (place.folder / "stops.py").write_text(STOPS)
    with subprocess.Popen(
        [place.python, "stops.py", *GC], cwd=place.folder, env=place.environ,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        await_that((place.folder / "here").exists, "the third batch is archived", within=30)
        process.kill()
    large.await_no_backend()
    gone = LARGE_EXPIRED + LARGE_KEPT - large.count("processed_events")
    told = sum(one["deleted"] for one in place.batches())
    assert 0 < told == gone

    [entry] = place.main("runs", "list", "-o", "json").document["items"]
    assert (entry["ended_with"], entry["verb"]) == (None, "gc")
    run = entry["id"]
    check = place.main("runs", "check", run, "-o", "json", "--pace", "full")
    assert check.status == 0, check.out
    # Nobody knows of the third batch but the archive; its rows are there, as they were.
    assert check.summary["absent"] == gone
    assert check.summary["same"] == check.summary["archived"] - gone > 0
    [item] = check.document["items"]
    assert item["journal_deleted"] == gone
    assert "cut off" in place.main("runs", "check", run, "--pace", "full").out

    words = ("--apply", "--confirm", "payments", "--pace", "full")
    undo = place.main("runs", "undo", run, *words, "-o", "json")
    assert (undo.status, undo.summary["restored"]) == (0, gone)
    assert digest(large) == before
    assert collected(place).summary["deleted"] == LARGE_EXPIRED


def test_a_full_disk_ends_the_run_and_loses_nothing(large: Database, place: Place) -> None:
    before = digest(large)
    limit = (100_000, 100_000)
    process = place.start(*GC, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit))
    done = place.end(process, within=60)
    assert done.status == 4
    assert "File too large" in done.err
    assert "Traceback" not in done.err
    deleted = done.summary["deleted"]
    assert 0 < deleted == LARGE_EXPIRED + LARGE_KEPT - large.count("processed_events")
    run = run_of(done)
    check = place.main("runs", "check", run, "-o", "json", "--pace", "full")
    assert (check.status, check.summary["archived"]) == (0, deleted)
    assert check.summary["absent"] == deleted
    words = ("--apply", "--confirm", "payments", "--pace", "full")
    assert place.main("runs", "undo", run, *words).status == 0
    assert digest(large) == before


@pytest.fixture
def archived(large: Database, place: Place) -> str:
    large.observer.execute("DELETE FROM processed_events WHERE substr(idempotency_key, 8) <> ''")
    return run_of(collected(place))


def test_what_has_a_record_again_stays(large: Database, place: Place, archived: str) -> None:
    large.observer.execute(
        "INSERT INTO processed_events (idempotency_key, status, expires_at)"
        " VALUES ('evt-10', 'in_progress', now() + interval '1 day')"
    )
    newer = digest(large, "(SELECT * FROM processed_events WHERE idempotency_key = 'evt-10')")
    done = place.main("runs", "undo", archived, "--apply", "--confirm", "payments", "-o", "json")
    assert (done.status, done.summary["renewed"]) == (0, 1)
    assert done.summary["restored"] == done.summary["archived"] - 1
    assert newer == digest(
        large, "(SELECT * FROM processed_events WHERE idempotency_key = 'evt-10')"
    )


def test_a_damaged_archive_is_a_finding_and_the_rest_of_it_comes_back(
    large: Database, place: Place, archived: str
) -> None:
    [file] = (place.folder / "kept").iterdir()
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    check = place.main("runs", "check", archived, "-o", "json")
    assert (check.status, check.summary["damaged"]) == (3, 1)
    done = place.main("runs", "undo", archived, "--apply", "--confirm", "payments", "-o", "json")
    assert done.status == 4
    assert done.summary["restored"] == done.summary["archived"]
    assert large.count("processed_events") > done.summary["restored"]


def test_people_are_told_what_becomes_of_it(place: Place, archived: str) -> None:
    look = place.main("runs", "undo", archived)
    assert look.status == 0
    assert "the next gc --apply takes them again" in look.out
    assert f"idemctl runs undo {archived} --apply restores them" in look.out
    assert "the archive is whole" in place.main("runs", "check", archived).out
    assert "idemctl runs check" in place.main("runs", "show", archived).out
    assert archived in place.main("runs", "list").out


@pytest.mark.parametrize(
    ("words", "refused"),
    [
        (("--apply",), (2, "--confirm payments")),
        (("--apply", "--confirm", "other"), (2, "names another than payments")),
        (("--archive", "elsewhere"), (78, "no archive of this run")),
    ],
)
def test_nothing_comes_back_without_consent_or_archive(
    large: Database, place: Place, archived: str, words: tuple[str, ...], refused: tuple[int, str]
) -> None:
    before = digest(large)
    done = place.main("runs", "undo", archived, *words)
    assert done.status == refused[0]
    assert refused[1] in done.err
    assert digest(large) == before


@pytest.mark.parametrize("run", [NEVER, "../../etc/passwd", "*", ""])
def test_a_run_that_never_was_is_refused(looking: Place, run: str) -> None:
    place = looking
    for verb in ("show", "check", "undo"):
        done = place.main("runs", verb, run)
        assert done.status == 2, done.err
        assert "idemctl runs list" in done.err


def test_a_frozen_store_takes_nothing_back(large: Database, place: Place, archived: str) -> None:
    before = digest(large)
    assert place.main("store", "freeze", "--for", "1h", "--reason", "x", "--apply").status in {0, 4}
    done = place.main("runs", "undo", archived, "--apply", "--confirm", "payments")
    assert done.status == 5
    assert "frozen" in done.err
    assert digest(large) == before


def test_undo_holds_the_lock_of_gc(large: Database, place: Place, archived: str) -> None:
    before = digest(large)
    with closing(open_table(large.dsn)) as table:
        lock = table.lock("gc")
        done = place.main("runs", "undo", archived, "--apply", "--confirm", "payments")
        lock.release()
    assert done.status == 11
    assert "another gc is at work" in done.err
    assert digest(large) == before


def test_an_archive_of_another_store_is_refused(
    large: Database, place: Place, archived: str
) -> None:
    before = digest(large)
    file = place.folder / "idemctl.yaml"
    file.write_text(file.read_text("utf-8").replace("payments:", "others:"))
    done = place.main("runs", "undo", archived)
    assert done.status == 5
    assert "holds records of payments" in done.err
    file.write_text(
        file.read_text("utf-8").replace("others:", "payments:").replace(
            "public.processed_events", "public.copies"
        )
    )  # fmt: skip
    large.observer.execute("CREATE TABLE public.copies (LIKE processed_events INCLUDING ALL)")
    done = place.main("runs", "undo", archived)
    assert done.status == 5
    assert "not of public.copies" in done.err
    assert digest(large) == before


def test_no_history_is_no_error(looking: Place) -> None:
    done = looking.main("runs", "list")
    assert done.status == 0
    assert "no run is remembered" in done.out
    assert not looking.state.exists()

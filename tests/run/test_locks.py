"""Locks beside their records: what stays is forgotten, what a retry takes for a moment is not."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from idemctl.domain.instants import MISSING
from idemctl.domain.outcomes import WhyStopped
from idemctl.domain.records import Status
from idemctl.errors import Unsupported
from idemctl.run import locks as locks_module
from idemctl.run.locks import Locks
from idemctl.run.run import Stopped
from idemctl.state.folder import StateFolder
from idemctl.state.repeats import Repeats
from tests.domain.batches import at, batch
from tests.run.twins import Meanwhile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from idemctl.domain.batch import Batch

Row = dict[str, Any]


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks_module, "_SETTLE", timedelta(0))


def lock(key: bytes, end: int = at(60), **more: Any) -> Row:
    return {"keys": key, "status": Status.IN_PROGRESS, "key_expires_at": end} | more


def done(key: bytes, **more: Any) -> Row:
    return {"keys": key, "key_expires_at": at(3600)} | more


class Keyspace:
    """Locks and records, each a key of its own."""

    def __init__(self, *rows: Row, ending: bytes = b"") -> None:
        self.rows = list(rows)
        self.ending = ending
        self.read_count = 0

    def scan_named(self, choose: Callable[[Sequence[bytes]], Sequence[bytes]]) -> Iterator[Batch]:
        """See `Names.scan_named`."""
        names = [
            b"x:" + row.get("scopes", b"") + b":" + row["keys"] + self.ending for row in self.rows
        ]
        chosen = set(choose(names))
        rows = [row for row, name in zip(self.rows, names, strict=True) if name in chosen]
        self.read_count += len(rows)
        yield batch(*rows)


def forgotten(folder: Path, keyspace: Keyspace, run: Meanwhile | None = None) -> list[Any]:
    with Repeats(StateFolder(folder)) as repeats:
        locks = Locks(repeats)
        for row in keyspace.rows:
            locks.see(batch(row))
        store: Any = keyspace
        return locks.forgotten(store, run or Meanwhile())


def test_a_lock_that_stays_beside_its_record_is_forgotten(tmp_path: Path) -> None:
    keyspace = Keyspace(
        *(done(b"plain-%d" % number) for number in range(100)),
        lock(b"working"),
        lock(b"kept"), done(b"kept"),
        lock(b"endless", MISSING), done(b"endless", status=Status.UNKNOWN),
        # Of another scope, and of a record that nobody can read.
        lock(b"both", scopes=b"a"), done(b"both", scopes=b"b"),
        lock(b"odd"), done(b"odd", status=Status.MALFORMED),
    )  # fmt: skip
    assert forgotten(tmp_path, keyspace) == [(b"endless", b""), (b"kept", b"")]
    assert keyspace.read_count == 8


def test_what_a_retry_takes_for_a_moment_is_not(tmp_path: Path) -> None:
    keyspace = Keyspace(lock(b"a"), done(b"a"), lock(b"b"), done(b"b"))

    def go_on() -> None:
        # One retry gave its lock back; at the other key another one has come.
        keyspace.rows = [done(b"a"), lock(b"b", at(62)), done(b"b")]

    run = Meanwhile(happens=go_on)
    assert forgotten(tmp_path, keyspace, run) == []
    assert run.rest_count == 1


def test_names_that_do_not_end_in_the_key_cannot_be_looked_at_again(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match="do not end in their keys"):
        forgotten(tmp_path, Keyspace(lock(b"a"), done(b"a"), ending=b":x"))


def test_without_suspects_nobody_waits(tmp_path: Path) -> None:
    run = Meanwhile()
    assert forgotten(tmp_path, Keyspace(lock(b"a"), done(b"b")), run) == []
    assert run.rest_count == 0


def test_a_run_that_is_stopped_meanwhile_says_nothing(tmp_path: Path) -> None:
    run = Meanwhile()
    run.stop.ask(WhyStopped.DEADLINE)
    with pytest.raises(Stopped):
        forgotten(tmp_path, Keyspace(lock(b"a"), done(b"a")), run)

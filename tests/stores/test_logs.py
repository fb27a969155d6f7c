"""Logs become counts, and what cannot be read is counted, never passed over."""

from __future__ import annotations

import builtins
import gzip
import json
import tempfile
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from idemctl.domain.traffic import Fault, Hit
from idemctl.errors import ConfigError, Denied, Unreachable
from idemctl.stores.logs import Fields, HitLog

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from idemctl.domain.traffic import Reading

TEN = 1_793_527_200
"""2026-11-01 10:00 UTC."""


def line(**changes: Any) -> bytes:
    usual = {
        "at": "2026-11-01T10:00:00Z",
        "endpoint": "POST /charges",
        "client": "web",
        "key": "k-1",
        "outcome": "created",
    }
    return json.dumps(usual | changes).encode()


def read(*files: Path, **more: Any) -> Reading:
    fields = more.pop("fields", Fields())
    watch: Callable[[], None] = more.pop("watch", lambda: None)
    log = HitLog(files=files, fields=fields, named_in="command line", **more)
    return log.read(watch)


@pytest.fixture
def log(tmp_path: Path) -> Callable[..., Path]:
    def write(*lines: bytes, name: str = "hits.jsonl") -> Path:
        file = tmp_path / name
        file.write_bytes(b"\n".join(lines))
        return file

    return write


def counted(reading: Reading) -> dict[tuple[int, str | None, str | None], tuple[int, ...]]:
    traffic = reading.traffic
    columns = [traffic.bucket, traffic.endpoint, traffic.client, traffic.requests]
    columns += [traffic.hits[hit] for hit in Hit]
    return {
        (
            bucket,
            traffic.endpoints[endpoint] if endpoint >= 0 else None,
            traffic.clients[client] if client >= 0 else None,
        ): tuple(counts)
        for bucket, endpoint, client, *counts in zip(
            *(column.tolist() for column in columns), strict=True
        )
    }


def test_requests_are_counted_by_five_minutes_endpoint_client_and_outcome(
    log: Callable[..., Path],
) -> None:
    lines = [
        *(line(outcome=outcome) for outcome in ("created", "created", "replay", "conflict")),
        line(at="2026-11-01T10:04:59.999999Z", outcome="mismatch"),
        line(at="2026-11-01T10:05:00Z", outcome="replay"),
        line(client="app", endpoint="POST /refunds"),
    ]
    reading = read(log(*lines))

    first = TEN // 300
    assert counted(reading) == {
        (first, "POST /charges", "web"): (5, 1, 1, 1),
        (first + 1, "POST /charges", "web"): (1, 1, 0, 0),
        (first, "POST /refunds", "app"): (1, 0, 0, 0),
    }
    assert (reading.line_count, reading.unreadable_count, reading.unkeyed_count) == (7, 0, 0)


@pytest.mark.parametrize(
    ("at", "seconds"),
    [
        ("2026-11-01T10:00:00Z", TEN),
        ("2026-11-01T10:00:00+02:00", TEN - 7200),
        ("2026-11-01 10:00:00.5-0330", TEN + 12600),
        ("2026-11-01T10:00:00,25+05", TEN - 18000),
        ("2026-11-01T10:00Z", TEN),
        (TEN, TEN),
        (TEN + 0.75, TEN),
        (TEN * 1000 + 299_999, TEN),
        (str(TEN), TEN),
    ],
)
def test_an_instant_is_understood_with_its_offset(
    log: Callable[..., Path], at: object, seconds: int
) -> None:
    [(bucket, *_)] = counted(read(log(line(at=at))))
    assert bucket == seconds // 300


@pytest.mark.parametrize(
    ("bad", "fault", "seen"),
    [
        (b"garbage", Fault.NOT_JSON, b"garbage"),
        (line()[:-9], Fault.NOT_JSON, line()[:-9][:80]),
        (b'{"client": "\xff", "key": "k"}', Fault.NOT_JSON, b'{"client": "\xff", "key": "k"}'),
        (b"[1, 2]", Fault.NOT_JSON, b"[1, 2]"),
        (b"null", Fault.NOT_JSON, b"null"),
        (b"[" * 100_000, Fault.NOT_JSON, b"[" * 80),
        (b'{"a":' * 5_000 + b"1" + b"}" * 5_000, Fault.NOT_JSON, (b'{"a":' * 16)[:80]),
        (b'{"message": "started"}', Fault.NOT_JSON, b'{"message": "started"}'),
        (line() + b" " + line(), Fault.NOT_JSON, (line() + b" " + line())[:80]),
        (b"\0\0\0", Fault.NOT_JSON, b"\0\0\0"),
        (line(at="2026-11-01T10:00:00"), Fault.NO_INSTANT, b"2026-11-01T10:00:00"),
        (line(at="2026-11-01"), Fault.NO_INSTANT, b"2026-11-01"),
        (line(at="2026-13-01T10:00:00Z"), Fault.NO_INSTANT, b"2026-13-01T10:00:00Z"),
        (line(at="10:00 Europe/Berlin"), Fault.NO_INSTANT, b"10:00 Europe/Berlin"),
        (line(at="infinity"), Fault.NO_INSTANT, b"infinity"),
        (line(at=float("nan")), Fault.NO_INSTANT, b"NaN"),
        (line(at=-5), Fault.NO_INSTANT, b"-5"),
        (line(at=1e18), Fault.NO_INSTANT, b"1e18"),
        (line(at=None), Fault.NO_INSTANT, b"(none)"),
        (line(outcome="hit\x1b[31m"), Fault.UNKNOWN_OUTCOME, b"hit\x1b[31m"),
        (line(outcome=None), Fault.UNKNOWN_OUTCOME, b"(none)"),
    ],
)
def test_a_line_that_cannot_be_read_is_counted_and_shown_and_no_request(
    log: Callable[..., Path], bad: bytes, fault: Fault, seen: bytes
) -> None:
    reading = read(log(line(), bad, b"", b"  ", line(outcome="replay")))

    assert dict(reading.unreadable) == {fault: 1}
    [sample] = reading.samples
    assert sample.fault is fault
    assert sample.seen.replace(b"+", b"") == seen
    assert (reading.line_count, reading.traffic.request_count) == (3, 2)


def test_a_bare_look_would_have_counted_what_cannot_be_read(log: Callable[..., Path]) -> None:
    file = log(line(), b"garbage", b"torn {", line(key=None))
    columns = "{'at': 'VARCHAR', key: 'VARCHAR'}"

    naive = duckdb.execute(
        f"SELECT count(*) FROM read_ndjson('{file}', columns={columns}, ignore_errors=true)"
    ).fetchall()

    assert naive == [(4,)]
    assert read(file).traffic.request_count == 1


def test_a_line_without_a_key_is_no_trial(log: Callable[..., Path]) -> None:
    reading = read(log(line(), line(key=None), line(key=""), b'{"at": "x", "client": "web"}'))

    assert (reading.unkeyed_count, reading.unreadable_count) == (3, 0)
    assert reading.traffic.request_count == 1


def test_a_request_without_names_counts_and_names_nobody(log: Callable[..., Path]) -> None:
    reading = read(log(line(client=None), line(client=""), line(client=42, endpoint=None)))

    bucket = TEN // 300
    assert counted(reading) == {
        (bucket, "POST /charges", None): (2, 0, 0, 0),
        (bucket, None, "42"): (1, 0, 0, 0),
    }


def test_fields_may_have_any_names(log: Callable[..., Path]) -> None:
    names = Fields(at="t's", endpoint='a "b"', client="Select", key="at", outcome="{x}")
    mapped = {
        "t's": TEN, 'a "b"': "POST /x", "Select": "web", "at": "k", "{x}": "replay", "select": "no"
    }  # fmt: skip
    reading = read(log(json.dumps(mapped).encode()), fields=names)

    assert counted(reading) == {(TEN // 300, "POST /x", "web"): (1, 1, 0, 0)}


def test_files_are_found_by_pattern_and_read_once_each(
    tmp_path: Path, log: Callable[..., Path]
) -> None:
    plain = log(line(), name="a[1]'s.jsonl")
    packed = tmp_path / "b=2.jsonl.gz"
    packed.write_bytes(gzip.compress(line()) + gzip.compress(b"\n" + line()))
    (tmp_path / "newest.jsonl").symlink_to(plain)

    assert read(tmp_path / "*.jsonl*", plain, packed).traffic.request_count == 3


@pytest.mark.parametrize(
    ("name", "said"), [("none.jsonl", "there is no such file"), (".", "is no file")]
)
def test_a_file_that_is_not_there_is_named(tmp_path: Path, name: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        read(tmp_path / name)
    with pytest.raises(ConfigError, match=r"^command line: no file matches .*\*\.log$"):
        read(tmp_path / "*.log")


def test_a_file_that_may_not_be_read_is_denied(
    log: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(file: Path, mode: str) -> None:
        raise PermissionError(file, mode)

    file = log(line())
    # Root may read every file there is.
    monkeypatch.setattr("pathlib.Path.open", closed)
    with pytest.raises(Denied, match="may not be read"):
        read(file)


@pytest.mark.parametrize("tail", [-20, None])
def test_a_torn_archive_is_an_error_and_not_a_shorter_log(tmp_path: Path, tail: int | None) -> None:
    packed = gzip.compress(b"\n".join([line()] * 50_000))
    file = tmp_path / "torn.jsonl.gz"
    file.write_bytes(packed[:tail] if tail else b"no gzip")
    with pytest.raises(Unreachable, match="cannot be read to their end"):
        read(file)


def test_an_empty_log_is_read(log: Callable[..., Path]) -> None:
    reading = read(log())
    assert (reading.line_count, reading.traffic.request_count) == (0, 0)


def test_a_signal_ends_the_reading_of_a_long_log(log: Callable[..., Path]) -> None:
    class Enough(Exception):
        pass

    def watch() -> None:
        raise Enough

    file = log(*([line()] * 400_000))
    with pytest.raises(Enough):
        read(file, watch=watch)


def test_nothing_is_left_in_the_temporary_folder(
    log: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    read(log(line()))
    assert list(folder.iterdir()) == []


def test_a_missing_extra_is_named_with_the_line_that_installs_it(
    log: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name == "duckdb":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ConfigError, match="duckdb") as refusal:
        read(log(line()))
    assert refusal.value.hint == "pip install 'idemctl[hits]'"

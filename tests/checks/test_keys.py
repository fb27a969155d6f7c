"""Keys: how long, of what, and what a path may end in."""

from __future__ import annotations

from typing import Any

import pytest

from idemctl.domain.records import Flaw, Status
from tests.checks.places import HOUR, MINUTE, POSTGRES, REDIS, URL_PATH, UUID, codes, found
from tests.domain.batches import at

HEALTHY = {
    "fingerprints": b"f",
    "counted_from": at(-HOUR),
    "completed_at": at(-HOUR + MINUTE),
    "expires_at": at(20 * HOUR),
    "key_expires_at": at(20 * HOUR),
    "response_status": 201,
}


def row(key: bytes, **more: Any) -> dict[str, Any]:
    return HEALTHY | {"keys": key} | more


def test_healthy_records_have_nothing() -> None:
    for facts in (POSTGRES, REDIS, URL_PATH):
        assert codes(facts, row(UUID), row(UUID, status=Status.FAILED)) == []


@pytest.mark.parametrize(("length", "is_too_long"), [(255, False), (256, True), (70_000, True)])
def test_a_key_may_have_255_bytes(length: int, is_too_long: bool) -> None:
    for facts in (POSTGRES, REDIS):
        assert codes(facts, row(b"k" * length)) == (["key-oversized"] if is_too_long else [])


def test_length_is_counted_in_bytes() -> None:
    assert codes(POSTGRES, row("ë".encode() * 128)) == ["key-oversized"]
    (finding,) = found(POSTGRES, row(b"k" * 300), row(b"k" * 1200))
    assert finding.evidence == "keys of 300 to 1,200 bytes"


@pytest.mark.parametrize(
    ("key", "is_text"),
    [
        (b"evt_1", True),
        ("zoë".encode(), True),
        (b"a b", True),
        (b"\xff", False),
        (b"a\0b", False),
        (b"\xc3", False),
    ],
)
def test_a_key_in_redis_is_text_or_is_named(key: bytes, is_text: bool) -> None:
    expected = [] if is_text else ["key-not-text"]
    assert codes(REDIS, row(UUID + key)) == expected
    assert codes(REDIS, row(b"plain enough"), row(key + UUID), row(b"plain too")) == expected


def test_two_halves_of_a_sign_in_two_keys_are_two_wrong_keys() -> None:
    (finding,) = found(REDIS, row(UUID + b"\xc3"), row(b"\xab" + UUID))
    assert (finding.code, finding.count) == ("key-not-text", 2)
    assert finding.sample[0]["key"] == f"{UUID.decode()}\\xc3"
    assert finding.sample[0]["key_base64"].endswith("ww==")


@pytest.mark.parametrize(
    ("key", "is_uuid"),
    [
        (UUID, True),
        (UUID.upper(), True),
        (UUID.replace(b"-", b""), True),
        (UUID + b"0", False),
        (UUID[:-1], False),
        (b"x" + UUID, False),
        (b"order-1001", False),
        (UUID.replace(b"0", b"g"), False),
        (UUID + b"\n", False),
    ],
)
def test_a_path_ends_in_a_uuid(key: bytes, is_uuid: bool) -> None:
    assert codes(URL_PATH, row(key)) == ([] if is_uuid else ["path-without-uuid"])
    assert "path-without-uuid" not in codes(REDIS, row(key))


def test_of_a_record_that_cannot_be_read_nothing_more_is_said() -> None:
    malformed = row(b"k" * 300, status=Status.MALFORMED, flaw=Flaw.FOREIGN_NAME)
    assert codes(URL_PATH, malformed) == ["malformed-record"]

"""Keys that can be guessed, and those that look nearly so."""

from __future__ import annotations

import secrets
import string
import uuid
from dataclasses import replace

import pytest

from idemctl.checks.guessing import KEY_GUESSABLE, is_guessable
from idemctl.domain.records import Flaw, Pattern, Status
from tests.checks.places import BODY_HASH, OUTBOX, POSTGRES, REDIS, URL_PATH, UUID, WORKFLOW, found
from tests.checks.test_keys import HEALTHY

CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


@pytest.mark.parametrize(
    "key",
    [
        b"k", b"evt_1", b"a1b2c3d", b"",
        b"12345678", b"1732874400", b"123456789012345", b"2026-11-29", b"17-42-1001",
        b"order-1001", b"invoice_000123", b"ORDER:1001", b"Order 17", b"job/retry/12345678",
        b"charge.123456789", b"order-2026-11-29",
        b"alice@example.com", b"alice.b.smith86@mail.example.org", b"Bob@Example.com",
    ],
)  # fmt: skip
def test_what_counts_or_names_somebody_is_guessable(key: bytes) -> None:
    assert is_guessable(key)


@pytest.mark.parametrize(
    "key",
    [
        UUID, UUID.upper(), UUID.replace(b"-", b""), b"01J9ZQ3V5K7M8N2P4R6S8T0VWX",
        b"evt_1NZ4c2eZvKYlo2C7", b"WH-2W42680HY7614420", b"8515131751004933",
        b"1732874400.123456", b"order-123456-1234567890", b"charge-1234567890",
        b"a1b2c3d4", b"deadbeef", b"order1001", b"x" * 20, b"9m4e2mr0ui3e8a215n4g",
        b"cjld2cjxh0000qzrmn831i7rn", b"Abcd-EfGh-123456", b"1" * 16, b"order-1001-a7",
        b"20261129120000.1234@mail.example.com", b"E1abCd-0001xy-2Z@mail.example.com",
        b"alice@example.com:2026-11-29", b"\xff" * 8, b"12345678\n", b"-12345678",
        b"053b1de0efa712b80fc172253afbe9ce" * 2,
    ],
)  # fmt: skip
def test_what_nobody_counts_is_not(key: bytes) -> None:
    assert not is_guessable(key)


def test_of_many_drawn_keys_none_is_guessable() -> None:
    def drawn(alphabet: str, length: int) -> bytes:
        return "".join(secrets.choice(alphabet) for _ in range(length)).encode()

    url_safe = string.ascii_letters + string.digits + "-_"
    for _ in range(3_000):
        digest = secrets.token_hex(32).encode()
        provider = b"evt_" + drawn(string.ascii_letters + string.digits, 24)
        keys = (
            str(uuid.uuid4()).encode(), digest, digest[:40], digest[:32], provider,
            drawn(CROCKFORD, 26), drawn(url_safe, 21), drawn(url_safe, 16),
        )  # fmt: skip
        assert not any(map(is_guessable, keys))


def row(key: bytes, **more: object) -> dict[str, object]:
    return HEALTHY | {"keys": key} | more


def test_guessable_keys_are_counted_among_others() -> None:
    rows = [row(UUID), row(b"order-1001"), row(b"bob@example.com"), row(b"7"), row(UUID + b"@")]
    for facts in (POSTGRES, REDIS):
        (finding,) = found(facts, *rows)
        assert (finding.code, finding.count) == ("key-guessable", 3)
        assert finding.sample[0] == {"key": "order-1001"}
        assert finding.evidence == "short keys, numbers or addresses, of 1 to 15 bytes"


def test_under_a_scope_nobody_else_can_take_a_key() -> None:
    assert found(POSTGRES, row(b"order-1001", scopes=b"acme")) == []


def test_names_of_other_patterns_are_no_keys_to_guess() -> None:
    for facts in (URL_PATH, BODY_HASH, WORKFLOW, OUTBOX):
        assert not KEY_GUESSABLE.applies(facts)
    assert KEY_GUESSABLE.applies(replace(POSTGRES, pattern=Pattern.REDIS_SETNX))


def test_of_what_cannot_be_read_nothing_is_said() -> None:
    malformed = row(b"7", status=Status.MALFORMED, flaw=Flaw.FOREIGN_NAME)
    assert [one.code for one in found(REDIS, malformed)] == ["malformed-record"]

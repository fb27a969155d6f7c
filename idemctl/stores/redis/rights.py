"""Which of the commands that reading takes this user may run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from idemctl.domain.keys import escape
from idemctl.layouts.codecs import is_presence
from idemctl.layouts.containers import Container
from idemctl.stores.answers import Right
from idemctl.stores.redis.siblings import sibling_patterns
from idemctl.stores.redis.translation import is_not_permitted, is_unknown_command

if TYPE_CHECKING:
    from collections.abc import Iterator

    from idemctl.layouts.model import RedisLayout
    from idemctl.stores.redis.bulk import Lane

_SCANS, _CLOCKS = "every command", "every command that compares times"
_LONG = "long and empty values"
_Trial = tuple[bytes, tuple[bytes, ...], str, str]
"""A command with its words, the keys that it needs a right to, and what it is needed for."""


def try_rights(lane: Lane, layout: RedisLayout, *, user: str, prefix: bytes) -> list[Right]:
    """Try each command once: all of them only read, and a trial needs no right itself."""
    rights = []
    for name, words, keys, purpose in _trials(layout, prefix):
        reply = lane.tell(name, *words)
        command = name.decode()
        if name == b"PEXPIRETIME" and is_unknown_command(reply):
            command = "PTTL"
            reply = lane.tell(b"PTTL", *words)
        rights.append(
            Right(
                name=command,
                granted=not is_not_permitted(reply),
                needed_for=purpose,
                grant=f"ACL SETUSER {user} +{command.lower()} {keys}".rstrip(),
            )
        )
    return rights


def _readings(layout: RedisLayout, prefix: bytes, under: str) -> Iterator[_Trial]:
    """Tell what reads one key that is one record."""
    if layout.hash_fields():
        yield b"MEMORY", (b"USAGE", prefix), under, _SCANS
        yield b"HLEN", (prefix,), under, _SCANS
        yield b"HMGET", (prefix, b""), under, _SCANS
        yield b"HSTRLEN", (prefix, b""), under, "hashes of many fields"
    elif is_presence(layout.codec):
        yield b"STRLEN", (prefix,), under, _SCANS
    else:
        yield b"GETRANGE", (prefix, b"0", b"0"), under, _SCANS
        yield b"STRLEN", (prefix,), under, _LONG


def _trials(layout: RedisLayout, prefix: bytes) -> Iterator[_Trial]:
    name = f"~{escape(prefix)}"
    under = f"{name}*"
    match layout.container:
        case Container.SET_MEMBER:
            yield b"SSCAN", (prefix, b"0", b"COUNT", b"1"), name, _SCANS
            yield b"SCARD", (prefix,), name, _SCANS
            yield b"SISMEMBER", (prefix, b""), name, _SCANS
            yield b"PEXPIRETIME", (prefix,), name, _SCANS
        case Container.HASH_FIELD:
            # In a name that is none, no value is sent along.
            yield b"HSCAN", (prefix, b"0", b"MATCH", b"", b"COUNT", b"1"), name, _SCANS
            yield b"HLEN", (prefix,), name, _SCANS
            yield b"HSTRLEN", (prefix, b""), name, _SCANS
            yield b"HMGET", (prefix, b""), name, _SCANS
            yield b"PEXPIRETIME", (prefix,), name, _SCANS
        case Container.KEY:
            yield b"SCAN", (b"0", b"COUNT", b"1"), "", _SCANS
            yield from _readings(layout, prefix, under)
            yield b"PEXPIRETIME", (prefix,), under, _SCANS
    for pattern in sibling_patterns(layout):
        example = pattern.replace("*", "").encode()
        yield b"GETRANGE", (example, b"0", b"0"), f"~{pattern}", _SCANS
    yield b"TIME", (), "", _CLOCKS
    if layout.container is Container.KEY:
        yield b"DBSIZE", (), "", "progress of a scan"
    yield b"INFO", (b"server",), "", "doctor"

"""The commands that a lane knows unless it was opened for writing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from idemctl.stores.redis.bursts import Command

READS = frozenset(
    {
        b"ACL WHOAMI",
        b"ASKING",
        b"CLIENT SETNAME",
        b"CLUSTER INFO",
        b"CLUSTER NODES",
        b"CLUSTER SLOTS",
        b"DBSIZE",
        b"GETRANGE",
        b"HELLO",
        b"HLEN",
        b"HMGET",
        b"HSCAN",
        b"HSTRLEN",
        b"INFO",
        b"MEMORY USAGE",
        b"PEXPIRETIME",
        b"PTTL",
        b"SCAN",
        b"SCARD",
        b"SENTINEL GET-MASTER-ADDR-BY-NAME",
        b"SISMEMBER",
        b"SSCAN",
        b"STRLEN",
        b"TIME",
        b"TYPE",
    }
)
"""By their first word or two; what follows makes no difference."""

_SETTINGS = frozenset(
    {
        (b"CONFIG", b"GET", b"APPENDFSYNC"),
        (b"CONFIG", b"GET", b"MIN-REPLICAS-TO-WRITE"),
        (b"CONFIG", b"GET", b"SAVE"),
    }
)
"""Whole commands, to the last word: other settings are passwords, and one may ask for several."""


def only_reads(command: Command) -> bool:
    """Tell whether a command is one of them, whatever key it is sent for."""
    words = tuple(word and word.upper() for word in command)
    name = words[0] or b""
    pair = b" ".join(word for word in words[:2] if word is not None)
    return name in READS or pair in READS or words in _SETTINGS

"""The commands that a lane knows unless it was opened for writing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from idemctl.stores.redis.bursts import Command

READS = frozenset(
    {
        b"ACL DRYRUN",
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

SET_PROBE: Command = (b"SET", None, b"", b"NX", b"XX")
"""Only if it is not there, and only if it is: a contradiction, which every server refuses after
it has looked whether this user may write there."""
EVAL_PROBE: Command = (b"EVAL", b"return 0", b"0")
_PROBES = frozenset({SET_PROBE, EVAL_PROBE})
"""Whole commands, for `rights` alone: they tell whether this user may write, and write nothing."""


def only_reads(command: Command) -> bool:
    """Tell whether a command is one of them, whatever key it is sent for."""
    if command in _PROBES:
        return True
    words = tuple(word and word.upper() for word in command)
    name = words[0] or b""
    pair = b" ".join(word for word in words[:2] if word is not None)
    return name in READS or pair in READS or words in _SETTINGS

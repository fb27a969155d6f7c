"""The commands that only read."""

from __future__ import annotations

READS = frozenset(
    {
        b"ACL WHOAMI",
        b"CLIENT SETNAME",
        b"CLUSTER INFO",
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
        b"SISMEMBER",
        b"SSCAN",
        b"STRLEN",
        b"TIME",
        b"TYPE",
    }
)
"""All that a lane knows unless it was opened for writing."""

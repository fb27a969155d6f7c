"""Which commands take what in Redis, and which of them this user may run: by trying them.

No trial changes anything, and none needs a right itself. What reads is run. Of what writes, the
server is asked whether it would run it for this user; where it knows no such question, or this
user may not ask it, that is sent in a form that no server carries out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from idemctl.domain.purposes import Purpose
from idemctl.layouts.codecs import is_presence
from idemctl.layouts.containers import Container as Kind
from idemctl.stores.answers import Right
from idemctl.stores.redis.bursts import KEY, Burst
from idemctl.stores.redis.describe import read_server, read_user
from idemctl.stores.redis.pages import literal
from idemctl.stores.redis.reads import EVAL_PROBE, SET_PROBE
from idemctl.stores.redis.siblings import sibling_patterns
from idemctl.stores.redis.translation import is_not_permitted, is_unknown_command

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from idemctl.layouts.model import RedisLayout
    from idemctl.stores.redis.bulk import Lane
    from idemctl.stores.redis.bursts import Command, Reply

_READERS = (Purpose.READING, Purpose.RECONCILE)
_WRITERS = (Purpose.RECONCILE,)
_SIGHT = (Purpose.SIGHT,)
_PLAIN = re.compile(rb"[!#-&(-\[\]-~]+")
"""What redis-cli reads as it stands: printed ASCII but quotes, backslash and space."""
_SPACES = re.compile(rb"[\s\0]")


@dataclass(frozen=True, slots=True)
class _Need:
    """A command, as it is tried, and the pattern of the keys that it needs a right to."""

    words: tuple[bytes, ...]
    keys: bytes = b""
    name: bytes = b""
    """Of a command of two words; else it is the first word."""
    purposes: tuple[Purpose, ...] = _READERS


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trial:
    """What came of trying one."""

    need: _Need
    granted: bool
    lacks_command: bool = False
    """Whether it is the command that is missing; else the keys, and perhaps the command too."""
    is_known: bool = True
    """Whether the server knows the command; a right to one that it does not, nobody can give."""

    def right(self, user: bytes, reachable: Container[bytes]) -> Right:
        """Word it; where other commands reach its keys, those need not be given again."""
        need = self.need
        name = need.name or need.words[0]
        command = quoted(b"+" + name.lower().replace(b" ", b"|"))
        rule = f"{command} {quoted(need.keys)}" if need.keys else command
        missing = command if self.lacks_command and need.keys in reachable else rule
        return Right(
            name=name.decode(),
            granted=self.granted,
            needed_for=need.purposes,
            rule=rule,
            grant=f"ACL SETUSER {quoted(user)} {missing}" if self.is_known else "",
        )


def try_rights(lane: Lane, layout: RedisLayout, prefix: bytes, database: int) -> list[Right]:
    """Try each command once, for the user for whom the connection speaks."""
    user = read_user(lane)
    trials = list(_trials(lane, layout, prefix, user, database))
    reachable = {one.need.keys for one in trials if one.granted}
    return [one.right(user, reachable) for one in trials]


def _trials(
    lane: Lane, layout: RedisLayout, prefix: bytes, user: bytes, database: int
) -> Iterator[_Trial]:
    if database:
        # Without it there would be no connection.
        yield _Trial(need=_Need((b"SELECT",)), granted=True)
    if read_server(lane).is_cluster:
        for word in (b"INFO", b"NODES", b"SLOTS"):
            yield _tried(lane, _Need((b"CLUSTER", word), name=b"CLUSTER " + word))
    for need in _needs(layout, prefix):
        yield _tried(lane, need)
    if layout.container is Kind.KEY and not layout.siblings:
        for probe, keys in ((EVAL_PROBE, b""), (SET_PROBE, _under(prefix))):
            words = tuple(prefix if word is KEY else word for word in probe)
            yield _probed(lane, _Need(words, keys, purposes=_WRITERS), probe, user, prefix)


def quoted(word: bytes) -> str:
    r"""Write a word as redis-cli reads it from a pipe.

    >>> quoted(b"~idem:*"), quoted(b'~a "b"'), quoted(b"~\xff")
    ('~idem:*', '"~a \\"b\\""', '"~\\xff"')
    """
    if _PLAIN.fullmatch(word):
        return word.decode("ascii")
    return '"' + "".join(map(_quoted_byte, word)) + '"'


def _quoted_byte(byte: int) -> str:
    character = chr(byte)
    if not (character.isascii() and character.isprintable()):
        return f"\\x{byte:02x}"
    return f"\\{character}" if character in '"\\' else character


def _tried(lane: Lane, need: _Need) -> _Trial:
    reply = lane.tell(*need.words)
    is_unknown = is_unknown_command(reply)
    if is_unknown and need.words[0] == b"PEXPIRETIME":
        # An older server only tells how long is left.
        return _tried(lane, _Need((b"PTTL", *need.words[1:]), need.keys))
    return _Trial(
        need=need,
        # Some servers know no CONFIG at all.
        granted=not is_not_permitted(reply) and not (is_unknown and need.purposes == _SIGHT),
        lacks_command=_speaks_of_command(reply),
        is_known=not is_unknown,
    )


def _probed(lane: Lane, need: _Need, probe: Command, user: bytes, prefix: bytes) -> _Trial:
    reply = lane.tell(b"ACL", b"DRYRUN", user, *need.words)
    if isinstance(reply, bytes):
        granted = reply == b"OK"
    else:
        (reply,) = lane.ask(Burst(commands=(probe,), keys=[prefix]))
        granted = not is_not_permitted(reply)
    return _Trial(need=need, granted=granted, lacks_command=_speaks_of_command(reply))


def _speaks_of_command(reply: Reply) -> bool:
    """Whether a refusal names the command: servers look at that before they look at keys."""
    said = reply if isinstance(reply, bytes) else str(reply).encode(errors="replace")
    return b"permissions to run the" in said


def _under(prefix: bytes) -> bytes:
    return _named(prefix) + b"*"


def _named(name: bytes) -> bytes:
    """Write the pattern of one name; in a rule there are no spaces, but what matches them."""
    return b"~" + _SPACES.sub(b"?", literal(name))


def _readings(layout: RedisLayout, prefix: bytes) -> Iterator[_Need]:
    """Tell what reads one key that is one record."""
    under = _under(prefix)
    if layout.hash_fields():
        yield _Need((b"MEMORY", b"USAGE", prefix), under, b"MEMORY USAGE")
        yield _Need((b"HLEN", prefix), under)
        yield _Need((b"HMGET", prefix, b""), under)
        yield _Need((b"HSTRLEN", prefix, b""), under)
    elif is_presence(layout.codec):
        yield _Need((b"STRLEN", prefix), under)
    else:
        yield _Need((b"GETRANGE", prefix, b"0", b"0"), under)
        yield _Need((b"STRLEN", prefix), under)


def _needs(layout: RedisLayout, prefix: bytes) -> Iterator[_Need]:
    name = _named(prefix)
    match layout.container:
        case Kind.SET_MEMBER:
            yield _Need((b"SSCAN", prefix, b"0", b"COUNT", b"1"), name)
            yield _Need((b"SCARD", prefix), name)
            yield _Need((b"SISMEMBER", prefix, b""), name)
            yield _Need((b"PEXPIRETIME", prefix), name)
        case Kind.HASH_FIELD:
            # In a name that is none, no value is sent along.
            yield _Need((b"HSCAN", prefix, b"0", b"MATCH", b"", b"COUNT", b"1"), name)
            # Where all values are sent along, the hash is weighed before.
            yield _Need((b"MEMORY", b"USAGE", prefix), name, b"MEMORY USAGE")
            yield _Need((b"HLEN", prefix), name)
            yield _Need((b"HSTRLEN", prefix, b""), name)
            yield _Need((b"HMGET", prefix, b""), name)
            yield _Need((b"PEXPIRETIME", prefix), name)
        case Kind.KEY:
            yield _Need((b"SCAN", b"0", b"COUNT", b"1"))
            yield from _readings(layout, prefix)
            yield _Need((b"PEXPIRETIME", prefix), _under(prefix))
    for one in sibling_patterns(layout):
        example = one.replace("*", "").encode()
        yield _Need((b"GETRANGE", example, b"0", b"0"), b"~" + _SPACES.sub(b"?", one.encode()))
    yield _Need((b"TIME",))
    if layout.container is Kind.KEY:
        yield _Need((b"DBSIZE",))
    yield _Need((b"INFO", b"server"))
    yield _Need((b"CONFIG", b"GET", b"SAVE"), name=b"CONFIG GET", purposes=_SIGHT)

"""Which commands take what in Redis, and which of them this user may run: by trying them.

No trial changes anything, and none needs a right itself. What reads is run. Of what writes, the
server is asked whether it would run it for this user; where it knows no such question, or this
user may not ask it, that is sent in a form that no server carries out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from idemctl.domain.purposes import EVERY_VERB, Purpose
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
    from collections.abc import Container, Iterable, Iterator

    from idemctl.layouts.model import RedisLayout
    from idemctl.stores.redis.bulk import Lane
    from idemctl.stores.redis.bursts import Command, Reply

_WRITERS = (Purpose.RECONCILE,)
_SIGHT = (Purpose.SIGHT,)
_PLAIN = re.compile(rb"[!#-&(-\[\]-~]+")
"""What redis-cli reads as it stands: printed ASCII but quotes, backslash and space."""
_TO_READ = b"%R"
"""Before the pattern of keys that may only be read."""
_SPACES = re.compile(rb"[\s\0]")


@dataclass(frozen=True, slots=True)
class Need:
    """A command, as it is tried, and the pattern of the keys that it needs a right to."""

    words: tuple[bytes, ...]
    keys: bytes = b""
    name: bytes = b""
    """Of a command of two words; else it is the first word."""
    purposes: tuple[Purpose, ...] = EVERY_VERB
    """Of those that the place has a use for at all."""
    probe: tuple[Command, bytes] | None = None
    """In which form it is sent that no server carries out, and for which key, where it writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trial:
    """What came of trying one."""

    need: Need
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
        # Perhaps only to be read; but to a user who has all keys no pattern can be given.
        is_reached = need.keys.removeprefix(_TO_READ) in reachable
        missing = command if self.lacks_command and is_reached else rule
        return Right(
            name=name.decode(),
            granted=self.granted,
            needed_for=need.purposes,
            rule=rule,
            grant=f"ACL SETUSER {quoted(user)} {missing}" if self.is_known else "",
        )


def try_rights(lane: Lane, needs: Iterable[Need], database: int) -> list[Right]:
    """Try each command once, for the user for whom the connection speaks."""
    user = read_user(lane)
    trials = list(_trials(lane, _read_only(lane, needs), user, database))
    reachable = {one.need.keys.removeprefix(_TO_READ) for one in trials if one.granted}
    return [one.right(user, reachable) for one in trials]


def _read_only(lane: Lane, needs: Iterable[Need]) -> Iterator[Need]:
    """Ask for no more of a key than to read it, where the server tells that from writing it.

    A rule gives every command that it names all the keys that it names.
    """
    can_tell = read_server(lane).tells_reading
    for need in needs:
        if can_tell and need.keys and need.probe is None:
            yield replace(need, keys=_TO_READ + need.keys)
        else:
            yield need


def needs_of(lane: Lane, layout: RedisLayout, prefix: bytes) -> Iterator[Need]:
    """List what the records of a keyspace take."""
    yield from needs_of_cluster(lane, b"INFO", b"NODES", b"SLOTS")
    yield from _needs(layout, prefix)
    if layout.container is Kind.KEY and not layout.siblings:
        yield writing(EVAL_PROBE, prefix, b"", _WRITERS)
        yield writing(SET_PROBE, prefix, _under(prefix), _WRITERS)


def needs_of_cluster(lane: Lane, *words: bytes) -> Iterator[Need]:
    """List what finding all primaries takes, and what else is asked there; elsewhere nothing."""
    if read_server(lane).is_cluster:
        for word in words:
            yield Need((b"CLUSTER", word), name=b"CLUSTER " + word)


def writing(probe: Command, key: bytes, keys: bytes, purposes: tuple[Purpose, ...]) -> Need:
    """Say that a command is needed that is never tried as it is used.

    Args:
        probe: the form that no server carries out.
        key: for which it is sent then.
        keys: the pattern of all for which it is needed, if any.
        purposes: what it is needed for.
    """
    words = tuple(key if word is KEY else word for word in probe)
    return Need(words, keys, purposes=purposes, probe=(probe, key))


def _trials(lane: Lane, needs: Iterable[Need], user: bytes, database: int) -> Iterator[_Trial]:
    if database:
        # Without it there would be no connection.
        yield _Trial(need=Need((b"SELECT",)), granted=True)
    for need in needs:
        yield _tried(lane, need) if need.probe is None else _probed(lane, need, user, *need.probe)


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


def _tried(lane: Lane, need: Need) -> _Trial:
    reply = lane.tell(*need.words)
    is_unknown = is_unknown_command(reply)
    if is_unknown and need.words[0] == b"PEXPIRETIME":
        # An older server only tells how long is left.
        return _tried(lane, Need((b"PTTL", *need.words[1:]), need.keys))
    return _Trial(
        need=need,
        # Some servers know no CONFIG at all.
        granted=not is_not_permitted(reply) and not (is_unknown and need.purposes == _SIGHT),
        lacks_command=_speaks_of_command(reply),
        is_known=not is_unknown,
    )


def _probed(lane: Lane, need: Need, user: bytes, probe: Command, key: bytes) -> _Trial:
    reply = lane.tell(b"ACL", b"DRYRUN", user, *need.words)
    if isinstance(reply, bytes):
        granted = reply == b"OK"
    else:
        (reply,) = lane.ask(Burst(commands=(probe,), keys=[key]))
        granted = not is_not_permitted(reply)
    return _Trial(need=need, granted=granted, lacks_command=_speaks_of_command(reply))


def _speaks_of_command(reply: Reply) -> bool:
    """Whether a refusal names the command: servers look at that before they look at keys."""
    said = reply if isinstance(reply, bytes) else str(reply).encode(errors="replace")
    return b"permissions to run the" in said


def _under(prefix: bytes) -> bytes:
    return named(prefix) + b"*"


def named(name: bytes) -> bytes:
    """Write the pattern of one name; in a rule there are no spaces, but what matches them."""
    return b"~" + _SPACES.sub(b"?", literal(name))


def _readings(layout: RedisLayout, prefix: bytes) -> Iterator[Need]:
    """Tell what reads one key that is one record."""
    under = _under(prefix)
    if layout.hash_fields():
        yield Need((b"MEMORY", b"USAGE", prefix), under, b"MEMORY USAGE")
        yield Need((b"HLEN", prefix), under)
        yield Need((b"HMGET", prefix, b""), under)
        yield Need((b"HSTRLEN", prefix, b""), under)
    elif is_presence(layout.codec):
        yield Need((b"STRLEN", prefix), under)
    else:
        yield Need((b"GETRANGE", prefix, b"0", b"0"), under)
        yield Need((b"STRLEN", prefix), under)


def _needs(layout: RedisLayout, prefix: bytes) -> Iterator[Need]:
    name = named(prefix)
    match layout.container:
        case Kind.SET_MEMBER:
            yield Need((b"SSCAN", prefix, b"0", b"COUNT", b"1"), name)
            yield Need((b"SCARD", prefix), name)
            yield Need((b"SISMEMBER", prefix, b""), name)
            yield Need((b"PEXPIRETIME", prefix), name)
        case Kind.HASH_FIELD:
            # In a name that is none, no value is sent along.
            yield Need((b"HSCAN", prefix, b"0", b"MATCH", b"", b"COUNT", b"1"), name)
            # Where all values are sent along, the hash is weighed before.
            yield Need((b"MEMORY", b"USAGE", prefix), name, b"MEMORY USAGE")
            yield Need((b"HLEN", prefix), name)
            yield Need((b"HSTRLEN", prefix, b""), name)
            yield Need((b"HMGET", prefix, b""), name)
            yield Need((b"PEXPIRETIME", prefix), name)
        case Kind.KEY:
            yield Need((b"SCAN", b"0", b"COUNT", b"1"))
            yield from _readings(layout, prefix)
            yield Need((b"PEXPIRETIME", prefix), _under(prefix))
    for one in sibling_patterns(layout):
        example = one.replace("*", "").encode()
        yield Need((b"GETRANGE", example, b"0", b"0"), b"~" + _SPACES.sub(b"?", one.encode()))
    yield Need((b"TIME",))
    if layout.container is Kind.KEY:
        yield Need((b"DBSIZE",))
    yield Need((b"INFO", b"server"))
    yield Need((b"CONFIG", b"GET", b"SAVE"), name=b"CONFIG GET", purposes=_SIGHT)

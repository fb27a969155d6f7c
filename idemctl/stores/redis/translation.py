"""What a Redis server or redis-py says, in idemctl's words, without a secret."""

from __future__ import annotations

import re
import ssl
from socket import gaierror
from typing import TYPE_CHECKING

from redis import exceptions

from idemctl.domain.keys import escape
from idemctl.errors import ConfigError, Denied, Unreachable, Unsupported

if TYPE_CHECKING:
    from idemctl.errors import IdemctlError


def translated(error: exceptions.RedisError, *, place: str, user: str) -> IdemctlError:
    """Say what a server answered to a command, in idemctl's words."""
    code, said = _code_and_text(error)
    if code == "NOPERM":
        return _not_permitted(said, place=place, user=user)
    known = _known(code, place) or _unspoken(error, place)
    if known is not None:
        return known
    if isinstance(error, exceptions.TimeoutError):
        return _unreachable(place, "no answer in time")
    if isinstance(error, exceptions.ConnectionError):
        return _unreachable(place, "the connection was lost")
    if any(sign in said for sign in _NOT_IN_SCRIPTS):
        name = escape(user.encode("utf-8", errors="surrogateescape"))
        return Denied(
            f"{place}: user {name} may not run what a fill's script runs",
            hint=f"ACL SETUSER {name} +eval +set +time ~{place.partition(' ')[2]}",
        )
    if is_unknown_command(error):
        return Unsupported(
            f"{place}: {_shown(said)}",
            hint="idemctl needs Redis 6.2 or Valkey 7.2, with no reading command renamed",
        )
    return Unreachable(
        f"{place}: cannot judge: the server answered {_shown(f'{code} {said}')}",
        hint="idemctl doctor tells what answers and what not",
    )


_NOT_IN_SCRIPTS = ("ACL failure in script", "The user executing the script can't")
"""How servers say that a user may not do in a script what the user may not do without."""


def lost(place: str) -> Unreachable:
    """Say that a connection is gone, and what was asked of it with it."""
    return _unreachable(place, "the connection was lost")


def is_wrong_type(reply: object) -> bool:
    """Whether a reply says that the key holds no string."""
    return isinstance(reply, exceptions.ResponseError) and _code_and_text(reply)[0] == "WRONGTYPE"


def is_syntax_error(reply: object) -> bool:
    """Whether a reply says that the server knows the command, and not one of its options."""
    return isinstance(reply, exceptions.ResponseError) and _code_and_text(reply)[1].startswith(
        "syntax error"
    )


def is_unknown_command(reply: object) -> bool:
    """Whether a reply says that the server has no such command."""
    return isinstance(reply, exceptions.ResponseError) and _code_and_text(reply)[1].startswith(
        "unknown command"
    )


def is_not_permitted(reply: object) -> bool:
    """Whether a reply says that this user may not do that."""
    return isinstance(reply, exceptions.NoPermissionError)


def refusal(error: exceptions.RedisError, whole: str, place: str) -> IdemctlError:
    """Tell why no connection came about; what a server says to AUTH may repeat it."""
    code, said = _code_and_text(error)
    if code == "NOPERM":
        return Denied(
            f"{place}: this user may not select the database in the URL",
            hint="ACL SETUSER <user> +select",
        )
    known = _known(code, place) or _unspoken(error, place)
    if known is not None:
        return known
    if isinstance(error, exceptions.AuthenticationError):
        return Denied(
            f"{place}: the URL has a password, and the server has none configured",
            hint="take the password out of the URL, or check that it is the right server",
        )
    if "DB index" in said:
        return ConfigError(
            f"{place}: the database number in the URL does not exist there",
            hint="check the number after the last / of the URL",
        )
    if "max number of clients" in said:
        return _unreachable(place, "the server has no connection left")
    if isinstance(error, exceptions.ConnectionError | exceptions.TimeoutError):
        return _no_connection(error, whole, place)
    return _unreachable(place, "the server refused the connection's first words")


def _no_connection(error: exceptions.RedisError, whole: str, place: str) -> IdemctlError:
    cause = error.__context__
    is_unix, is_tls = whole.startswith("unix:"), whole.startswith("rediss:")
    if isinstance(cause, ssl.SSLCertVerificationError):
        return _unreachable(
            place, f"the server's certificate is not trusted: {cause.verify_message}"
        )
    if isinstance(cause, ssl.SSLError):
        return _unreachable(place, "TLS could not be agreed on")
    if isinstance(cause, gaierror):
        return _unreachable(place, "the host name is unknown")
    if isinstance(cause, PermissionError):
        return Denied(
            f"{place}: this user may not open the server's socket",
            hint="run as a user of the group that owns the socket",
        )
    if isinstance(cause, FileNotFoundError):
        if is_tls:
            return ConfigError(
                f"{place}: a TLS file named in the URL is not there",
                hint="check ssl_ca_certs, ssl_certfile and ssl_keyfile in the URL",
            )
        return _unreachable(place, "no server listens on that socket")
    if isinstance(cause, ConnectionRefusedError):
        return _unreachable(place, "connection refused")
    if isinstance(error, exceptions.TimeoutError) or isinstance(cause, TimeoutError):
        return _unreachable(place, f"no answer in time{'; does it speak TLS?' if is_tls else ''}")
    closed = "the server closed the connection"
    return _unreachable(
        place, closed if is_tls or is_unix else f"{closed}; does it want rediss://?"
    )


_CREDENTIALS = {
    "WRONGPASS": "Redis refused these credentials",
    "NOAUTH": "the server asks for a password, and the URL has none",
}
_CANNOT_ANSWER = {
    "LOADING": "the server is loading its data",
    "MASTERDOWN": "a replica that lost its primary, and is told not to answer then",
    "CLUSTERDOWN": "the cluster is down",
    "BUSY": "a script blocks the server",
    "MOVED": "the cluster moved keys while they were read",
    "ASK": "the cluster moved keys while they were read",
    "TRYAGAIN": "the cluster moved keys while they were read",
}
_COMMAND = re.compile(r"'(?P<name>[a-z0-9|_.-]+)' command")


def _known(code: str, place: str) -> IdemctlError | None:
    if code in _CREDENTIALS:
        return Denied(
            f"{place}: {_CREDENTIALS[code]}", hint="check user and password in the Redis URL"
        )
    if code in _CANNOT_ANSWER:
        return Unreachable(
            f"{place}: cannot judge: {_CANNOT_ANSWER[code]}",
            hint="wait until it answers, then run again",
        )
    return None


def _unspoken(error: exceptions.RedisError, place: str) -> IdemctlError | None:
    if isinstance(error, exceptions.InvalidResponse):
        return _unreachable(place, "what answers there is not what Redis speaks; TLS is rediss://")
    return None


def _not_permitted(said: str, *, place: str, user: str) -> Denied:
    command = _COMMAND.search(said)
    name = escape(user.encode("utf-8", errors="surrogateescape"))
    if command is not None:
        return Denied(
            f"{place}: user {name} may not run {command['name'].upper().replace('|', ' ')}",
            hint=f"ACL SETUSER {name} +{command['name']}",
        )
    return Denied(
        f"{place}: user {name} may not read every key under this prefix",
        hint=f"ACL SETUSER {name} ~{place.partition(' ')[2]}",
    )


def _unreachable(place: str, reason: str) -> Unreachable:
    return Unreachable(
        f"{place}: cannot reach Redis: {reason}",
        hint="check that the server runs and the URL is right; idemctl doctor tells more",
    )


def _code_and_text(error: exceptions.RedisError) -> tuple[str, str]:
    """Give the error's code and the rest, which redis-py takes apart for some and not others."""
    said = str(error.args[0]) if error.args else ""
    if error.status_code is not None:
        return error.status_code, said
    code, _, rest = said.partition(" ")
    return (code, rest) if code.isupper() else ("", said)


def _shown(said: str) -> str:
    return escape(said.strip().encode("utf-8", errors="surrogateescape"))

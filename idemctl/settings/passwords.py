"""What else a file says of a connection, put into its string: passwords, and Sentinels."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from idemctl.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_SIZE_LIMIT = 4096


def password_from(file: Path, *, origin: str) -> str:
    """Read a file's one line; a line break at its end is no part of the password.

    Raises:
        ConfigError: it cannot be read, is empty, or holds more than one line.
    """
    try:
        with file.open("rb") as stream:
            content = stream.read(_SIZE_LIMIT + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a path"
        raise ConfigError(
            f"{origin}: the password file {file} cannot be read: {reason}",
            hint="it needs to exist, and the user that runs idemctl to read it",
        ) from None
    fault = None
    try:
        password = content.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        password, fault = "", "is not UTF-8"
    if len(content) > _SIZE_LIMIT:
        fault = f"is larger than {_SIZE_LIMIT} bytes"
    elif not fault and not password:
        fault = "is empty"
    elif any(character in password for character in "\n\r\0"):
        fault = "holds more than one line"
    if fault:
        raise ConfigError(
            f"{origin}: the password file {file} {fault}",
            hint="the file holds the password and nothing else",
        )
    return password


def with_postgres_password(dsn: str, password: str) -> str:
    """Append the password, URL or keyword string: libpq takes the last one given."""
    if not dsn.startswith(("postgresql://", "postgres://")):
        escaped = password.replace("\\", "\\\\").replace("'", "\\'")
        return f"{dsn} password='{escaped}'".lstrip()
    # libpq ends a user's part at the first @; a ? before that belongs to a password.
    before, at, after = dsn.partition("://")[2].partition("@")
    rest = after if at and "/" not in before else f"{before}{at}{after}"
    return f"{dsn}{'&' if '?' in rest else '?'}password={quote(password, safe='')}"


def with_redis_password(url: str, password: str) -> str:
    """Put the password into the user's part, which redis-py lets win over any other."""
    scheme, _, rest = url.partition("://")
    ends = [rest.find(character) for character in "/?#" if character in rest]
    authority, tail = (rest[: min(ends)], rest[min(ends) :]) if ends else (rest, "")
    user, _, host = authority.rpartition("@")
    return f"{scheme}://{user.partition(':')[0]}:{quote(password, safe='')}@{host}{tail}"


def behind_sentinels(url: str, sentinels: Sequence[str], master: str) -> str:
    """Put Sentinels, and what they watch, in the place of the URL's own host.

    >>> behind_sentinels("rediss://u:p@ignored:6379/2?ssl_ca_certs=ca", ["a:1", "b:2"], "main")
    'rediss-sentinel://u:p@a:1,b:2/2?ssl_ca_certs=ca#main'
    """
    scheme, _, rest = url.partition("://")
    ends = [rest.find(character) for character in "/?#" if character in rest]
    authority, tail = (rest[: min(ends)], rest[min(ends) :]) if ends else (rest, "")
    user, at, _ = authority.rpartition("@")
    hosts = ",".join(sentinels)
    return f"{scheme}-sentinel://{user}{at}{hosts}{tail}#{quote(master, safe='')}"

"""The first stretches of the way to any server: its name, a connection, and its certificate."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from idemctl.errors import Denied, ExitStatus, Unreachable
from idemctl.stores.ways import Seen

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator, Sequence

    from idemctl.domain.secrets import Secret

_PATIENCE = 3.0
"""Seconds for each answer; a run that is asked to stop has five."""
_SOON = timedelta(days=14)
_UTC_TIME, _LONGEST_SHORT_FORM, _EXPLICIT_VERSION = 0x17, 0x80, 0xA0
_BEFORE_VALIDITY = 3
"""Serial number, algorithm, issuer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a connection string leads: a host and port, or a socket of this machine."""

    host: str
    """A name, a number, or the path of a socket."""
    port: int
    shown: str
    """What of it may be printed."""

    @property
    def is_socket(self) -> bool:
        """Whether it is a file here."""
        return self.host.startswith(("/", "@"))

    def __str__(self) -> str:
        if self.is_socket:
            return self.shown
        return f"[{self.shown}]:{self.port}" if ":" in self.shown else f"{self.shown}:{self.port}"


def shown(host: str, secret: Secret) -> str:
    """Give what may be printed of a host that a string names: what that itself would show.

    A password that is not written as it must be ends up in the host.
    """
    return host if host in str(secret) else "***"


def resolve(addresses: Sequence[Address], named: str) -> Seen:
    """Look the hosts up, as every connection does.

    Args:
        addresses: where the string leads; one that answers is enough.
        named: what the string is called.

    Raises:
        Unreachable: none of the names is known.
    """
    found = [(one, _numbers(one)) for one in addresses]
    if not any(numbers for _, numbers in found):
        hosts = ", ".join(one.shown for one in addresses)
        raise Unreachable(
            f"{named}: the host name {hosts} is unknown",
            hint=f"check the host in {named}; `getent hosts {addresses[0].shown}` asks the same",
        )
    return Seen(says="; ".join(_resolved(one, numbers) for one, numbers in found))


def dial(addresses: Sequence[Address], named: str) -> Seen:
    """Connect once, and say nothing.

    Raises:
        Unreachable: nobody answers.
        Denied: this user may not use the socket.
    """
    reasons = []
    for one in addresses:
        try:
            open_socket(one).close()
        except PermissionError:
            raise Denied(
                f"{named}: this user may not open {one}",
                hint="run as a user of the group that owns the socket",
            ) from None
        except OSError as error:
            reasons.append(f"{one}: {reason_of(error)}")
        else:
            return Seen(says="; ".join([*reasons, f"{one} answers"]))
    raise Unreachable(
        f"{named}: {'; '.join(reasons)}",
        hint="check that the server runs, that host and port are right, and that no firewall is "
        "in between",
    )


def open_socket(address: Address) -> socket.socket:
    """Connect to one address.

    Raises:
        OSError: nobody answers there.
    """
    if not address.is_socket:
        return socket.create_connection((address.host, address.port), timeout=_PATIENCE)
    opened = socket.socket(socket.AF_UNIX)
    try:
        opened.settimeout(_PATIENCE)
        # Linux has sockets without files, which libpq writes with an @.
        opened.connect(address.host.replace("@", "\0", 1))
    except OSError:
        opened.close()
        raise
    return opened


def judge_certificate(secured: ssl.SSLSocket, *, verified: str | None, unverified: str) -> Seen:
    """Say how a connection is secured, and how long its certificate is good.

    Args:
        secured: the connection.
        verified: against what the certificate was checked, if it was.
        unverified: what says that it was not.
    """
    checked = f"certificate verified ({verified})" if verified else f"not verified ({unverified})"
    says = f"{secured.version()}, {checked}"
    ends = not_after(secured.getpeercert(binary_form=True) or b"")
    if ends is None:
        return Seen(says=says)
    left = ends - datetime.now(UTC)
    if left < timedelta(0):
        says += f", which ended {-left.days} days ago"
    else:
        says += f", good for {left.days} days"
    if left > _SOON:
        return Seen(says=says)
    return Seen(says=says, status=ExitStatus.FINDINGS, fix="renew the server's certificate")


def not_after(certificate: bytes) -> datetime | None:
    """Read from a certificate when it ends; None where that cannot be read.

    Nothing in Python's library tells it of a certificate that was not verified.
    """
    try:
        whole = next(_parts(certificate))[1]
        signed = next(_parts(whole))[1]
        fields = list(_parts(signed))
        at = _BEFORE_VALIDITY + (fields[0][0] == _EXPLICIT_VERSION)
        kind, text = list(_parts(fields[at][1]))[1]
        written = text.decode("ascii")
        if kind == _UTC_TIME:
            # Two digits of a year are of 1950 to 2049.
            written = ("19" if written[0] >= "5" else "20") + written
        return datetime.strptime(written, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC)
    except (IndexError, StopIteration, ValueError):
        return None


def _parts(encoded: bytes) -> Iterator[tuple[int, bytes]]:
    """Read one piece of DER after the other: what kind it is, and what it holds."""
    at = 0
    while at < len(encoded):
        kind, length = encoded[at], encoded[at + 1]
        at += 2
        if length >= _LONGEST_SHORT_FORM:
            digits = length - _LONGEST_SHORT_FORM
            length = int.from_bytes(encoded[at : at + digits], "big")
            at += digits
        yield kind, encoded[at : at + length]
        at += length


def _numbers(address: Address) -> list[str]:
    if address.is_socket:
        return [address.host]
    try:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return list(dict.fromkeys(str(where[0]) for *_, where in found))


def _resolved(address: Address, numbers: list[str]) -> str:
    if address.is_socket:
        return f"{address} is a socket of this machine"
    if numbers == [address.host]:
        return f"{address.shown} needs no name server"
    return f"{address.shown} is {', '.join(numbers) or 'unknown'}"


def reason_of(error: OSError) -> str:
    """Say in a few words why nobody answers."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, FileNotFoundError):
        return "no server listens on that socket"
    if isinstance(error, socket.gaierror):
        return "the host name is unknown"
    return (error.strerror or "no connection").lower()

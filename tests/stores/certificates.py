"""Certificates made on the spot with nothing but Python, and TLS in front of servers without it."""

from __future__ import annotations

import contextlib
import hashlib
import secrets
import socket
import ssl
import threading
from base64 import encodebytes
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_SHA256_RSA, _RSA = "2a864886f70d01010b", "2a864886f70d010101"
_COMMON_NAME, _ALTERNATIVE_NAMES = "550403", "551d11"
_DIGEST_INFO = bytes.fromhex("3031300d060960864801650304020105000420")
_EXPONENT = 65_537
_BITS = 1024
_WANTS_TLS_BYTES = 8


@dataclass(frozen=True)
class Certificate:
    """A certificate that signs itself, and its key."""

    file: Path
    key: Path
    ends: datetime


def certify(folder: Path, name: str = "localhost", *, days: float = 90) -> Certificate:
    """Make one for a name and 127.0.0.1, which ends so many days from now."""
    now = datetime.now(UTC)
    ends = (now + timedelta(days=days)).replace(microsecond=0)
    modulus, private, numbers = _key()
    algorithm = _sequence(_oid(_SHA256_RSA), _der(0x05))
    subject = _sequence(_der(0x31, _sequence(_oid(_COMMON_NAME), _der(0x0C, name.encode()))))
    alternatives = [_der(0x82, name.encode())]
    if name == "localhost":
        alternatives.append(_der(0x87, bytes([127, 0, 0, 1])))
    extension = _sequence(_oid(_ALTERNATIVE_NAMES), _der(0x04, _sequence(*alternatives)))
    public = _sequence(
        _sequence(_oid(_RSA), _der(0x05)),
        _der(0x03, b"\0", _sequence(_integer(modulus), _integer(_EXPONENT))),
    )
    signed = _sequence(
        _der(0xA0, _integer(2)),
        _integer(secrets.randbits(64)),
        algorithm,
        subject,
        _sequence(_time(min(now, ends) - timedelta(days=400)), _time(ends)),
        subject,
        public,
        _der(0xA3, _sequence(extension)),
    )
    size = modulus.bit_length() // 8
    digest = _DIGEST_INFO + hashlib.sha256(signed).digest()
    padded = b"\0\1" + b"\xff" * (size - 3 - len(digest)) + b"\0" + digest
    signature = pow(int.from_bytes(padded, "big"), private, modulus).to_bytes(size, "big")
    whole = _sequence(signed, algorithm, _der(0x03, b"\0", signature))
    made = Certificate(folder / f"{name}-{days}.pem", folder / "key.pem", ends)
    made.file.write_text(_pem("CERTIFICATE", whole))
    made.key.write_text(_pem("RSA PRIVATE KEY", _sequence(*map(_integer, numbers))))
    return made


@contextlib.contextmanager
def tls_before(
    port: int, certificate: Certificate, *, after_request: bool = False
) -> Iterator[int]:
    """Speak TLS with whoever comes, and pass what they say on to a server; give the port.

    Args:
        port: of the server.
        certificate: what it shows.
        after_request: whether a client asks for TLS first, as libpq does.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.file, certificate.key)

    def serve(plain: socket.socket) -> None:
        with contextlib.suppress(OSError), plain:
            if after_request and len(plain.recv(_WANTS_TLS_BYTES)) == _WANTS_TLS_BYTES:
                plain.sendall(b"S")
            with (
                context.wrap_socket(plain, server_side=True) as secured,
                socket.create_connection(("127.0.0.1", port)) as server,
            ):
                back = threading.Thread(target=pass_on, args=(server, secured), daemon=True)
                back.start()
                pass_on(secured, server)
                back.join()

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(door.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as door:
        threading.Thread(target=accept, daemon=True).start()
        yield door.getsockname()[1]
        with contextlib.suppress(OSError):
            door.shutdown(socket.SHUT_RDWR)


def pass_on(one: socket.socket, other: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while said := one.recv(65536):
            other.sendall(said)
    with contextlib.suppress(OSError):
        other.shutdown(socket.SHUT_RDWR)


@cache
def _key() -> tuple[int, int, list[int]]:
    """Make a key, once for all: modulus, private exponent, and all numbers of its file."""
    while True:
        p, q = _prime(), _prime()
        rest = (p - 1) * (q - 1)
        if p != q and rest % _EXPONENT:
            break
    private = pow(_EXPONENT, -1, rest)
    more = [private % (p - 1), private % (q - 1), pow(q, -1, p)]
    return p * q, private, [0, p * q, _EXPONENT, private, p, q, *more]


def _prime() -> int:
    while True:
        # Both upper bits, so that the product of two is as long as two.
        candidate = secrets.randbits(_BITS) | 3 << (_BITS - 2) | 1
        if all(candidate % small for small in (3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)) and all(
            _is_prime_to(candidate, secrets.randbelow(candidate - 3) + 2) for _ in range(8)
        ):
            return candidate


def _is_prime_to(candidate: int, base: int) -> bool:
    """Do one round of Miller and Rabin."""
    odd, twos = candidate - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    power = pow(base, odd, candidate)
    if power in {1, candidate - 1}:
        return True
    for _ in range(twos - 1):
        power = power * power % candidate
        if power == candidate - 1:
            return True
    return False


def _der(kind: int, *content: bytes) -> bytes:
    whole = b"".join(content)
    if len(whole) < 0x80:
        return bytes([kind, len(whole)]) + whole
    length = len(whole).to_bytes((len(whole).bit_length() + 7) // 8, "big")
    return bytes([kind, 0x80 | len(length)]) + length + whole


def _sequence(*content: bytes) -> bytes:
    return _der(0x30, *content)


def _oid(digits: str) -> bytes:
    return _der(0x06, bytes.fromhex(digits))


def _integer(number: int) -> bytes:
    return _der(0x02, number.to_bytes(number.bit_length() // 8 + 1, "big"))


def _time(at: datetime) -> bytes:
    # From 2050 on, four digits are used.
    if at.year < 2050:
        return _der(0x17, at.strftime("%y%m%d%H%M%SZ").encode())
    return _der(0x18, at.strftime("%Y%m%d%H%M%SZ").encode())


def _pem(what: str, content: bytes) -> str:
    return f"-----BEGIN {what}-----\n{encodebytes(content).decode()}-----END {what}-----\n"

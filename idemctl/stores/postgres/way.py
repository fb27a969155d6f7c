"""The way to a Postgres server, as libpq goes it."""

from __future__ import annotations

import errno
import os
import ssl
import struct
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import Conninfo

from idemctl.errors import ExitStatus, Unreachable
from idemctl.stores.postgres.connect import connect, transaction, unreadable
from idemctl.stores.postgres.describe import is_supported
from idemctl.stores.postgres.queries import query
from idemctl.stores.reaching import (
    Address,
    dial,
    judge_certificate,
    open_socket,
    reason_of,
    resolve,
    shown,
)
from idemctl.stores.ways import Seen

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from idemctl.domain.secrets import Secret
    from idemctl.stores.postgres.connect import Connection
    from idemctl.stores.ways import Stretch

_PORT = "5432"
_WANTS_TLS = struct.pack(">ii", 8, 80877103)
_INSISTS = {"require", "verify-ca", "verify-full"}
_ROOT = "~/.postgresql/root.crt"


class PostgresWay:
    """See `stores.ways.Way`."""

    def __init__(
        self,
        *,
        dsn: Secret,
        named: str,
        application: str,
        for_locks: bool,
        past: str | None = None,
    ) -> None:
        """Take note of where to go.

        Args:
            dsn: the connection string.
            named: what it is called: the variable that holds it.
            application: shown to administrators.
            for_locks: whether locks are to be taken this way.
            past: what the string is called by which they are taken instead.
        """
        self._dsn = dsn
        self._named = named
        self._application = application
        self._for_locks = for_locks
        self._past = past
        self._connection: Connection | None = None

    def stretches(self) -> Sequence[Stretch]:
        """See `Way.stretches`."""
        return (
            ("name", self._resolve),
            ("tcp", self._dial),
            ("tls", self._secure),
            ("login", self._log_in),
            ("version", self._version),
            ("role", self._role),
            ("pooler", self._pooler),
        )

    def close(self) -> None:
        """See `Closes.close`."""
        if self._connection is not None:
            self._connection.close()

    def _resolve(self) -> Seen:
        where = self._addresses()
        return resolve(where, self._named) if where else self._left_to_libpq()

    def _dial(self) -> Seen:
        where = self._addresses()
        return dial(where, self._named) if where else self._left_to_libpq()

    def _secure(self) -> Seen:
        where = [one for one in self._addresses() if not one.is_socket]
        if not where:
            return Seen(says="none on a socket of this machine")
        parameters = self._parameters()
        mode = parameters.get("sslmode") or "prefer"
        if mode in {"disable", "allow"}:
            return Seen(says=f"off: sslmode is {mode}")
        for address in where:
            try:
                return self._shake_hands(address, mode, parameters)
            except ssl.SSLCertVerificationError as error:
                reason = f"the server's certificate is not trusted: {error.verify_message}"
                hint = (
                    "let sslrootcert name the authority that signed it, and host be the name that "
                    "it was signed for; or renew it"
                )
            except ssl.SSLError:
                reason = "TLS could not be agreed on"
                hint = "check which versions of TLS the server speaks, and the file of sslrootcert"
            except OSError as error:
                # It was there a moment ago: nothing that any certificate would put right.
                reason = f"{address} was asked for TLS: {reason_of(error)}"
                hint = "check that the server is not stopped, and that host and port are its own"
        raise Unreachable(f"{self._named}: {reason}", hint=hint)

    def _shake_hands(self, address: Address, mode: str, parameters: Mapping[str, Any]) -> Seen:
        """Speak TLS as libpq does, and no more: what is said then is a password."""
        root = str(parameters.get("sslrootcert") or Path(_ROOT).expanduser())
        verifies = mode in {"verify-ca", "verify-full"} or (
            mode == "require" and Path(root).exists()
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = mode == "verify-full"
        if not verifies:
            context.verify_mode = ssl.CERT_NONE
        elif root == "system":
            context.load_default_certs()
        elif Path(root).exists():
            context.load_verify_locations(root)
        with open_socket(address) as plain:
            if parameters.get("sslnegotiation") == "direct":
                context.set_alpn_protocols(["postgresql"])
            else:
                plain.sendall(_WANTS_TLS)
                answer = plain.recv(1)
                if not answer:
                    raise ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET))
                if answer != b"S":
                    return self._without_tls(mode)
            with context.wrap_socket(plain, server_hostname=address.host) as secured:
                return judge_certificate(
                    secured,
                    verified=f"sslmode {mode}" if verifies else None,
                    unverified=f"sslmode {mode}",
                )

    def _without_tls(self, mode: str) -> Seen:
        if mode in _INSISTS:
            raise Unreachable(
                f"{self._named}: the server speaks no TLS, and sslmode is {mode}",
                hint="turn ssl on in the server, or check that it is the right one",
            )
        return Seen(says=f"off: the server speaks none (sslmode {mode})")

    def _log_in(self) -> Seen:
        self._connection = connect(
            self._dsn, place=self._named, application=self._application, writable=False
        )
        info = self._connection.info
        return Seen(says=f"as {info.user}, to database {info.dbname}")

    def _version(self) -> Seen:
        number, version, *_ = self._server()
        if is_supported(number):
            return Seen(says=f"PostgreSQL {version}")
        return Seen(
            says=f"PostgreSQL {version} is too old",
            status=ExitStatus.REFUSED,
            fix="PostgreSQL 14 is the oldest that works",
        )

    def _role(self) -> Seen:
        _, _, is_replica, *_ = self._server()
        if not is_replica:
            return Seen(says="primary")
        return Seen(
            says="a replica, which may be behind: what is missing here may be there; nothing is "
            "compared or changed through it",
            is_judged=False,
            fix=f"let {self._named} lead to the primary",
        )

    def _pooler(self) -> Seen:
        assert self._connection is not None, "the login came before"
        *_, pid = self._server()
        if pid == self._connection.info.backend_pid:
            return Seen(says="none in between")
        says = "a pooler such as PgBouncer is in between"
        if self._past is not None:
            return Seen(says=f"{says}; locks are taken past it, by {self._past}")
        if not self._for_locks:
            return Seen(says=says)
        return Seen(
            says=f"{says}: gc and reconcile take locks that last longer than a transaction, and "
            "refuse",
            status=ExitStatus.FINDINGS,
            fix="set direct_dsn_env of the store to a variable with a connection string past the "
            "pooler",
        )

    def _server(self) -> tuple[Any, ...]:
        assert self._connection is not None, "the login came before"
        with transaction(self._connection, place=self._named) as cursor:
            row = cursor.execute(query("server")).fetchone()
        assert row is not None, "a server always has a version"
        return row

    def _addresses(self) -> list[Address]:
        """List where libpq would go; nothing where only libpq knows."""
        parameters = self._parameters()
        hosts = str(parameters.get("hostaddr") or parameters.get("host") or "")
        if not hosts:
            return []
        names = hosts.split(",")
        ports = str(parameters.get("port") or _PORT).split(",")
        # One port is for all hosts.
        ports = ports * len(names) if len(ports) == 1 else ports
        return [
            self._address(name or "localhost", int(port or _PORT))
            for name, port in zip(names, ports, strict=False)
        ]

    def _address(self, name: str, port: int) -> Address:
        # What libpq's variables say, this process may say too.
        is_said = not {"host", "hostaddr"}.isdisjoint(conninfo_to_dict(self._dsn.reveal()))
        printed = shown(name, self._dsn) if is_said else name
        if not name.startswith(("/", "@")):
            return Address(host=name, port=port, shown=printed)
        file = f"/.s.PGSQL.{port}"
        return Address(host=name + file, port=0, shown=printed + file)

    def _parameters(self) -> dict[str, Any]:
        """Give what the string says, and where it is silent, libpq's variables.

        Raises:
            ConfigError: it cannot be read.
        """
        try:
            said = conninfo_to_dict(self._dsn.reveal())
        except (psycopg.Error, UnicodeError):
            raise unreadable(self._named) from None
        if "service" in said:
            # What the service file says, libpq tells nobody.
            return {}
        known = {
            option.keyword.decode(): option.val.decode()
            for option in Conninfo.get_defaults()
            if option.val is not None
        }
        return known | said

    @staticmethod
    def _left_to_libpq() -> Seen:
        return Seen(says="left to libpq: a service file, or its own socket", is_judged=False)

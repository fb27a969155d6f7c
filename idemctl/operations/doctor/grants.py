"""The smallest roles: for each purpose the rights that doctor looks for, and no other."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from idemctl.domain.sight import Engine
from idemctl.errors import ExitStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from idemctl.domain.purposes import Purpose
    from idemctl.operations.doctor.roads import Road
    from idemctl.run.run import Run
    from idemctl.stores.keeping import OpensInPostgres, OpensInRedis
    from idemctl.stores.ports import Opens

    _End = tuple[str, Opens | OpensInPostgres | OpensInRedis, tuple[Purpose, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """One role on one server, without a password."""

    named: str
    """The variable with the way to the server."""
    stores: tuple[str, ...]
    engine: Engine
    purpose: Purpose
    statements: tuple[str, ...]
    """For psql, or for redis-cli; each may be said again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """All of them."""

    roles: tuple[Role, ...]
    status = ExitStatus.OK


def roles(roads: Iterable[Road], purposes: Sequence[Purpose], run: Run) -> Roles:
    """Write them down: any user who sees what there is may ask, with few rights or many.

    Raises:
        IdemctlError: a server cannot be asked what there is.
    """
    return Roles(
        roles=tuple(role for road in roads for role in _on(road, purposes, run)),
    )


def _on(road: Road, purposes: Sequence[Purpose], run: Run) -> Iterator[Role]:
    rules: dict[Purpose, list[str]] = {purpose: [] for purpose in purposes}
    ends: list[_End] = [(one.target.store, one.target.opens, one.purposes) for one in road.sides]
    ends += [(one.store, one.opens, one.purposes) for one in road.keepings]
    for _, opens, served in ends:
        run.checkpoint()
        with closing(opens.open(writable=False)) as place:
            rights = place.rights()
        for purpose in served:
            rules[purpose] += [one.rule for one in rights if purpose in one.needed_for]
    for purpose, needed in rules.items():
        if needed:
            statements = _STATEMENTS[road.engine](purpose.role, dict.fromkeys(needed))
            yield Role(
                named=road.named,
                stores=tuple(dict.fromkeys(store for store, _, _ in ends)),
                engine=road.engine,
                purpose=purpose,
                statements=tuple(statements),
            )


def _for_postgres(role: str, rules: Iterable[str]) -> Iterator[str]:
    yield (
        f"DO $$BEGIN CREATE ROLE {role} LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END$$;"
    )
    for rule in rules:
        yield f"{rule} TO {role};"


def _for_redis(role: str, rules: Iterable[str]) -> Iterator[str]:
    """Take away what it may have had, but not its password; then commands, then keys."""
    words = dict.fromkeys(word for rule in rules for word in _split(rule))
    commands = [word for word in words if word.startswith("+")]
    keys = [word for word in words if not word.startswith("+")]
    # What may be written may be read.
    keys = [key for key in keys if "%R" not in key[:3] or key.replace("%R", "", 1) not in keys]
    rule = " ".join(["resetkeys", "resetchannels", "-@all", *commands, *keys])
    yield f"ACL SETUSER {role} on {rule}"


def _split(rule: str) -> list[str]:
    """Take a rule apart: a command, and the keys that it is for, which may be in quotes."""
    command, _, keys = rule.partition(" ")
    return [command, keys] if keys else [command]


_STATEMENTS = {Engine.POSTGRES: _for_postgres, Engine.REDIS: _for_redis}

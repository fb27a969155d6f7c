"""`idemctl schema`."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from idemctl.cli.options import option
from idemctl.cli.verb import Work, verb
from idemctl.domain.outcomes import Report
from idemctl.errors import UsageError


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(help="What stores look like, and the files that describe them.")
    for name, function in _COMMANDS.items():
        verb(group, name, full_name=f"schema {name}")(function)
    app.add_typer(group, name="schema")


def own(
    work: Work,
    *,
    schema: Annotated[
        str, option("--schema", help="where the tables of idemctl go", metavar="NAME")
    ] = "idemctl",
) -> Report:
    """Print the DDL of what is idemctl's own: epoch, witness and freeze.

    idemctl schema own | psql
    idemctl schema own --schema ops | psql    for state: {schema: ops}

    Prints SQL and connects to nothing. Each statement may be run again. The epoch is in
    public, for the application's tables refer to it.

    Exit status: 0 printed, 2 no name of a schema.
    """
    if re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", schema) is None:
        raise UsageError(
            "--schema: is no name of a schema", hint="write small letters, digits and _"
        )
    return _print("own", work, own_schema=schema)


def postgres(work: Work) -> Report:
    """Print the DDL of the reference patterns' tables.

    idemctl schema own | psql
    idemctl schema postgres | psql

    Prints SQL and connects to nothing. Each statement may be run again: what exists
    stays. The tables refer to what is idemctl's own, so that one comes first.

    Exit status: 0 printed.
    """
    return _print("postgres", work)


def redis(work: Work) -> Report:
    """Print keys, values and settings of the Redis side.

    idemctl schema redis

    Prints how the reference patterns write keys, the members of the JSON value with types
    and units, and a server's settings with the reason for each, as a part of a redis.conf.
    Connects to nothing.

    Exit status: 0 printed.
    """
    return _print("redis", work)


def layout(work: Work) -> Report:
    """Print the JSON Schema of layout files, for an editor that completes and checks them.

    idemctl schema layout > layout.schema.json

    Prints JSON and connects to nothing.

    Exit status: 0 printed.
    """
    return _print("layout", work)


def policy(work: Work) -> Report:
    """Print the JSON Schema of policy files, for an editor that completes and checks them.

    idemctl schema policy > policy.schema.json

    Prints JSON and connects to nothing.

    Exit status: 0 printed.
    """
    return _print("policy", work)


_COMMANDS = {
    "own": own,
    "postgres": postgres,
    "redis": redis,
    "layout": layout,
    "policy": policy,
}


def _print(what: str, work: Work, **more: str) -> Report:
    from idemctl.operations.schema import What, schema
    from idemctl.render.schema import report

    return report(schema(What(what), **more), work.run, work.now())

"""`idemctl schema`."""

from __future__ import annotations

import typer

from idemctl.cli.verb import Work, verb
from idemctl.domain.outcomes import Report


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(help="What stores look like, and the files that describe them.")
    for name, function in _COMMANDS.items():
        verb(group, name, full_name=f"schema {name}")(function)
    app.add_typer(group, name="schema")


def own(work: Work) -> Report:
    """Print the DDL of what is idemctl's own: the epoch of a store.

    idemctl schema own | psql

    Prints SQL and connects to nothing. Each statement may be run again.

    Exit status: 0 printed.
    """
    return _print("own", work)


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


_COMMANDS = {"own": own, "postgres": postgres, "redis": redis, "layout": layout}


def _print(what: str, work: Work) -> Report:
    from idemctl.operations.schema import What, schema
    from idemctl.render.schema import report

    return report(schema(What(what)), work.run, work.now())

"""`idemctl sandbox`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from idemctl.cli.options import option
from idemctl.cli.seeding import seeded, seeded_sheet
from idemctl.cli.verb import Work, verb
from idemctl.domain.outcomes import Report, Sheet
from idemctl.errors import ExitStatus, UsageError
from idemctl.render.figures import count

if TYPE_CHECKING:
    from idemctl.sandbox.servers import Sandbox, SandboxStatus, ServerStatus

Name = Annotated[
    str, option("--name", help="which sandbox; several can run side by side", metavar="NAME")
]
Folder = Annotated[
    Path | None,
    option("--folder", env=False, help="where it lives, instead of the usual place", metavar="DIR"),
]


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(
        help="A local Postgres and Valkey with believable keys, to try things on.",
    )
    for function in (up, down, status, env, seed, inject):
        verb(group, function.__name__, full_name=f"sandbox {function.__name__}")(function)
    app.add_typer(group, name="sandbox")


def up(
    work: Work,
    *,
    name: Name = "default",
    folder: Folder = None,
    postgres_bin: Annotated[
        Path | None,
        option(
            "--postgres-bin",
            env=False,
            help="folder with another version's initdb, postgres",
            metavar="DIR",
        ),
    ] = None,
    redis_bin: Annotated[
        Path | None,
        option("--redis-bin", env=False, help="another redis-server to run", metavar="FILE"),
    ] = None,
) -> Report:
    """Start the sandbox's servers.

    idemctl sandbox up
    idemctl sandbox up --name old --postgres-bin /usr/lib/postgresql/15/bin

    Starts PostgreSQL and Valkey on unix sockets and free loopback ports, with their data in
    one folder under /var/tmp. A sandbox that runs is left as it is; one that was killed
    recovers. Started as root, the servers run as nobody.

    Exit status: 0 both run, 5 the folder or its data is not fit, 10 a server did not start.
    """
    sandbox = _sandbox(name, folder)
    state = sandbox.up(postgres_bin=postgres_bin, redis_bin=redis_bin)
    evaluate = 'eval "$(idemctl sandbox env' + _naming(name, folder) + ')"'
    return _status_report(work, "sandbox-up", state, f"lead idemctl here: {evaluate}")


def down(work: Work, *, name: Name = "default", folder: Folder = None) -> Report:
    """Stop the servers and remove the folder, data included.

    idemctl sandbox down

    Leaves no process and no file. Refuses a folder that is not a sandbox.

    Exit status: 0 gone, or was never there; 5 not a sandbox.
    """
    gone = _sandbox(name, folder).down()
    said = (
        f"stopped both servers, {gone.stopped_count} processes in all, and removed {gone.folder}"
        if gone.removed
        else f"there was no sandbox in {gone.folder}"
    )
    return _report(
        work,
        "sandbox-down",
        summary={
            "stopped": gone.stopped_count,
            "killed": gone.killed_count,
            "removed": gone.removed,
        },
        lines=[said],
    )


def status(work: Work, *, name: Name = "default", folder: Folder = None) -> Report:
    """Tell whether the servers run, and where.

    idemctl sandbox status

    Exit status: 0 both run, 10 at least one does not.
    """
    return _status_report(work, "sandbox-status", _sandbox(name, folder).status())


def env(work: Work, *, name: Name = "default", folder: Folder = None) -> Report:
    """Print the lines that lead idemctl, and your own tools, to the sandbox.

    eval "$(idemctl sandbox env)"

    The passwords are not in the output: the lines read them from the sandbox's folder when
    the shell evaluates them.

    Exit status: 0, 5 there is no sandbox.
    """
    lines = _sandbox(name, folder).export_lines()
    return _report(work, "sandbox-env", lines=lines, items=[{"line": line} for line in lines])


def seed(
    work: Work,
    *,
    name: Name = "default",
    folder: Folder = None,
    records: Annotated[
        int, option("--records", help="how many", min=100, max=100_000_000, metavar="N")
    ] = 100_000,
    seed: Annotated[int, option("--seed", help="same seed, same keys", min=0, metavar="N")] = 1,
    faults: Annotated[
        bool, option("--faults", env=False, help="plant a fault of each kind, too")
    ] = False,
) -> Report:
    """Fill the sandbox with keys of all six patterns.

    idemctl sandbox seed
    idemctl sandbox seed --records 1000000 --seed 7 --faults

    Replaces what an earlier seed wrote. What was written, and which faults were planted, is
    in manifest.json in the sandbox's folder; beside it hits.jsonl, the log of four weeks,
    with --faults with a storm of retries on its last day.

    Exit status: 0, 5 there is no sandbox, 10 its servers do not run.
    """
    from idemctl.sandbox.seed import hit_log
    from idemctl.sandbox.seed import seed as plant

    def told(store: str, done: int) -> None:
        work.run.progress.at(f"seeding {store}", min(done / records, 1.0), {"records": done})
        work.run.checkpoint()

    sandbox = _sandbox(name, folder)
    manifest = plant(
        dsn=sandbox.dsn(),
        redis_url=sandbox.redis_url(),
        records=records,
        seed=seed,
        faults=faults,
        progress=told,
    )
    log = hit_log(records=records, seed=seed, now=manifest.seeded_at, faults=faults)
    manifest = replace(manifest, spike=log.spike)
    log_file = sandbox.keep("hits.jsonl", log.text)
    file = sandbox.keep("manifest.json", manifest.to_json())
    return _report(
        work,
        "sandbox-seed",
        summary={
            "records": manifest.records,
            "faults": len(manifest.faults),
            "log_lines": log.line_count,
            "manifest": str(file),
            "log": str(log_file),
        },
        items=list(seeded(manifest)),
        sheet=seeded_sheet(
            manifest,
            f"manifest: {file}",
            f"log of hits: {log_file}, {count(log.line_count)} lines",
        ),
    )


def inject(
    work: Work,
    fault: Annotated[str, typer.Argument(help="what to inject: flush", metavar="FAULT")],
    *,
    name: Name = "default",
    folder: Folder = None,
) -> Report:
    """Inject a fault into the sandbox.

    idemctl sandbox inject flush

    flush: Redis loses every key, in all its databases (FLUSHALL).

    Exit status: 0, 2 no such fault, 5 there is no sandbox, 10 its servers do not run.
    """
    from idemctl.sandbox.faults import FAULTS

    if fault not in FAULTS:
        raise UsageError(f"there is no fault {fault!r}", hint=f"known: {', '.join(FAULTS)}")
    lost_count = FAULTS[fault](_sandbox(name, folder).redis_url())
    return _report(
        work,
        "sandbox-inject",
        summary={"fault": fault, "keys": lost_count},
        lines=[f"{fault}: {count(lost_count)} keys of Redis are gone"],
    )


def _sandbox(name: str, folder: Path | None) -> Sandbox:
    from idemctl.sandbox.servers import Sandbox, default_folder

    if folder is not None and name != "default":
        raise UsageError("--name and --folder both say where the sandbox is", hint="give one")
    return Sandbox(folder=folder or default_folder(name))


def _naming(name: str, folder: Path | None) -> str:
    if folder is not None:
        return f" --folder {folder}"
    return "" if name == "default" else f" --name {name}"


def _status_report(work: Work, command: str, state: SandboxStatus, *lines: str) -> Report:
    servers = (("postgres", state.postgres), ("redis", state.redis))
    return _report(
        work,
        command,
        status=ExitStatus.OK if state.running else ExitStatus.UNREACHABLE,
        summary={"folder": str(state.folder), "running": state.running},
        items=[_server(engine, one) for engine, one in servers],
        sheet=Sheet(
            headings=("server", "running", "version", "port", "pid"),
            rows=[
                (
                    engine,
                    "yes" if one.running else "no",
                    *(str(fact or "-") for fact in (one.version, one.port, one.pid)),
                )
                for engine, one in servers
            ],
            lines=[f"folder: {state.folder}", *lines],
        ),
    )


def _server(engine: str, one: ServerStatus) -> dict[str, Any]:
    return {
        "code": "server",
        "server": engine,
        "running": one.running,
        "version": one.version,
        "port": one.port,
        "socket": None if one.socket is None else str(one.socket),
        "pid": one.pid,
    }


def _report(
    work: Work,
    command: str,
    *,
    status: ExitStatus = ExitStatus.OK,
    summary: dict[str, Any] | None = None,
    items: list[dict[str, Any]] | None = None,
    lines: list[str] | None = None,
    sheet: Sheet | None = None,
) -> Report:
    return Report(
        command=command,
        status=status,
        store=None,
        run_id=work.run.id,
        started_at=work.run.started_at,
        finished_at=work.now(),
        summary=summary or {},
        items=items or [],
        sheets=[sheet or Sheet(lines=lines or [])],
        headline=(lines or [command])[0],
    )

"""Find the files, read them, and settle which of several values holds."""

from __future__ import annotations

import os
import pwd
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from idemctl.documents import read_document, read_model
from idemctl.errors import ConfigError
from idemctl.settings.model import Configuration, PostgresSettings, RedisSettings, StoreSettings
from idemctl.settings.settings import LIBPQ_VARIABLES, Settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from idemctl.documents import Document

FILE_NAME = "idemctl.yaml"
_ROOT_STATE = Path("/var/lib/idemctl")


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """What the command line says about settings."""

    config: Path | None = None
    stores: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """A file that was read."""

    file: Path
    document: Document
    configuration: Configuration


def load_settings(flags: Flags, environ: Mapping[str, str], cwd: Path) -> Settings:
    """Settle what a run works on.

    `state.folder` and `stores` are each taken whole from the first source that has
    them; without a file that names stores, the environment makes up one, `default`.
    An empty environment variable counts as unset.

    Raises:
        InvalidDocument: a file is no valid configuration.
        ConfigError: a file cannot be read, or there is nothing to work on.
    """
    present = {name: value for name, value in environ.items() if value}
    origins: dict[str, str] = {}
    assumed: list[str] = []
    main = _main_file(flags, present, cwd, origins)
    user = _user_file(present, assumed)
    sources = [source for source in (main, user) if source is not None]
    state_folder = _state_folder(sources, present, cwd, origins)
    with_stores = next((source for source in sources if source.configuration.stores), None)
    if with_stores is not None:
        stores = with_stores.configuration.stores
    else:
        stores = {"default": _store_of_environment(present, sources, origins, assumed)}
    return Settings(
        stores=MappingProxyType(stores),
        file=sources[0].file if sources else None,
        state_folder=state_folder,
        own_schema=_own_schema(sources, origins),
        assumed=tuple(assumed),
        asked=_asked(flags, present, origins),
        origins=MappingProxyType(origins),
        document=with_stores.document if with_stores else None,
        environ=MappingProxyType(present),
    )


def _main_file(
    flags: Flags, environ: Mapping[str, str], cwd: Path, origins: dict[str, str]
) -> _Source | None:
    if flags.config is not None:
        origins["config"] = "--config"
        named = flags.config
    elif "IDEMCTL_CONFIG" in environ:
        origins["config"] = "environment IDEMCTL_CONFIG"
        named = Path(environ["IDEMCTL_CONFIG"])
    else:
        named = Path(FILE_NAME)
        if not _exists(cwd / named):
            return None
        origins["config"] = "current folder"
    return _source(cwd / named, environ, shown_as=str(named))


def _user_file(environ: Mapping[str, str], assumed: list[str]) -> _Source | None:
    folder = _base_folder(environ, "XDG_CONFIG_HOME", ".config")
    if folder is None:
        return None
    file = folder / "idemctl" / "config.yaml"
    try:
        if not _exists(file):
            return None
    except PermissionError:
        # A service that runs under another user's HOME has no file there.
        assumed.append(f"{file} may not be looked at; going on without it.")
        return None
    return _source(file, environ, shown_as=str(file))


def _exists(file: Path) -> bool:
    # A dangling link exists: whoever made it wanted a file there.
    try:
        file.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _source(file: Path, environ: Mapping[str, str], *, shown_as: str) -> _Source:
    document = read_document(file, shown_as=shown_as)
    anchor = {"folder": file.parent, "home": _home(environ)}
    configuration = read_model(document, Configuration, context=anchor)
    return _Source(file=file, document=document, configuration=configuration)


def _store_of_environment(
    environ: Mapping[str, str],
    sources: list[_Source],
    origins: dict[str, str],
    assumed: list[str],
) -> StoreSettings:
    """Make up the store of a run without configuration, and say so."""
    libpq = [name for name in LIBPQ_VARIABLES if name in environ]
    postgres = ["DATABASE_URL"] if "DATABASE_URL" in environ else libpq
    redis = ["REDIS_URL"] if "REDIS_URL" in environ else []
    if not postgres and not redis:
        where = f"{sources[0].document.file} names no store" if sources else f"no {FILE_NAME} here"
        raise ConfigError(
            f"nothing to work on: {where}, and neither DATABASE_URL nor REDIS_URL is set",
            hint=f"write {FILE_NAME}, export DATABASE_URL and REDIS_URL, "
            "or try it out with `idemctl sandbox up`",
        )
    assumed.append("No configuration names a store; the environment makes one, 'default'.")
    for part, engine, variables in (("postgres", "Postgres", postgres), ("redis", "Redis", redis)):
        if variables:
            origin = f"environment {', '.join(variables)}"
            origins[f"stores.default.{part}"] = origin
            origins.setdefault("stores.default", origin)
            assumed.append(f"{engine} is taken from {', '.join(variables)}, layout 'reference'.")
    return StoreSettings(
        postgres=PostgresSettings() if postgres else None,
        redis=RedisSettings() if redis else None,
    )


def _state_folder(
    sources: list[_Source], environ: Mapping[str, str], cwd: Path, origins: dict[str, str]
) -> Path:
    name = "state.folder"
    if "IDEMCTL_STATE" in environ:
        origins[name] = "environment IDEMCTL_STATE"
        return cwd / environ["IDEMCTL_STATE"]
    for source in sources:
        folder = source.configuration.state.folder
        if folder is not None:
            origins[name] = str(source.document.place(("state", "folder"), key=True))
            return folder
    if os.geteuid() == 0 and "XDG_STATE_HOME" not in environ:
        return _ROOT_STATE
    base = _base_folder(environ, "XDG_STATE_HOME", ".local/state")
    if base is None:
        raise ConfigError(
            "no folder for idemctl's state: this user has no home",
            hint="export IDEMCTL_STATE=/path/to/folder",
        )
    if base == Path(environ.get("XDG_STATE_HOME", "")):
        origins[name] = "environment XDG_STATE_HOME"
    return base / "idemctl"


def _own_schema(sources: list[_Source], origins: dict[str, str]) -> str | None:
    for source in sources:
        schema = source.configuration.state.own_schema
        if schema is not None:
            origins["state.schema"] = str(source.document.place(("state", "schema"), key=True))
            return schema
    return None


def _asked(flags: Flags, environ: Mapping[str, str], origins: dict[str, str]) -> tuple[str, ...]:
    """Collect the names asked for; an empty one stays, to be refused rather than mean all."""
    if flags.stores:
        origins["store"] = "--store"
        return tuple(dict.fromkeys(flags.stores))
    if "IDEMCTL_STORE" in environ:
        origins["store"] = "environment IDEMCTL_STORE"
        names = environ["IDEMCTL_STORE"].split(",")
        return tuple(dict.fromkeys(name.strip() for name in names))
    return ()


def _base_folder(environ: Mapping[str, str], variable: str, below_home: str) -> Path | None:
    """Find a base folder of the XDG specification, which ignores relative paths."""
    named = Path(environ.get(variable, ""))
    if named.is_absolute():
        return named
    home = _home(environ)
    return home / below_home if home else None


def _home(environ: Mapping[str, str]) -> Path | None:
    if "HOME" in environ:
        return Path(environ["HOME"])
    try:
        return Path(pwd.getpwuid(os.geteuid()).pw_dir)
    except KeyError:
        # Containers run under numbers that no user has.
        return None

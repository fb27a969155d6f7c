"""Where regular runs would take place: this interpreter, this host, this configuration."""

from __future__ import annotations

import os
import platform
import pwd
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from idemctl import __version__
from idemctl.operations.schedule import Premises

if TYPE_CHECKING:
    from collections.abc import Sequence

    from idemctl.bootstrap.layouts import Catalogue
    from idemctl.layouts.model import Layout
    from idemctl.settings import Settings
    from idemctl.settings.model import StoreSettings


def premises(settings: Settings, catalogue: Catalogue, env_file: Path) -> Premises:
    """Gather what a line for a scheduler has to name.

    Args:
        settings: whose stores are named by a file.
        catalogue: the layouts of those stores.
        env_file: where the operator keeps the variables; it is not opened.
    """
    stores = {
        name: one
        for name, one in settings.chosen().items()
        if one.postgres is not None and _is_collected(catalogue.layouts(name, "postgres"))
    }
    variables = (name for one in stores.values() for name in _variables(one))
    files = (file for one in stores.values() for file in _files(one))
    return Premises(
        # Without -P a folder named like a module would be taken for it, where the run starts.
        command=(sys.executable, "-P", "-m", "idemctl"),
        version=__version__,
        host=platform.node(),
        user=_user(),
        config=(settings.file or Path()).absolute(),
        state=settings.state_folder.absolute(),
        env_file=env_file.absolute(),
        collected=tuple(stores),
        variables=tuple(dict.fromkeys(variables)),
        files=tuple(dict.fromkeys(file.absolute() for file in files)),
    )


def _is_collected(layouts: Sequence[Layout]) -> bool:
    sides = [layout.postgres for layout in layouts]
    return any(side is not None and side.never_collected != "always" for side in sides)


def _user() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def _variables(store: StoreSettings) -> list[str]:
    names: list[str | None] = []
    if store.postgres is not None:
        names += [store.postgres.dsn_env, store.postgres.direct_dsn_env]
    if store.redis is not None:
        names.append(store.redis.url_env)
    return [name for name in names if name]


def _files(store: StoreSettings) -> list[Path]:
    sides = [side for side in (store.postgres, store.redis) if side is not None]
    layouts = [Path(name) for side in sides for name in side.layouts if name.endswith(".yaml")]
    named = [store.policies, *(side.password_file for side in sides), *layouts]
    return [file for file in named if file is not None]

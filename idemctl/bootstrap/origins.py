"""What doctor tells of the configuration itself: each value that counts, and where it is from."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from idemctl.domain.durations import format_duration
from idemctl.domain.keys import escape
from idemctl.errors import ExitStatus
from idemctl.operations.doctor import Line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import BaseModel

    from idemctl.settings import Settings
    from idemctl.state.folder import StateFolder

_OF_STORES = ("ttl", "policies")
_OF_PAIRS = ("write_order", "on_redis_miss")
_OF_SIDES = {
    "postgres": ("dsn_env", "direct_dsn_env", "password_file", "layout", "table"),
    "redis": ("url_env", "password_file", "layout", "prefix", "ttl"),
}


def tell_origins(settings: Settings, state: StateFolder) -> Iterator[Line]:
    """Tell file, state folder and the values of each chosen store."""
    where = str(settings.file) if settings.file else "none; taken from the environment"
    found = settings.origin("config")
    says = where if found == "default" else f"{where} ({found})"
    yield Line(about="configuration", says=says)
    for sentence in settings.assumed:
        yield Line(about="assumed", says=sentence)
    yield _state(settings, state)
    for name, store in settings.chosen().items():
        for part, fields in _OF_SIDES.items():
            side = getattr(store, part)
            if side is not None:
                said = _values(settings, f"stores.{name}.{part}", side, fields)
                yield Line(store=name, about="settings", says=f"{part}: {said}")
        is_pair = store.postgres is not None and store.redis is not None
        names = _OF_STORES + (_OF_PAIRS if is_pair else ())
        said = _values(settings, f"stores.{name}", store, names)
        if said:
            yield Line(store=name, about="settings", says=said)


def needed_variables(settings: Settings) -> list[str]:
    """List the variables of this shell without which the chosen stores are out of reach."""
    wanted: set[str | None] = set()
    for store in settings.chosen().values():
        if store.postgres is not None:
            wanted |= {store.postgres.dsn_env, store.postgres.direct_dsn_env}
        if store.redis is not None:
            wanted.add(store.redis.url_env)
    of_libpq = {name for name in settings.environ if name.startswith("PG")}
    of_idemctl = {"IDEMCTL_CONFIG", "IDEMCTL_STATE", "IDEMCTL_STORE"}
    wanted |= of_libpq | of_idemctl
    return sorted(name for name in settings.environ if name in wanted)


def _state(settings: Settings, state: StateFolder) -> Line:
    usable = state.is_usable()
    says = f"{settings.state_folder} ({settings.origin('state.folder')})"
    return Line(
        about="state",
        says=says if usable else f"{says}: this user cannot write there",
        status=ExitStatus.OK if usable else ExitStatus.CONFIG,
        fix=None if usable else "set state.folder, or IDEMCTL_STATE, to a folder of this user",
    )


def _values(settings: Settings, path: str, model: BaseModel, names: tuple[str, ...]) -> str:
    values = ((name, getattr(model, name)) for name in names)
    return ", ".join(
        f"{name} {_shown(value)} ({settings.origin(f'{path}.{name}')})"
        for name, value in values
        if value is not None
    )


def _shown(value: object) -> str:
    if isinstance(value, timedelta):
        return format_duration(value)
    if isinstance(value, tuple):
        return " then ".join(map(_shown, value))
    return escape(str(value).encode("utf-8", errors="surrogateescape"))

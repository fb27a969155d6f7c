"""Which of several files and values holds, and where each came from."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from idemctl.errors import ConfigError
from idemctl.settings import Flags, load_settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from idemctl.settings import Settings

FULL = """\
version: 1
state: {folder: state}
stores:
  payments:
    postgres: {table: public.processed_events, direct_dsn_env: PG_DIRECT, password_file: pw}
    redis: {url_env: CACHE_URL, layout: my/layout.yaml, prefix: "idem:", ttl: 24h}
    ttl: 7d
    write_order: postgres-first
    on_redis_miss: postgres
    policies: policies/payments.yaml
    protected: true
  webhooks:
    postgres: {dsn_env: HOOKS_URL, layout: bare}
  messages:
    redis: {}
"""


LEAST = "version: 1\nstores:\n  a: {redis: {}}\n"


class Place:
    """A folder with files, an environment and a home, and the settings they make."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "work"
        self.home = root / "home"
        self.folder.mkdir()
        self.home.mkdir()

    def write(self, text: str, name: str = "idemctl.yaml") -> Path:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def load(self, flags: Flags | None = None, **environ: str) -> Settings:
        return load_settings(flags or Flags(), {"HOME": str(self.home), **environ}, self.folder)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    return Place(tmp_path)


def refusal_of(attempt: Callable[[], object]) -> tuple[str, str | None]:
    with pytest.raises(ConfigError) as refusal:
        attempt()
    return refusal.value.message, refusal.value.hint


def test_a_whole_file_is_read(place: Place) -> None:
    file = place.write(FULL)
    settings = place.load()
    assert list(settings.stores) == ["payments", "webhooks", "messages"]
    store = settings.stores["payments"]
    assert store.postgres is not None
    assert store.redis is not None
    assert store.postgres.dsn_env == "DATABASE_URL"
    assert store.postgres.layout == "reference"
    assert store.postgres.table == "public.processed_events"
    assert store.redis.ttl == timedelta(days=1)
    assert store.redis.prefix == "idem:"
    assert store.ttl == timedelta(days=7)
    assert (store.write_order, store.on_redis_miss) == ("postgres-first", "postgres")
    assert store.protected
    hooks = settings.stores["webhooks"]
    assert (hooks.write_order, hooks.on_redis_miss) == ("unknown", "unknown")
    assert (hooks.redis, hooks.ttl, hooks.policies, hooks.protected) == (None, None, None, False)
    assert settings.file == file
    assert settings.assumed == ()


def test_paths_are_relative_to_the_file_and_tilde_is_home(place: Place) -> None:
    file = place.write(FULL, "deep/idemctl.yaml")
    settings = place.load(Flags(config=Path("deep/idemctl.yaml")))
    store = settings.stores["payments"]
    assert store.postgres is not None
    assert store.redis is not None
    assert store.policies == file.parent / "policies/payments.yaml"
    assert store.postgres.password_file == file.parent / "pw"
    assert store.redis.layout == str(file.parent / "my/layout.yaml")
    assert settings.state_folder == file.parent / "state"
    place.write("version: 1\nstate: {folder: ~/s}\nstores: {a: {redis: {}, policies: /p.yaml}}\n")
    settings = place.load()
    assert settings.state_folder == place.home / "s"
    assert settings.stores["a"].policies == Path("/p.yaml")


@pytest.mark.parametrize(
    ("name", "origin"),
    [
        ("stores.payments", "idemctl.yaml:4:3"),
        ("stores.payments.postgres.table", "idemctl.yaml:5:16"),
        ("stores.payments.postgres.dsn_env", "default"),
        ("stores.payments.redis.ttl", "idemctl.yaml:6:74"),
        ("stores.payments.ttl", "idemctl.yaml:7:5"),
        ("stores.webhooks.ttl", "default"),
        ("state.folder", "idemctl.yaml:2:9"),
        ("config", "current folder"),
        ("store", "default"),
    ],
)
def test_each_value_has_its_origin(place: Place, name: str, origin: str) -> None:
    place.write(FULL)
    assert place.load().origin(name) == origin


def test_the_file_is_the_flag_s_then_the_environment_s_then_the_folder_s(place: Place) -> None:
    for name in ("flag", "variable", "idemctl"):
        place.write(f"version: 1\nstores:\n  {name}: {{redis: {{}}}}\n", f"{name}.yaml")
    flags = Flags(config=Path("flag.yaml"))
    settings = place.load(flags, IDEMCTL_CONFIG="variable.yaml")
    assert (list(settings.stores), settings.origin("config")) == (["flag"], "--config")
    assert settings.origin("stores.flag") == "flag.yaml:3:3"
    settings = place.load(IDEMCTL_CONFIG="variable.yaml")
    assert list(settings.stores) == ["variable"]
    assert settings.origin("config") == "environment IDEMCTL_CONFIG"
    settings = place.load(IDEMCTL_CONFIG="")
    assert list(settings.stores) == ["idemctl"]


def test_a_named_file_has_to_exist(place: Place) -> None:
    place.write(LEAST)
    hint = "check the path; it is taken from the current folder"
    flags = Flags(config=Path("no.yaml"))
    assert refusal_of(lambda: place.load(flags)) == ("no.yaml: no such file", hint)
    assert refusal_of(lambda: place.load(IDEMCTL_CONFIG="/no.yaml")) == (
        "/no.yaml: no such file",
        hint,
    )


def test_a_dangling_link_is_no_absent_file(place: Place) -> None:
    (place.folder / "idemctl.yaml").symlink_to("gone.yaml")
    message, _ = refusal_of(lambda: place.load(REDIS_URL="redis://h"))
    assert message == "idemctl.yaml: no such file"


def user_file(place: Place, text: str, below: str = ".config") -> Path:
    file = place.home / below / "idemctl" / "config.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    return file


def test_the_user_s_file_speaks_where_the_folder_s_is_silent(place: Place) -> None:
    text = "version: 1\nstate: {folder: mine}\nstores: {b: {redis: {}}}\n"
    file = user_file(place, text)
    settings = place.load()
    assert (list(settings.stores), settings.file) == (["b"], file)
    assert settings.origin("stores.b.redis") == f"{file}:3:14"
    project = place.write(LEAST)
    settings = place.load()
    assert (list(settings.stores), settings.file) == (["a"], project)
    assert settings.state_folder == file.parent / "mine"
    assert settings.origin("state.folder") == f"{file}:2:9"
    place.write("version: 1\n")
    assert list(place.load().stores) == ["b"]
    place.write(FULL)
    assert place.load().state_folder == place.folder / "state"


def test_the_user_s_file_is_where_xdg_says(place: Place) -> None:
    user_file(place, "version: 1\nstores: {x: {redis: {}}}\n", "elsewhere")
    settings = place.load(XDG_CONFIG_HOME=str(place.home / "elsewhere"))
    assert list(settings.stores) == ["x"]
    place.write(LEAST)
    # The specification has relative paths ignored.
    assert list(place.load(XDG_CONFIG_HOME="elsewhere").stores) == ["a"]


def test_a_broken_user_s_file_is_refused_with_its_place(place: Place) -> None:
    file = user_file(place, "version: 1\nstroes: {}\n")
    place.write(LEAST)
    message, _ = refusal_of(place.load)
    assert message == f"{file}:2:1: the field 'stroes' is unknown; did you mean 'stores'?"


def test_a_home_that_may_not_be_looked_at_is_said(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.write(LEAST)
    lstat = Path.lstat

    def denied(file: Path) -> os.stat_result:
        if file.is_relative_to(place.home):
            raise PermissionError
        return lstat(file)

    monkeypatch.setattr(Path, "lstat", denied)
    assert place.load().assumed == (
        f"{place.home}/.config/idemctl/config.yaml may not be looked at; going on without it.",
    )


@pytest.mark.parametrize(
    ("environ", "parts", "assumed"),
    [
        (
            {"DATABASE_URL": "postgresql://h", "REDIS_URL": "redis://h"},
            {"postgres": "environment DATABASE_URL", "redis": "environment REDIS_URL"},
            [
                "Postgres is taken from DATABASE_URL, layout 'reference'.",
                "Redis is taken from REDIS_URL, layout 'reference'.",
            ],
        ),
        (
            {"REDIS_URL": "redis://h", "DATABASE_URL": ""},
            {"redis": "environment REDIS_URL"},
            ["Redis is taken from REDIS_URL, layout 'reference'."],
        ),
        (
            {"PGHOST": "h", "PGDATABASE": "d"},
            {"postgres": "environment PGHOST, PGDATABASE"},
            ["Postgres is taken from PGHOST, PGDATABASE, layout 'reference'."],
        ),
        (
            {"PGSERVICE": "s", "DATABASE_URL": "postgresql://h"},
            {"postgres": "environment DATABASE_URL"},
            ["Postgres is taken from DATABASE_URL, layout 'reference'."],
        ),
    ],
)
def test_without_a_file_the_environment_makes_one_store_and_says_so(
    place: Place, environ: dict[str, str], parts: dict[str, str], assumed: list[str]
) -> None:
    settings = place.load(None, **environ)
    assert list(settings.stores) == ["default"]
    store = settings.stores["default"]
    assert {name for name in ("postgres", "redis") if getattr(store, name)} == set(parts)
    for name, origin in parts.items():
        assert settings.origin(f"stores.default.{name}") == origin
    first = "No configuration names a store; the environment makes one, 'default'."
    assert settings.assumed == (first, *assumed)
    assert settings.file is None
    if "postgres" in parts:
        assert settings.postgres_dsn("default").reveal() == environ.get("DATABASE_URL", "")


def test_a_file_without_stores_leaves_them_to_the_environment(place: Place) -> None:
    place.write("version: 1\nstate: {folder: here}\n")
    settings = place.load(REDIS_URL="redis://h")
    assert list(settings.stores) == ["default"]
    assert settings.state_folder == place.folder / "here"
    message, _ = refusal_of(place.load)
    assert message == (
        "nothing to work on: idemctl.yaml names no store, "
        "and neither DATABASE_URL nor REDIS_URL is set"
    )


def test_nothing_at_all_ends_with_the_way_out(place: Place) -> None:
    assert refusal_of(lambda: place.load(DATABASE_URL="", PGUSER="u")) == (
        "nothing to work on: no idemctl.yaml here, and neither DATABASE_URL nor REDIS_URL is set",
        (
            "write idemctl.yaml, export DATABASE_URL and REDIS_URL, "
            "or try it out with `idemctl sandbox up`"
        ),
    )


def test_the_state_folder_follows_its_precedence(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.write(FULL)
    settings = place.load(IDEMCTL_STATE="rel", XDG_STATE_HOME="/x")
    assert settings.state_folder == place.folder / "rel"
    assert settings.origin("state.folder") == "environment IDEMCTL_STATE"
    assert place.load(XDG_STATE_HOME="/x").state_folder == place.folder / "state"
    place.write(LEAST)
    settings = place.load(XDG_STATE_HOME="/x")
    assert settings.state_folder == Path("/x/idemctl")
    assert settings.origin("state.folder") == "environment XDG_STATE_HOME"
    settings = place.load(XDG_STATE_HOME="relative")
    assert settings.state_folder == place.home / ".local/state/idemctl"
    assert settings.origin("state.folder") == "default"
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert place.load().state_folder == Path("/var/lib/idemctl")
    assert place.load(XDG_STATE_HOME="/x").state_folder == Path("/x/idemctl")


def test_a_user_without_home_is_told_to_name_a_state_folder(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 2**31 - 7)
    place.write(LEAST)
    assert refusal_of(lambda: place.load(HOME="")) == (
        "no folder for idemctl's state: this user has no home",
        "export IDEMCTL_STATE=/path/to/folder",
    )
    assert place.load(HOME="", IDEMCTL_STATE="/s").state_folder == Path("/s")

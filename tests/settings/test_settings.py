"""Stores chosen by name, and connection strings that stay secret."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg.conninfo
import pytest
import redis.connection
from hypothesis import given
from hypothesis import strategies as st

from idemctl.errors import ConfigError, UsageError
from idemctl.settings import Flags, load_settings
from idemctl.settings.passwords import with_postgres_password, with_redis_password

if TYPE_CHECKING:
    from collections.abc import Callable

    from idemctl.settings import Settings

FULL = """\
version: 1
stores:
  payments:
    postgres: {direct_dsn_env: PG_DIRECT, password_file: pw}
    redis: {url_env: CACHE_URL}
  webhooks:
    postgres: {dsn_env: HOOKS_URL}
  messages:
    redis: {}
"""


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., Settings]:
    """Load a text as the idemctl.yaml of a folder, under an environment."""

    def load(text: str = FULL, stores: tuple[str, ...] = (), **environ: str) -> Settings:
        (tmp_path / "idemctl.yaml").write_text(text)
        return load_settings(Flags(stores=stores), {"HOME": "/no", **environ}, tmp_path)

    return load


def refusal_of(attempt: Callable[[], object]) -> tuple[str, str | None]:
    with pytest.raises(ConfigError) as refusal:
        attempt()
    return refusal.value.message, refusal.value.hint


@pytest.mark.parametrize(
    ("flags", "environ", "chosen", "origin"),
    [
        ((), "", ["payments", "webhooks", "messages"], "default"),
        (("webhooks",), "messages", ["webhooks"], "--store"),
        (("messages", "payments", "messages"), "", ["messages", "payments"], "--store"),
        ((), "webhooks, payments", ["webhooks", "payments"], "environment IDEMCTL_STORE"),
    ],
)
def test_stores_are_chosen_by_flag_then_environment_then_all(
    load: Callable[..., Settings],
    flags: tuple[str, ...],
    environ: str,
    chosen: list[str],
    origin: str,
) -> None:
    settings = load(stores=flags, IDEMCTL_STORE=environ)
    assert list(settings.chosen()) == chosen
    assert settings.chosen()[chosen[0]] is settings.stores[chosen[0]]
    assert settings.origin("store") == origin


@pytest.mark.parametrize(
    ("flags", "environ", "message", "hint"),
    [
        (
            ("paymnts",),
            "",
            "no store is named 'paymnts' (--store)",
            "did you mean payments? known stores: payments, webhooks, messages",
        ),
        (
            (),
            "xyz",
            "no store is named 'xyz' (environment IDEMCTL_STORE)",
            "known stores: payments, webhooks, messages",
        ),
        # A slip of the comma must not widen the choice to all.
        (
            (),
            " ",
            "no store is named '' (environment IDEMCTL_STORE)",
            "known stores: payments, webhooks, messages",
        ),
        (
            (),
            "payments,",
            "no store is named '' (environment IDEMCTL_STORE)",
            "known stores: payments, webhooks, messages",
        ),
    ],
)
def test_an_unknown_store_is_a_usage_error(
    load: Callable[..., Settings], flags: tuple[str, ...], environ: str, message: str, hint: str
) -> None:
    settings = load(stores=flags, IDEMCTL_STORE=environ)
    with pytest.raises(UsageError) as refusal:
        settings.chosen()
    assert (refusal.value.message, refusal.value.hint) == (message, hint)


def test_a_connection_string_comes_from_its_variable(
    tmp_path: Path, load: Callable[..., Settings]
) -> None:
    (tmp_path / "pw").write_text("s3 cret/\n")
    environ = {
        "DATABASE_URL": "postgresql://u@pooler/db",
        "PG_DIRECT": "host=h user=u",
        "CACHE_URL": "redis://:p@h:6379/0",
        "HOOKS_URL": "postgresql://u:p@h/db",
    }
    settings = load(**environ)
    dsn = settings.postgres_dsn("payments")
    assert dsn.reveal() == "postgresql://u@pooler/db?password=s3%20cret%2F"
    assert str(dsn) == "postgresql://u@pooler/db?password=***"
    direct = settings.postgres_dsn("payments", direct=True)
    assert direct.reveal() == "host=h user=u password='s3 cret/'"
    assert settings.postgres_dsn("webhooks").reveal() == "postgresql://u:p@h/db"
    assert settings.postgres_dsn("webhooks", direct=True).reveal() == "postgresql://u:p@h/db"
    assert settings.redis_url("payments").reveal() == "redis://:p@h:6379/0"
    assert str(settings.redis_url("payments")) == "redis://:***@h:6379/0"


SENTINELS = """
version: 1
stores:
  payments:
    redis: {sentinels: ["a:26379", "b:26379"], master: main}
"""


def test_sentinels_stand_in_the_place_of_the_url_s_host(tmp_path: Path) -> None:
    (tmp_path / "idemctl.yaml").write_text(SENTINELS)

    def url(**environ: str) -> str:
        return load_settings(Flags(), environ, tmp_path).redis_url("payments").reveal()

    assert url() == "redis-sentinel://a:26379,b:26379#main"
    assert url(REDIS_URL="rediss://u:p@old:6379/2") == (
        "rediss-sentinel://u:p@a:26379,b:26379/2#main"
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{sentinels: ["a:26379"]}', "sentinels and master go together"),
        ("{master: main}", "sentinels and master go together"),
        ('{sentinels: ["a"], master: main}', "is a host and a port"),
        ('{sentinels: ["u:p@a:1"], master: main}', "is a host and a port"),
    ],
)
def test_half_of_a_sentinel_is_a_wrong_configuration(
    tmp_path: Path, line: str, message: str
) -> None:
    (tmp_path / "idemctl.yaml").write_text(f"version: 1\nstores: {{a: {{redis: {line}}}}}\n")
    with pytest.raises(ConfigError, match=message):
        load_settings(Flags(), {}, tmp_path)


@pytest.mark.parametrize(
    ("attempt", "message", "hint"),
    [
        (
            lambda settings: settings.redis_url("payments"),
            (
                "idemctl.yaml:5:13: store 'payments' needs the environment variable CACHE_URL, "
                "which is not set"
            ),
            "export CACHE_URL=redis://host:6379/0",
        ),
        (
            lambda settings: settings.postgres_dsn("webhooks"),
            (
                "idemctl.yaml:7:16: store 'webhooks' needs the environment variable HOOKS_URL, "
                "which is not set"
            ),
            "export HOOKS_URL=postgresql://host/database",
        ),
        (
            lambda settings: settings.postgres_dsn("payments"),
            (
                "idemctl.yaml:3:3: store 'payments' needs the environment variable DATABASE_URL, "
                "which is not set"
            ),
            "export DATABASE_URL=postgresql://host/database",
        ),
        (
            lambda settings: settings.postgres_dsn("payments", direct=True),
            (
                "idemctl.yaml:4:16: store 'payments' needs the environment variable PG_DIRECT, "
                "which is not set"
            ),
            "export PG_DIRECT=postgresql://host/database",
        ),
        (
            lambda settings: settings.redis_url("messages"),
            "REDIS_URL, which store 'messages' needs, holds no URL",
            "export REDIS_URL=redis://host:6379/0",
        ),
        (
            lambda settings: settings.redis_url("webhooks"),
            "idemctl.yaml:6:3: store 'webhooks' has no Redis",
            "add redis: to the store",
        ),
        (
            lambda settings: settings.postgres_dsn("messages"),
            "idemctl.yaml:8:3: store 'messages' has no Postgres",
            "add postgres: to the store",
        ),
    ],
)
def test_what_is_not_set_is_named_with_the_store_that_needs_it(
    load: Callable[..., Settings], attempt: Callable[[Settings], object], message: str, hint: str
) -> None:
    settings = load(CACHE_URL="", REDIS_URL="canary")
    assert refusal_of(lambda: attempt(settings)) == (message, hint)


def test_libpq_s_variables_serve_a_store_that_names_no_other(load: Callable[..., Settings]) -> None:
    text = "version: 1\nstores:\n  a: {postgres: {}}\n  b: {postgres: {dsn_env: B}}\n"
    settings = load(text, PGHOST="h")
    assert settings.postgres_dsn("a").reveal() == ""
    message, _ = refusal_of(lambda: settings.postgres_dsn("b"))
    assert "needs the environment variable B, which is not set" in message


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (None, "cannot be read: No such file or directory"),
        (b"", "is empty"),
        (b"\n", "is empty"),
        (b"user:canary\npassword\n", "holds more than one line"),
        (b"can\x00ary", "holds more than one line"),
        (b"\xff", "is not UTF-8"),
        (b"x" * 5000, "is larger than 4096 bytes"),
    ],
)
def test_a_password_file_holds_one_line(
    tmp_path: Path, load: Callable[..., Settings], content: bytes | None, fault: str
) -> None:
    file = tmp_path / "pw"
    if content is not None:
        file.write_bytes(content)
    settings = load(DATABASE_URL="postgresql://h")
    message, _ = refusal_of(lambda: settings.postgres_dsn("payments"))
    assert message == f"idemctl.yaml:4:43: the password file {file} {fault}"


PASSWORDS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\n"), min_size=1
)


@given(
    st.sampled_from(
        [
            ("", None),
            ("host=h user=u", "u"),
            ("host=h user=u password=old", "u"),
            ("postgresql://u@h/db", "u"),
            ("postgresql://u:old@h/db?sslmode=require", "u"),
            ("postgresql://u:o?d@h/db", "u"),
            ("postgres:///db?user=u&password=old", "u"),
        ]
    ),
    PASSWORDS,
)
def test_libpq_reads_the_password_that_was_put_in(
    given: tuple[str, str | None], password: str
) -> None:
    dsn, user = given
    parsed = psycopg.conninfo.conninfo_to_dict(with_postgres_password(dsn, password))
    assert (parsed["password"], parsed.get("user")) == (password, user)


@given(
    st.sampled_from(
        [
            ("redis://h:6379/0", None),
            ("redis://h", None),
            ("redis://u@h?db=1", "u"),
            ("rediss://u:old@h:6380/1?password=older", "u"),
            ("unix:///run/redis.sock?db=0&password=old", None),
        ]
    ),
    PASSWORDS,
)
def test_redis_reads_the_password_that_was_put_in(
    given: tuple[str, str | None], password: str
) -> None:
    url, user = given
    parsed = parsed_url(with_redis_password(url, password))
    assert (parsed["password"], parsed.get("username")) == (password, user)
    before = parsed_url(url)
    for name in ("host", "port", "db", "path"):
        assert parsed.get(name) == before.get(name)


def parsed_url(url: str) -> dict[str, Any]:
    return dict(redis.connection.parse_url(url))  # type: ignore[no-untyped-call]


def test_settings_show_no_secret(load: Callable[..., Settings]) -> None:
    settings = load(CACHE_URL="redis://:canary@h", PGPASSWORD="canary")
    assert "canary" not in f"{settings} {settings!r} {settings.redis_url('payments')!r}"


def test_loading_settings_imports_no_driver(tmp_path: Path) -> None:
    (tmp_path / "idemctl.yaml").write_text(FULL)
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from idemctl.settings import Flags, load_settings\n"
        "settings = load_settings(Flags(), {'CACHE_URL': 'redis://h', 'HOME': '/'}, Path.cwd())\n"
        "assert str(settings.redis_url('payments')) == 'redis://h'\n"
        "assert not {'psycopg', 'redis', 'numpy'} & set(sys.modules)\n"
    )
    environ = {"PYTHONPATH": str(Path(__file__).parents[2])}
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path, env=environ)


REPLICATED = """\
version: 1
stores:
  payments:
    postgres: {direct_dsn_env: PG_DIRECT, password_file: pw, layout: bare}
    redis: {}
    replicas: {postgres: [{dsn_env: PG_EU, region: eu}, {dsn_env: PG_US}]}
  messages:
    redis: {}
  webhooks:
    postgres: {}
"""


def test_on_replicas_the_first_one_is_read_and_the_rest_stays(
    load: Callable[..., Settings],
) -> None:
    settings = load(REPLICATED, ("payments", "messages"), DATABASE_URL="primary", PG_EU="eu")
    read = settings.on_replicas()
    assert read.postgres_dsn("payments").reveal() == "eu"
    assert read.postgres_dsn("payments", direct=True).reveal() == "eu"
    assert read.stores["payments"].postgres is not None
    assert read.stores["payments"].postgres.layout == "bare"
    assert read.stores["messages"] == settings.stores["messages"]
    assert read.assumed == ("Rows of payments are read from a replica (PG_EU, eu).",)
    assert (settings.is_on_replicas, read.is_on_replicas) == (False, True)


def test_a_replica_that_leads_nowhere_is_named_with_its_place_in_the_file(
    load: Callable[..., Settings],
) -> None:
    read = load(REPLICATED, ("payments",), PGHOST="primary", DATABASE_URL="x").on_replicas()
    message, _ = refusal_of(lambda: read.postgres_dsn("payments"))
    assert message == (
        "idemctl.yaml:6:5: store 'payments' needs the environment variable PG_EU, which is not set"
    )


def test_a_store_without_a_replica_is_not_read_from_its_primary_instead(
    load: Callable[..., Settings],
) -> None:
    message, hint = refusal_of(load(REPLICATED).on_replicas)
    assert message == "idemctl.yaml:9:3: store 'webhooks' names no replica of its Postgres"
    assert hint == "add replicas: {postgres: [{dsn_env: NAME}]} to the store"

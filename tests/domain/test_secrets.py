"""Connection strings show themselves without their passwords."""

from __future__ import annotations

import pickle
import traceback

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idemctl.domain.secrets import Secret


@pytest.mark.parametrize(
    ("whole", "shown"),
    [
        ("postgresql://u:p%40ss@h", "postgresql://u:***@h"),
        ("postgresql://u:p:q@h:5432/db", "postgresql://u:***@h:5432/db"),
        ("postgres://u@h1:1,h2:2/db?sslmode=require", "postgres://u@h1:1,h2:2/db?sslmode=require"),
        ("postgresql://h/db?password=p&user=u", "postgresql://h/db?password=***&user=u"),
        ("postgresql:///db?host=%2Frun&Password=p", "postgresql://***"),
        ("postgresql:///db?host=%2Frun&sslpassword=p", "postgresql:///db?host=%2Frun&sslpassword=***"),
        ("postgresql://u:p@[::1]:5432/db", "postgresql://u:***@[::1]:5432/db"),
        ("postgresql://u:@h", "postgresql://u:***@h"),
        ("redis://:p@h:6379/0", "redis://:***@h:6379/0"),
        ("redis://h:6379/0", "redis://h:6379/0"),
        ("redis://p@h", "redis://***@h"),
        ("rediss://user:p@h:6380/1?db=2", "rediss://user:***@h:6380/1?db=2"),
        ("redis://h?password=p", "redis://h?password=***"),
        ("unix:///run/redis.sock?db=0&password=p", "unix:///run/redis.sock?db=0&password=***"),
        ("host=h user=u password='x y' dbname=d", "host=h user=u password=*** dbname=d"),
        ("host = h password = p", "host=h password=***"),
        (r"password='it\'s' host=h", "password=*** host=h"),
        (r"password=a\ b host=h", "password=*** host=h"),
        ("dbname=postgresql://u:p@h/d", "dbname=***"),
        ("", ""),
    ],
)  # fmt: skip
def test_the_password_is_hidden_and_the_rest_is_shown(whole: str, shown: str) -> None:
    secret = Secret(whole)
    assert str(secret) == f"{secret}" == shown
    assert repr(secret) == f"Secret({shown!r})"
    assert secret.reveal() == whole


@pytest.mark.parametrize(
    ("whole", "shown"),
    [
        ("postgresql://u:pa@ss@h/db", "postgresql://***"),
        ("postgresql://u:pa/ss@h/db", "postgresql://***"),
        ("postgresql://u:12/ss@h/db", "postgresql://***"),
        ("postgresql://u:pa?ss@h/db", "postgresql://***"),
        ("postgresql://u:pa ss@h/db", "postgresql://***"),
        ("postgresql://u:pass/db", "postgresql://***"),
        ("postgresql://u:p@h/db\n", "postgresql://***"),
        ("redis://:pa#ss@h", "redis://***"),
        ("redis://:pass", "redis://***"),
        ("rediss://h/0?pass", "rediss://***"),
        ("http://u:p@h", "***"),
        ("POSTGRESQL://u:p@h", "***"),
        ("hunter2", "***"),
        ("password=x y", "***"),
        ("password='x y", "***"),
        ("u:p@h:5432/db", "***"),
    ],
)
def test_in_doubt_only_the_scheme_is_shown(whole: str, shown: str) -> None:
    assert str(Secret(whole)) == shown


@given(
    st.sampled_from(
        [
            "postgresql://u:{}@h/db",
            "postgresql://h/db?password={}",
            "redis://:{}@h:6379/0",
            "rediss://user:{}@h",
            "host=h password={}",
            "host=h password='{}'",
        ]
    ),
    st.text(min_size=1),
    st.text(alphabet="@/?#:%&= '\\\n", max_size=3),
)
def test_no_password_is_ever_shown(form: str, text: str, odd: str) -> None:
    password = f"c4nary{odd}{text}c4nary"
    secret = Secret(form.format(password))
    assert "c4nary" in secret.reveal()
    assert "c4nary" not in str(secret)
    assert "c4nary" not in repr(secret)


def test_a_secret_reaches_another_process_whole() -> None:
    secret = pickle.loads(pickle.dumps(Secret("redis://:p@h")))  # noqa: S301 - Made one line above.
    assert secret.reveal() == "redis://:p@h"


def test_a_traceback_with_its_variables_shows_no_password() -> None:
    secret = Secret("redis://:canary@h")
    with pytest.raises(LookupError) as failure:
        look_up(secret)
    trace = traceback.TracebackException.from_exception(failure.value, capture_locals=True)
    shown = "".join(trace.format())
    assert "secret = Secret('redis://:***@h')" in shown
    assert "LookupError: redis://:***@h" in shown


def look_up(secret: Secret) -> None:
    raise LookupError(secret)

"""A connection string that shows itself without its password.

What is shown is allowed, not what is hidden forbidden: a string is taken apart only
when every piece of it has the form expected there, and of its parameters only those
known to be harmless keep their values. In doubt nothing but the scheme is shown, for
a password with an `@`, a `/` or a space in it makes every other piece suspect.
"""

from __future__ import annotations

import re

_HIDDEN = "***"
_SCHEMES = ("postgresql", "postgres", "rediss", "redis", "unix", "valkeys", "valkey")
_SCHEME = re.compile(rf"({'|'.join(_SCHEMES)})://")
_HOST = r"(?:\[[0-9A-Za-z:.%]+\]|[A-Za-z0-9._%-]+)?(?::[0-9]{1,5})?"
_URL = re.compile(
    rf"(?P<scheme>{'|'.join(_SCHEMES)})://"
    r"(?:(?P<user>[A-Za-z0-9._~%!$&'()*+,;=-]*)(?P<password>:[^@/?#\s]*)?@)?"
    rf"(?P<hosts>{_HOST}(?:,{_HOST})*)"
    r"(?P<path>/[A-Za-z0-9._~%/+=-]*)?"
    r"(?:\?(?P<query>[^@#\s]*))?"
)
_PARAMETER = re.compile(r"(?P<name>[a-z_]+)=(?P<value>[^&=]*)")
_KEYWORD = re.compile(
    r"\s*(?P<name>[a-z_]+)\s*=\s*(?P<value>'(?:[^'\\]|\\.)*'|(?:[^\s'\\]|\\.)*)(?=\s|$)",
    re.DOTALL,
)
_SHOWN_PARAMETERS = frozenset(
    {
        "application_name",
        "connect_timeout",
        "db",
        "dbname",
        "host",
        "hostaddr",
        "port",
        "service",
        "sslmode",
        "target_session_attrs",
        "user",
    }
)
_HARMLESS_VALUE = re.compile(r"[A-Za-z0-9._/%,-]*")


class Secret:
    """A connection string: `str` and `repr` show it redacted, `reveal` gives it whole."""

    __slots__ = ("_whole",)

    def __init__(self, whole: str) -> None:
        self._whole = whole

    def reveal(self) -> str:
        """Give the whole string, for a driver and nothing else."""
        return self._whole

    def __str__(self) -> str:
        return _redacted(self._whole)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._whole == self._whole

    def __hash__(self) -> int:
        return hash(self._whole)

    def __repr__(self) -> str:
        return f"Secret({_redacted(self._whole)!r})"


def _redacted(whole: str) -> str:
    url = _URL.fullmatch(whole)
    shown = _redacted_url(url) if url else _redacted_keywords(whole)
    if shown is not None:
        return shown
    scheme = _SCHEME.match(whole)
    return f"{scheme[0]}{_HIDDEN}" if scheme else _HIDDEN


def _redacted_url(url: re.Match[str]) -> str | None:
    query = _redacted_query(url["query"])
    if query is None:
        return None
    user = url["user"] or ""
    if url["password"] is not None:
        user += f":{_HIDDEN}"
    elif user and not url["scheme"].startswith("postgres"):
        # `redis://hunter2@host` is how many write a password, though it means a user.
        user = _HIDDEN
    return (
        f"{url['scheme']}://{user}{'@' if url['user'] is not None else ''}"
        f"{url['hosts']}{url['path'] or ''}{query}"
    )


def _redacted_query(query: str | None) -> str | None:
    if not query:
        return ""
    parameters = [_PARAMETER.fullmatch(part) for part in query.split("&")]
    if not all(parameters):
        return None
    return "?" + "&".join(_redacted_parameter(part) for part in parameters if part)


def _redacted_keywords(whole: str) -> str | None:
    """Redact libpq's `host=h password='x y'`; None when it does not parse to its end."""
    shown = []
    at = 0
    while at < len(whole.rstrip()):
        keyword = _KEYWORD.match(whole, at)
        if keyword is None:
            return None
        shown.append(_redacted_parameter(keyword))
        at = keyword.end()
    return " ".join(shown)


def _redacted_parameter(parameter: re.Match[str]) -> str:
    name, value = parameter["name"], parameter["value"]
    harmless = name in _SHOWN_PARAMETERS and _HARMLESS_VALUE.fullmatch(value)
    return f"{name}={value if harmless else _HIDDEN}"

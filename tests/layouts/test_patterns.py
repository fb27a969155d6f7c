"""Patterns that strangers write: none may take forever, whatever a name holds."""

from __future__ import annotations

import multiprocessing
import re
import time

import pytest

from idemctl.bootstrap.layouts import preset, preset_files
from idemctl.layouts.patterns import LONGEST_NAME, compiled, matching

ENDLESS = [
    "(?P<key>(a+)+)b",
    "(?P<key>(a*)*)b",
    "(?P<key>(a|a)*)b",
    "(?P<key>(a|ab|b)*)c",
    "(?P<key>(?:.+:)*)x",
    "(?P<key>([a-z]+[a-z0-9]*)+):",
    r"(?P<key>(\w+\s?)*)!",
    "(?P<key>(?:a?a?)*)b",
    "(?P<key>(a{1,30}){1,30})b",
    "(?P<key>((ab)+a?)*)c",
    "(?P<key>(?i:A+|a)*)b",
    "(?P<key>(?:(?=.*x).)*)y",
    "(?P<key>(?>(a+)+)*)b",
]
LONG = [
    "(?P<key>.+).+.+x",
    "(?P<scope>.+):(?P<endpoint>.+):(?P<key>.+)",
    "(?P<key>a*a*a*)b",
    "(?P<key>.{0,99}.{0,99}.{0,99})x",
    r"(?P<key>.+)(.+)\1x",
    "(?i)(?P<key>[a-z]+[A-Z]+[a-z]+)1",
]
FINE = [
    "(?P<key>.+)",
    "(?:(?P<scope>[^:]+):)?(?P<key>.+)",
    "(?P<key>.+):user:(?P<scope>[^:]+)",
    "(?P<scope>[^:]+):(?P<endpoint>[^:]+):(?P<key>.+)",
    "(?:[^:]+:)*(?P<key>[^:]+)",
    "(?:[0-9a-f]+-){4}(?P<key>[0-9a-f]+)",
    "(?:saga|webhook|worker):(?P<key>.+)",
    "(?:(?:GET|POST) )+(?P<key>/.*)",
    "(?P<key>(?>a+)b)",
    "(?P<key>[a-z]++[a-z0-9]*)",
    r"(?P<key>\d{4}-\d{2}(-\d{2})?)",
    "(?!.*:LOCKED$)(?P<key>.+)",
    "(?i)(?P<key>[a-z]+):x",
    r"(?P<key>\xac\xed.*)",
    # The engine reads this as one set, too.
    "(?P<key>(a|[ab])+)c",
]
NONE = [
    ("(?P<key>", "is no regular expression"),
    ("(?P<key>x{2,1})", "is no regular expression"),
    ("(?P<key>x{99999999999})", "asks for too much"),
    ("(" * 499 + "x" + ")" * 499, "asks for too much"),
    ("x" * 1001, "is longer than 1,000 characters"),
]
EVIL = [b"a" * 4000 + b"!", b"ab" * 2000, b":" * 4000, b"a:" * 2000, b"0" * 4000, b"a" * 4096]
DEADLINE = 10.0


@pytest.mark.parametrize("text", ENDLESS)
def test_what_can_take_forever_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="may take forever"):
        compiled(text)


@pytest.mark.parametrize("text", LONG)
def test_what_can_take_long_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="may take long"):
        compiled(text)


@pytest.mark.parametrize("text", FINE)
def test_what_is_fine_is_done_at_once_whatever_the_name(text: str) -> None:
    assert compiled(text).groupindex["key"]
    match, started = matching(text), time.perf_counter()
    for name in EVIL:
        match(name)
    assert time.perf_counter() - started < DEADLINE


@pytest.mark.parametrize(("text", "says"), NONE)
def test_what_is_no_pattern_is_refused(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        compiled(text)


def _run(text: str, name: bytes) -> None:
    re.compile(text.encode(), re.DOTALL).fullmatch(name)


@pytest.mark.parametrize("text", ["(?P<key>(a+)+)b", "(?P<key>(a|a)*)b"])
def test_what_is_refused_would_indeed_take_forever(text: str) -> None:
    process = multiprocessing.get_context("spawn").Process(target=_run, args=(text, b"a" * 64))
    process.start()
    process.join(2.0)
    assert process.is_alive()
    process.kill()
    process.join()


def test_a_name_that_is_too_long_is_none_that_a_library_writes() -> None:
    match = matching("(?P<key>.+)", 2)
    assert match(b"p:" + b"k" * (LONGEST_NAME - 2)) is not None
    assert match(b"p:" + b"k" * (LONGEST_NAME - 1)) is None


def test_no_layout_that_comes_along_is_refused() -> None:
    sides = [side for name in preset_files() if (side := preset(name).redis) is not None]
    texts = [one for side in sides for one in (side.key, side.lock, side.beside) if one]
    assert len(list(map(compiled, texts))) > len(sides)

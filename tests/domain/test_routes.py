"""Routes: what a template matches, which of several counts, and which get in each other's way."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idemctl.domain.routes import Relation, meetings, most_specific, parse_route

if TYPE_CHECKING:
    from collections.abc import Iterator

    from idemctl.domain.routes import Route

UUID = "0b8e1cb2-7e43-4c6e-a6d9-6f5c1f1d2a3b"
TEXTS = st.text("a1.+-", max_size=3)
FORMS = st.sampled_from(["", ":str", ":int", ":float", ":uuid", ":path"])
VALUES = st.one_of(
    st.text("a1.+-/", max_size=4), st.sampled_from([UUID, UUID.replace("-", ""), "12", "1.5"])
)


def route(text: str) -> Route:
    parsed = parse_route(text)
    assert parsed is not None
    return parsed


@st.composite
def templates(draw: st.DrawFn) -> str:
    """A template: text and parameters by turns, slashes among them."""
    written = "/" + draw(TEXTS)
    for number in range(draw(st.integers(0, 3))):
        glue = draw(st.sampled_from(["/", "", "-"])) + draw(TEXTS)
        written += f"{{p{number}{draw(FORMS)}}}{glue}"
    return written


def parts(template: str) -> list[str]:
    """Text at even places, forms at odd ones."""
    return [
        piece.rpartition(":")[2] if at % 2 and ":" in piece else "str" if at % 2 else piece
        for at, piece in enumerate(re.split(r"[{}]", template))
    ]


def fits(form: str, text: str) -> bool:
    """What Starlette's convertors take, said without an expression."""
    digits = set("0123456789")
    if form == "path":
        return True
    if form == "str":
        return text != "" and "/" not in text
    if form == "int":
        return text != "" and set(text) <= digits
    if form == "float":
        whole, dot, rest = text.partition(".")
        return fits("int", whole) and (not dot or fits("int", rest))
    return any(text == variant for variant in uuids(text.replace("-", "")))


def uuids(hexes: str) -> Iterator[str]:
    """Every way of writing a UUID: each of four hyphens there or not."""
    if len(hexes) == 32 and set(hexes) <= set("0123456789abcdefABCDEF"):
        groups = [hexes[:8], hexes[8:12], hexes[12:16], hexes[16:20], hexes[20:]]
        for glue in itertools.product(("", "-"), repeat=4):
            yield "".join(itertools.chain(*zip(groups, (*glue, ""), strict=True)))


def expected(pieces: list[str], path: str) -> bool:
    """Starlette's `compile_path` as its documentation tells it, by trying every length."""
    text, *more = pieces
    if not path.startswith(text):
        return False
    rest = path.removeprefix(text)
    if not more:
        return rest == ""
    form, *after = more
    return any(
        fits(form, rest[:end]) and expected(after, rest[end:]) for end in range(len(rest) + 1)
    )


@given(st.data())
def test_a_template_matches_what_starlette_says_it_matches(data: st.DataObject) -> None:
    template = data.draw(templates())
    filled = re.sub(r"{[^}]*}", lambda _: data.draw(VALUES), template)
    for path in (filled, data.draw(st.text("a1.+-/", max_size=8)), template):
        assert route(f"POST {template}").matches("POST", path) is expected(parts(template), path)


@pytest.mark.parametrize(
    ("template", "path", "matches"),
    [
        ("/v1/charges", "/v1/charges", True),
        ("/v1/charges", "/v1/charges/", False),
        ("/v1/{id}", "/v1/a/b", False),
        ("/v1/{id}", "/v1/", False),
        ("/v1/{rest:path}", "/v1/a/b", True),
        ("/v1/{rest:path}", "/v1/", True),
        ("/v1/{n:int}", "/v1/12", True),
        ("/v1/{n:int}", "/v1/-12", False),
        ("/v1/{n:float}", "/v1/1.", False),
        ("/v1/idem-{id:uuid}", f"/v1/idem-{UUID}", True),
        ("/v1/{id}:cancel", "/v1/x:cancel", True),
        ("/a.b", "/axb", False),
    ],
)
def test_a_template_matches_a_path(template: str, path: str, *, matches: bool) -> None:
    assert route(f"POST {template}").matches("POST", path) is matches
    assert not route(f"POST {template}").matches("PUT", path)


@pytest.mark.parametrize(
    "first",
    ["/v1/{a}/refund", "/v1/me", "/v1/x-{a}", "/v1/{a:uuid}", "/v1/{a:int}", "/v1/{a:float}"],
)
def test_the_most_specific_counts_in_whatever_order_they_stand(first: str) -> None:
    others = ["/v1/{a}", "/v1/{rest:path}", "/{rest:path}", "/{a}/{b}"]
    path = {"/v1/{a:uuid}": f"/v1/{UUID}"}.get(first, re.sub(r"{[^}]*}", "12", first))
    for order in itertools.permutations([first, *others]):
        found = most_specific([route(f"POST {one}") for one in order], "POST", path)
        assert found is not None
        assert found.template == first


def test_where_nothing_matches_nothing_counts() -> None:
    assert most_specific([route("POST /a")], "GET", "/a") is None


@pytest.mark.parametrize(
    ("one", "other", "relation"),
    [
        ("/a/{x}", "/a/{y}", Relation.SAME),
        ("/a/{x}/b", "/a/{y:str}/b", Relation.SAME),
        ("/a/{x}", "/a/me", Relation.NESTED),
        ("/a/{x:path}", "/a/{x}/b", Relation.NESTED),
        ("/a/{x:int}", "/a/{x}", Relation.NESTED),
        ("/a/{x}.json", "/a/b{x}.json", Relation.NESTED),
        ("/{x}/b", "/a/{y}", Relation.CROSSED),
        ("/a/{x}.json", "/a/b{x}", Relation.CROSSED),
        ("/a/b", "/a/c", None),
        ("/a/{x}", "/a", None),
        ("/a/{x:int}", "/a/me", None),
        ("/a/{x:int}", "/a/{x:uuid}", None),
        ("/a/x{x}", "/a/y{x}", None),
    ],
)
def test_two_routes_stand_to_each_other_like_this(
    one: str, other: str, relation: Relation | None
) -> None:
    for first, second in ((one, other), (other, one)):
        met = list(meetings([route(f"POST {first}"), route(f"POST {second}")]))
        assert [a.relation(b) for a, b in met] == ([] if relation is None else [relation])


@given(templates(), templates(), st.data())
def test_two_routes_that_match_one_path_meet(one: str, other: str, data: st.DataObject) -> None:
    routes = [route(f"POST {one}"), route(f"POST {other}")]
    path = re.sub(r"{[^}]*}", lambda _: data.draw(VALUES), one)
    if all(each.matches("POST", path) for each in routes):
        assert list(meetings(routes)) == [tuple(routes)]


def test_routes_of_two_methods_never_meet() -> None:
    assert list(meetings([route("POST /a"), route("PUT /a")])) == []


@pytest.mark.parametrize("label", ["charges", "post /v1", "POST", "POST v1", "POST /a b", "zoë"])
def test_another_word_is_a_label_and_no_route(label: str) -> None:
    assert parse_route(label) is None


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("/{a}/{a}", "{a} stands twice"),
        ("/{a", "a brace that begins or ends"),
        ("/{1}", "a brace that begins or ends"),
        ("/a}", "a brace that begins or ends"),
        ("/{a:slug}", "known are uuid, int, float, str, path"),
    ],
)
def test_a_path_that_is_no_template_is_told(template: str, says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        parse_route(f"POST {template}")

"""What the layouts that come with idemctl show."""

from __future__ import annotations

import pytest

from idemctl.documents import parse_document, read_model, shipped
from idemctl.domain.sight import Sight
from idemctl.layouts.model import Layout
from idemctl.layouts.sight import sight_of

LAYOUTS = {
    layout.layout: layout
    for layout in (
        read_model(parse_document(file.read_bytes(), file=file.name), Layout)
        for file in shipped("layouts/presets")
    )
}
WHOLE = {
    Sight.STATUS, Sight.LEASE, Sight.FINGERPRINT, Sight.ENDPOINT, Sight.CLIENT, Sight.SCOPE,
    Sight.RESPONSE, Sight.HEADERS, Sight.EXPIRY, Sight.AGE, Sight.VERSION,
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "engine", "sight"),
    [
        ("reference", "postgres", WHOLE),
        ("reference", "redis", WHOLE | {Sight.KEY_TTL}),
        # Where every row is completed, none tells of work that is under way.
        ("bare", "postgres", {Sight.AGE}),
        ("bare", "redis", {Sight.KEY_TTL}),
        (
            "url-path",
            "redis",
            {Sight.STATUS, Sight.ENDPOINT, Sight.RESPONSE, Sight.AGE, Sight.KEY_TTL},
        ),
        ("body-hash", "redis", {Sight.SCOPE, Sight.FINGERPRINT, Sight.KEY_TTL}),
        ("workflow", "postgres", {Sight.STATUS, Sight.DUE, Sight.AGE, Sight.STEPS}),
        ("outbox", "postgres", {Sight.STATUS, Sight.DUE, Sight.AGE, Sight.ORDER}),
    ],
)
def test_a_layout_shows_what_it_names(name: str, engine: str, sight: set[Sight]) -> None:
    assert sight_of(getattr(LAYOUTS[name], engine)) == sight


def test_a_child_without_steps_shows_none() -> None:
    side = LAYOUTS["workflow"].postgres
    assert side is not None
    assert side.child is not None
    for missing in ({"step": None}, {"done": None}):
        child = side.child.model_copy(update=missing)
        assert Sight.STEPS not in sight_of(side.model_copy(update={"child": child}))


def test_a_part_of_the_key_is_seen_by_its_name_and_other_names_mean_nothing() -> None:
    side = LAYOUTS["body-hash"].redis
    assert side is not None
    other = side.model_copy(update={"key": "(?P<window>[0-9]+):(?P<key>.+)"})
    assert sight_of(other) == {Sight.FINGERPRINT, Sight.KEY_TTL}

"""How twins are written from rows, and what is refused because it would lose something."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from idemctl.domain.records import Status
from idemctl.errors import Unsupported
from idemctl.layouts.codecs import FLAG, JSON, Word
from idemctl.layouts.conditions import Is, Missing
from idemctl.layouts.containers import Container
from idemctl.layouts.instants import At, Unit
from idemctl.layouts.sides import Statuses
from idemctl.layouts.transcript import Instant, Member, Transcript, Value, transcript
from tests.stores.worlds import CATALOGUE

if TYPE_CHECKING:
    from idemctl.layouts.codecs import Steps
    from idemctl.layouts.model import PostgresLayout, RedisLayout

TO_THEM = "twins cannot be written from rows: "
NAME_THEM = "name the columns in the layout, or leave the members out of it"
REPORTS = "idemctl reconcile without --apply reports the differences all the same"


def table(name: str = "reference", **changes: Any) -> PostgresLayout:
    side = CATALOGUE[name].postgres
    assert side is not None
    return side.model_copy(update=changes)


def keyspace(name: str = "reference", **changes: Any) -> RedisLayout:
    side = CATALOGUE[name].redis
    assert side is not None
    return side.model_copy(update=changes)


def refusal(postgres: PostgresLayout, redis: RedisLayout) -> tuple[str, str | None]:
    with pytest.raises(Unsupported) as caught:
        transcript(postgres, redis)
    return caught.value.message, caught.value.hint


def test_a_reference_twin_holds_the_whole_record() -> None:
    made = transcript(table(), keyspace())
    assert made.words == {
        Status.IN_PROGRESS: "in_progress",
        Status.COMPLETED: "completed",
        Status.FAILED: "failed",
    }
    assert {member.name: member.source for member in made.members} == {
        "key": Value("idempotency_key"),
        "scope": Value("scope"),
        "endpoint": Value("endpoint"),
        "client": Value("client"),
        "fingerprint": Value("fingerprint"),
        "fence": Value("fence"),
        "epoch": Value("epoch"),
        "response_status": Value("response_status"),
        "response_headers": Value("response_headers"),
        "response_body": Value("response_body"),
        "lease_until": Instant("lease_until"),
        "created_at": Instant("counted_from"),
        "completed_at": Instant("completed_at"),
        "expires_at": Instant("expires_at"),
        "status": None,
    }
    assert len(made.members) == 15
    assert sorted(made.columns) == [
        "client", "endpoint", "epoch", "fence", "fingerprint", "idempotency_key",
        "response_body", "response_headers", "response_status", "scope",
    ]  # fmt: skip


def test_a_bare_twin_is_a_flag_whatever_the_row_holds() -> None:
    for rows in ("bare", "reference", "workflow"):
        made = transcript(table(rows), keyspace("bare"))
        assert made == Transcript()
        assert (made.members, made.columns) == ((), [])


def test_the_columns_and_members_of_two_layouts_may_have_other_names() -> None:
    rows = table(fence="version", counted_from=At(field="born"))
    made = transcript(rows, keyspace(fence="f", counted_from=At(field="c"), unit=Unit.SECONDS))
    assert Member(name="f", source=Value("version")) in made.members
    assert Member(name="c", source=Instant("counted_from", Unit.SECONDS)) in made.members


def test_what_the_twin_does_not_hold_no_column_needs_to_keep() -> None:
    less: dict[str, Any] = dict.fromkeys(("client", "response_headers", "response_body", "lease"))
    made = transcript(table(**less), keyspace(**less))
    names = {member.name for member in made.members}
    assert len(names) == 11
    assert not names & {"client", "response_headers", "response_body", "lease_until"}


@pytest.mark.parametrize(
    "part",
    [
        "scope", "endpoint", "client", "fingerprint", "fence", "epoch", "response_status",
        "response_headers", "response_body", "lease", "counted_from", "completed", "expires",
    ],
)  # fmt: skip
def test_a_member_that_no_column_keeps_is_refused_by_name(part: str) -> None:
    said = f"{TO_THEM}no column keeps {part}"
    less: dict[str, Any] = {part: None}
    assert refusal(table(**less), keyspace()) == (said, NAME_THEM)


def test_all_members_that_no_column_keeps_are_named() -> None:
    message, hint = refusal(table("bare"), keyspace())
    assert message == (
        f"{TO_THEM}no column keeps scope, endpoint, client, fingerprint, fence, epoch, "
        "response_status, response_headers, response_body, lease, completed, expires"
    )
    assert hint == NAME_THEM


@pytest.mark.parametrize("codec", [FLAG, JSON])
def test_what_is_more_than_a_key_and_its_value_is_refused(codec: Any) -> None:
    held = {"codec": codec, "container": Container.HASH_FIELD}
    assert refusal(table("bare"), keyspace(**held))[0] == f"{TO_THEM}one key holds all of them"
    beside = {"codec": codec, "siblings": {"code": "{key}-code"}}
    assert refusal(table("bare"), keyspace(**beside))[0] == f"{TO_THEM}each of them is several keys"


def says(value: str | int, field: str = "status") -> Is:
    return Is.model_validate({"field": field, "is": value})


def by_null(**more: Any) -> Statuses:
    return Statuses(
        in_progress=Missing(field="response_status", missing=True),
        completed=Missing(field="response_status", missing=False),
        **more,
    )


@pytest.mark.parametrize(
    "status",
    [
        by_null(),
        by_null(failed=says("failed")),
        Statuses(completed=says("yes", "done"), failed=says("yes", "broken")),
        "unknown",
    ],
    ids=["by null", "by null and value", "two fields", "unknown"],
)
def test_a_status_that_no_one_word_tells_is_refused(status: Any) -> None:
    message, hint = refusal(table(), keyspace(status=status))
    assert message == f"{TO_THEM}their status is told by more than one value"
    assert hint == REPORTS


@pytest.mark.parametrize(
    ("rows", "words", "wordless"),
    [
        (table(), ("in_progress", "completed"), "failed"),
        (table(), ("completed",), "in_progress, failed"),
        (table(status="unknown"), ("in_progress", "completed", "failed"), "unknown"),
    ],
    ids=["one", "two", "presence"],
)
def test_a_status_that_the_twin_has_no_word_for_is_refused_by_name(
    rows: PostgresLayout, words: tuple[str, ...], wordless: str
) -> None:
    known = Statuses(**{word: says(word) for word in words})
    message, hint = refusal(rows, keyspace(status=known))
    assert message == f"{TO_THEM}they have no word for {wordless}"
    assert hint == REPORTS


def test_words_that_no_row_needs_are_no_loss() -> None:
    rows = table(status=Statuses(completed=says("done")))
    assert transcript(rows, keyspace()).words[Status.COMPLETED] == "completed"


def test_a_word_is_written_as_the_layout_writes_it() -> None:
    # As text all three are equal, but the application may not take a text for a number.
    known = Statuses(in_progress=says(0), completed=says(True), failed=says("2"))
    words = transcript(table(), keyspace(status=known)).words
    assert [words[one] for one in sorted(words)] == [0, True, "2"]
    assert [type(words[one]) for one in sorted(words)] == [int, bool, str]


def test_a_member_that_means_two_things_is_refused() -> None:
    # A claim's lease would be written over by its expiry.
    message, hint = refusal(table(), keyspace(lease=At(field="until"), expires=At(field="until")))
    assert message == f"{TO_THEM}until would hold two columns at once"
    assert hint == REPORTS
    # Where both are one column, they are no two things.
    rows = table(response_headers="response_body")
    made = transcript(rows, keyspace(response_headers="response_body"))
    assert Member(name="response_body", source=Value("response_body")) in made.members


@pytest.mark.parametrize(
    ("codec", "says"),
    [((Word.PHP,), "their values are opaque"), ((Word.GZIP, Word.JSON), "they are not plain JSON")],
)
def test_only_plain_json_and_flags_are_written(codec: Steps, says: str) -> None:
    assert refusal(table(), keyspace(codec=codec)) == (f"{TO_THEM}{says}", REPORTS)


@pytest.mark.parametrize(
    "lease", [At(field="l", unit=Unit.ISO), At(field="l", plus=timedelta(seconds=9))]
)
def test_an_instant_that_is_no_plain_number_is_not_written(lease: At) -> None:
    message, _ = refusal(table(), keyspace(lease=lease))
    assert message == f"{TO_THEM}lease is no number of units"


def test_a_nested_member_is_not_written() -> None:
    message, _ = refusal(table(), keyspace(response_status=("response", "status")))
    assert message == f"{TO_THEM}they are nested"

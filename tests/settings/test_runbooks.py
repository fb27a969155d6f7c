"""Runbook files: what they may say, and where it is said what is wrong with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from idemctl.cli.verbs import books
from idemctl.documents import InvalidDocument, parse_document
from idemctl.domain.runbooks import Condition, Kind
from idemctl.errors import ExitStatus
from idemctl.settings.runbooks import book_in

if TYPE_CHECKING:
    from idemctl.domain.runbooks import Book

FLAGS = {"diagnose": frozenset[str](), "reconcile": frozenset({"--apply"})}
BOOK = """\
version: 1
id: flush
title: Redis was flushed
failure_mode: store-data-loss
meaning: It is empty.
impact: Slower.
applies_when:
  - {fact: signs, ge: 1}
  - {fact: verdict, in: [flushed, suspected]}
steps:
  - id: know
    title: Know
    note: It is empty.
    why: So that you know.
  - id: refill
    title: Refill
    action: reconcile --apply
    why: It is empty.
  - id: proof
    title: Proof
    check: reconcile
    expect:
      status: [ok, not recovered]
      facts: [{fact: missing, eq: 0}]
    why: It may be empty.
  - id: call
    title: Call
    manual: Call them.
    when: [{fact: loading, eq: false}]
    why: They want to know.
"""


def read(text: str) -> Book:
    return book_in(parse_document(text, file="flush.yaml"), FLAGS)


def test_a_book_says_when_it_applies_and_what_to_do() -> None:
    book = read(BOOK)
    assert (book.id, book.failure_mode) == ("flush", "store-data-loss")
    assert book.applies_when == (
        Condition(fact="signs", comparison="ge", value=1),
        Condition(fact="verdict", comparison="in", value=("flushed", "suspected")),
    )
    know, refill, proof, call = book.steps
    assert (know.kind, know.text) == (Kind.NOTE, "It is empty.")
    assert (refill.kind, refill.words) == (Kind.ACTION, ("reconcile", "--apply"))
    assert proof.kind is Kind.CHECK
    assert proof.statuses == (ExitStatus.OK, ExitStatus.NOT_RECOVERED)
    assert proof.expects == (Condition(fact="missing", comparison="eq", value=0),)
    assert call.kind is Kind.MANUAL
    assert call.when == (Condition(fact="loading", comparison="eq", value=False),)


@pytest.mark.parametrize(
    ("said", "instead", "problem"),
    [
        ("version: 1", "version: 2", "flush.yaml:1:10: version: must be 1, not 2"),
        ("title: Redis", "titel: Redis", "flush.yaml:3:1: the field 'titel' is unknown"),
        ("{fact: signs, ge: 1}", "{fact: signs}", "flush.yaml:8:5: applies_when.0: compares a"),
        ("ge: 1}", "ge: 1, lt: 3}", "flush.yaml:8:5: applies_when.0: compares a fact once"),
        ("ge: 1}", "ge: many}", "flush.yaml:8:23: applies_when.0.ge: "),
        ("ge: 1}", "like: 1}", "flush.yaml:8:19: applies_when.0: the field 'like' is unknown"),
        (
            "action: reconcile --apply",
            "action: rm -rf /",
            "flush.yaml:17:13: steps.1.action: is no verb of a runbook; write one of diagnose",
        ),
        (
            "action: reconcile --apply",
            "action: reconcile --apply; true",
            "flush.yaml:17:13: steps.1.action: reconcile takes flags of its own: --apply",
        ),
        (
            "action: reconcile --apply",
            "action: reconcile",
            "flush.yaml:17:13: steps.1.action: an action changes something, so it needs --apply",
        ),
        (
            "check: reconcile",
            "check: reconcile --apply",
            "flush.yaml:21:12: steps.2.check: a check changes nothing; write it as an action",
        ),
        (
            "status: [ok, not recovered]",
            "status: [fine]",
            "flush.yaml:23:16: steps.2.expect.status.0: is no exit status",
        ),
        ("manual: Call them.", "manual: ''", "steps.3.manual: must not be empty"),
        ("    note: It is empty.\n", "", "flush.yaml:11:5: steps.0: is of one kind: note, check"),
        (
            "    note: It is empty.",
            "    note: It is empty.\n    expect: {}",
            "flush.yaml:11:5: steps.0: only a check expects something",
        ),
        ("id: refill", "id: know", "flush.yaml:11:3: steps: two steps have the id know"),
        ("id: refill", "id: Refill it", "flush.yaml:15:9: steps.1.id: "),
    ],
)
def test_what_is_wrong_is_named_with_its_place(said: str, instead: str, problem: str) -> None:
    assert said in BOOK
    with pytest.raises(InvalidDocument) as caught:
        read(BOOK.replace(said, instead, 1))
    assert any(problem in str(one) for one in caught.value.problems)


def test_the_shipped_books_are_valid_and_each_has_its_own_name() -> None:
    shelf = books()
    assert [book.id for book in shelf] == ["store-data-loss"]
    for book in shelf:
        kinds = [step.kind for step in book.steps]
        proofs = kinds[kinds.index(Kind.ACTION) :]
        assert Kind.CHECK in proofs
        assert all(step.why and step.title for step in book.steps)

"""audit asks the witness: a finding by two signs, and no finding by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.cli.pairs import Pairs

CODES = ("redis-flushed", "redis-restored", "postgres-restored", "both-restored")
ONE = ("--store", "payments", "--pace", "full")


def audit(pairs: Pairs) -> tuple[int, list[str], dict[str, Any]]:
    words = [word for code in CODES for word in ("--check", code)]
    done = pairs.place.main("audit", *ONE, *words, "-o", "json")
    return done.status, [one["code"] for one in done.document["items"]], done.summary


def test_a_flush_is_a_finding_and_a_removed_key_is_none(pairs: Pairs) -> None:
    status, codes, summary = audit(pairs)
    assert (status, codes) == (0, [])
    assert "no witness yet" in str(summary)

    assert pairs.place.main("store", "beat", "--apply", *ONE).status == 0
    status, codes, summary = audit(pairs)
    assert (status, codes) == (0, [])
    assert "no witness yet" not in str(summary)

    pairs.client.delete("idemctl:{payments}:witness")
    status, codes, summary = audit(pairs)
    assert (status, codes) == (0, [])
    assert "the witness is one sign, and stands alone" in str(summary)

    pairs.client.flushall()
    status, codes, _ = audit(pairs)
    assert (status, codes) == (3, ["redis-flushed"])

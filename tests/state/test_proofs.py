"""Proofs on disk: the newest of a claim counts, and what is no proof says nothing."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from idemctl.domain.proofs import Claim, Proof
from idemctl.errors import ConfigError
from idemctl.state.folder import StateFolder
from idemctl.state.proofs import Proofs

if TYPE_CHECKING:
    from pathlib import Path

CLAIM = Claim(store="keys", engine="postgres", where="public.keys", digest="d" * 64)
PROOF = Proof(
    claim=CLAIM, place="postgres public.keys", at=datetime(2026, 11, 29, tzinfo=UTC), records=7,
    holds=True,
)  # fmt: skip


@pytest.fixture
def proofs(tmp_path: Path) -> Proofs:
    return Proofs(StateFolder(tmp_path / "state"))


def test_the_newest_proof_of_a_claim_is_found_as_it_was_kept(proofs: Proofs) -> None:
    assert proofs.newest(CLAIM) is None
    proofs.add(PROOF)
    assert proofs.newest(CLAIM) == PROOF
    failed = replace(PROOF, holds=False, records=0)
    proofs.add(failed)
    proofs.add(replace(PROOF, claim=replace(CLAIM, store="other")))
    assert proofs.newest(CLAIM) == failed


@pytest.mark.parametrize(
    "other", [{"store": "x"}, {"engine": "redis"}, {"where": "x"}, {"digest": "e" * 64}]
)
def test_a_proof_of_something_else_is_none(proofs: Proofs, other: dict[str, str]) -> None:
    proofs.add(replace(PROOF, claim=replace(CLAIM, **other)))
    assert proofs.newest(CLAIM) is None


def test_nobody_else_may_read_or_write_the_file(proofs: Proofs, tmp_path: Path) -> None:
    proofs.add(PROOF)
    assert (tmp_path / "state/proofs.jsonl").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700


def test_lines_that_are_no_proof_are_passed_over(proofs: Proofs, tmp_path: Path) -> None:
    proofs.add(PROOF)
    file = tmp_path / "state/proofs.jsonl"
    whole = file.read_bytes()
    hostile = [
        b"", b"{}", b"null", b"[]", b"\xff\xfe", b"[" * 100_000, b'{"claim":',
        whole.strip()[:-1],
        whole.strip().replace(b"true", b'"yes"'),
        whole.strip().replace(b'"records":7', b'"records":"many"'),
        whole.strip().replace(b"2026-11-29T00:00:00Z", b"2026-11-29T00:00:00"),
        whole.strip().replace(b"2026-11-29T00:00:00Z", b"soon"),
    ]  # fmt: skip
    assert all(line != whole.strip() for line in hostile)
    file.write_bytes(whole + b"\n".join([*hostile, b""]))
    assert proofs.newest(CLAIM) == PROOF
    # Alone they prove nothing; and a line that was cut off was never written.
    file.write_bytes(b"\n".join([*hostile, whole.strip()]))
    assert proofs.newest(CLAIM) is None
    # What comes after it is no part of it.
    proofs.add(replace(PROOF, records=8))
    found = proofs.newest(CLAIM)
    assert found is not None
    assert found.records == 8


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="state folder"):
        Proofs(StateFolder(tmp_path / "file")).add(PROOF)

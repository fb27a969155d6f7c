"""Proofs on disk: on which stores layouts were tried, and whether they read them rightly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from idemctl.domain.proofs import Proof

if TYPE_CHECKING:
    from idemctl.domain.proofs import Claim
    from idemctl.state.folder import StateFolder

_FILE = "proofs.jsonl"


class Proofs:
    """Keeps what came of tries, one line each, and finds the newest."""

    def __init__(self, folder: StateFolder) -> None:
        self._folder = folder

    def add(self, proof: Proof) -> None:
        """Keep what came of a try.

        Raises:
            ConfigError: the folder cannot be written.
        """
        self._folder.append(_FILE, msgspec.json.encode(proof))

    def newest(self, claim: Claim) -> Proof | None:
        """Find what came of the last try of a claim.

        Raises:
            ConfigError: the file is there, and cannot be read.
        """
        for line in reversed(self._folder.lines(_FILE)):
            try:
                proof = msgspec.json.decode(line, type=Proof)
            except (ValueError, RecursionError):
                # What a crash or a stranger left of a line says nothing.
                continue
            # An instant without its zone cannot be compared.
            if proof.claim == claim and proof.at.tzinfo is not None:
                return proof
        return None

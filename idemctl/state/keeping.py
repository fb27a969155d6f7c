"""Witness and freeze in the state folder: what this host saw last, and its own kill switch."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from idemctl.domain import freezes, witness
from idemctl.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from idemctl.domain.freezes import Freeze
    from idemctl.domain.witness import Witness
    from idemctl.state.folder import StateFolder

T = TypeVar("T")


class FolderKeeping:
    """See `stores.keeping.Keeps`."""

    def __init__(self, folder: StateFolder, store: str) -> None:
        self.place = f"state folder {folder.root}"
        self._folder = folder
        self._witness = f"witnesses/{store}.json"
        self._freeze = f"freezes/{store}.json"

    def witness(self) -> Witness | None:
        """See `Keeps.witness`."""
        return self._read(self._witness, witness.decoded)

    def write_witness(self, witness: Witness, *, instead_of: Witness | None) -> bool:
        """See `Keeps.write_witness`; two runs on one host may overwrite each other by one beat."""
        if self.witness() != instead_of:
            return False
        self._folder.replace(self._witness, witness.encoded())
        return True

    def freeze(self, now: datetime | None = None) -> Freeze | None:
        """See `Keeps.freeze`; a folder has no clock, and without one a freeze has no end."""
        freeze = self._read(self._freeze, freezes.decoded)
        if freeze is not None and now is not None and freeze.until <= now:
            return None
        return freeze

    def write_freeze(self, freeze: Freeze) -> None:
        """See `Keeps.write_freeze`."""
        self._folder.replace(self._freeze, freeze.encoded())

    def thaw(self) -> bool:
        """See `Keeps.thaw`."""
        return self._folder.remove(self._freeze)

    def close(self) -> None:
        """See `Keeps.close`."""

    def _read(self, name: str, decoded: Callable[[bytes], T]) -> T | None:
        text = self._folder.content(name)
        if text is None:
            return None
        try:
            return decoded(text)
        except ValueError:
            raise ConfigError(
                f"{self.place}: {name} holds something else than idemctl wrote",
                hint="look at it, and remove it: it is a copy of what the stores hold",
            ) from None

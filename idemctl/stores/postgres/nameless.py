"""What a table never does: its rows have no names but their keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Never

from idemctl.errors import Unsupported
from idemctl.stores.answers import WHOLE

if TYPE_CHECKING:
    from idemctl.stores.answers import Choose, Shard, Wanted


class Nameless:
    """The port of names, refused."""

    _place: str

    def names_of(self, wanted: Wanted) -> Never:
        """Refuse: see `Names`.

        Raises:
            Unsupported: always.
        """
        del wanted
        raise self._nameless()

    def names(self, shard: Shard = WHOLE) -> Never:
        """Refuse: see `Names`.

        Raises:
            Unsupported: always.
        """
        del shard
        raise self._nameless()

    def scan_named(self, choose: Choose, shard: Shard = WHOLE) -> Never:
        """Refuse: see `Names`.

        Raises:
            Unsupported: always.
        """
        del choose, shard
        raise self._nameless()

    def _nameless(self) -> Unsupported:
        return Unsupported(
            f"{self._place}: rows have no names but their keys",
            hint="names are those of a pair's Redis side",
        )

"""Containers: where in Redis a record lies, as a key of its own or with others in one key."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from idemctl.layouts.codecs import FLAG, Word

if TYPE_CHECKING:
    from idemctl.layouts.codecs import Codec


class Container(StrEnum):
    """What one record is."""

    KEY = "key"
    """A key of its own, under the prefix."""
    SET_MEMBER = "set-member"
    """A member of the set that `prefix` names."""
    HASH_FIELD = "hash-field"
    """A field of the hash that `prefix` names."""

    def before(self, prefix: bytes) -> bytes:
        """Give what stands before each record's own name: nothing where one key holds all."""
        return prefix if self is Container.KEY else b""

    def refuse(self, codec: Codec) -> None:
        """Refuse a codec for what records that lie so cannot hold.

        Raises:
            ValueError: nothing of the kind lies there.
        """
        if self is Container.SET_MEMBER and codec != FLAG:
            raise ValueError("is flag where a record is a member of a set, which holds no more")
        if self is Container.HASH_FIELD and codec[0] is Word.HASH:
            raise ValueError("is what one field holds, and that is no hash")

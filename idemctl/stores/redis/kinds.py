"""What lists and reads the records of a layout, by where they lie and what belongs to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from idemctl.layouts.codecs import is_presence
from idemctl.layouts.containers import Container
from idemctl.stores.redis.fetch import Fetcher
from idemctl.stores.redis.hashes import HashFetcher
from idemctl.stores.redis.members import FieldFetcher, MemberFetcher
from idemctl.stores.redis.pages import FieldPages, KeyPages, MemberPages
from idemctl.stores.redis.presence import PresenceFetcher
from idemctl.stores.redis.siblings import SiblingFetcher

if TYPE_CHECKING:
    from collections.abc import Callable

    from idemctl.layouts.model import RedisLayout
    from idemctl.stores.redis.bulk import Lane
    from idemctl.stores.redis.pages import Pages

_PAGES: dict[Container, Callable[[Lane, bytes], Pages]] = {
    Container.KEY: KeyPages,
    Container.SET_MEMBER: MemberPages,
    Container.HASH_FIELD: FieldPages,
}
_MEMBERS = {Container.SET_MEMBER: MemberFetcher, Container.HASH_FIELD: FieldFetcher}


def pages_of(lane: Lane, layout: RedisLayout, prefix: bytes) -> Pages:
    """Make what lists the names of a layout's records; one that holds them all is `prefix`."""
    return _PAGES[layout.container](lane, prefix)


def fetcher_of(lane: Lane, layout: RedisLayout, prefix: bytes) -> Fetcher | SiblingFetcher:
    """Make what reads the records of a layout, and their siblings."""
    whole = HashFetcher if layout.hash_fields() else Fetcher
    if is_presence(layout.codec):
        whole = PresenceFetcher
    kind = _MEMBERS.get(layout.container, whole)
    records = kind(lane, layout, prefix)
    if not layout.siblings:
        return records
    return SiblingFetcher(records, lane, layout, layout.container.before(prefix))

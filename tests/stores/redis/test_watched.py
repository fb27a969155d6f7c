"""URLs of Sentinels."""

from __future__ import annotations

import pytest

from idemctl.domain.secrets import Secret
from idemctl.stores.redis.slots import Node
from idemctl.stores.redis.watched import watched


def test_a_url_names_sentinels_and_what_they_watch() -> None:
    one = watched(Secret("rediss-sentinel://u:p%2F@a:1,[::1]:2,b/3?ssl_ca_certs=ca#my%20main"))
    assert one is not None
    assert one.sentinels == (Node("a", 1), Node("::1", 2), Node("b", 26_379))
    assert one.name == "my main"
    assert one.url.reveal() == "rediss://u:p%2F@a/3?ssl_ca_certs=ca"


def test_where_it_leads_is_said_without_user_and_password() -> None:
    assert str(watched(Secret("redis-sentinel://u:secret@a:1,b:2/0#main"))) == "a:1,b:2#main"


@pytest.mark.parametrize("url", ["redis://a:1/0", "unix:///a", "rediss://a:1/0#main"])
def test_other_urls_are_none_of_sentinels(url: str) -> None:
    assert watched(Secret(url)) is None


@pytest.mark.parametrize(
    "url",
    ["redis-sentinel://a:1/0", "redis-sentinel:///0#main", "redis-sentinel://a:1,,b:2#main"],
)
def test_a_url_without_sentinel_or_name_cannot_be_read(url: str) -> None:
    with pytest.raises(ValueError, match="no Sentinel, or no name"):
        watched(Secret(url))

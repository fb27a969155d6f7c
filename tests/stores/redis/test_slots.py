"""Which primary of a cluster serves which keys, by what servers say."""

from __future__ import annotations

from idemctl.stores.redis.slots import Node, is_moving, read_slots

FIRST, SECOND = Node("10.0.0.1", 7000), Node("10.0.0.2", 7000)
REPLY = [
    [0, 99, [b"10.0.0.1", 7000, b"id"], [b"10.0.0.3", 7000, b"replica"]],
    [100, 16_383, [b"10.0.0.2", 7000, b"id"]],
]


def test_each_slot_has_the_primary_that_is_named_first() -> None:
    slots = read_slots(REPLY, host="seed")
    assert slots.nodes == (FIRST, SECOND)
    assert slots.owners.count(0) == 100
    assert slots.owners.index(1) == 100


def test_a_key_is_served_by_its_tag() -> None:
    slots = read_slots(REPLY, host="seed")
    assert slots.node_of(b"idem:{user}:1") == slots.node_of(b"{user}")
    assert slots.node_of(b"123456789") == SECOND  # 0x31C3, as the specification says.


def test_what_nobody_serves_has_no_node() -> None:
    slots = read_slots(REPLY[:1], host="seed")
    assert slots.node_of(b"123456789") is None


def test_a_server_that_does_not_know_its_name_is_found_where_it_was_asked() -> None:
    for unknown in (b"", None, b"?"):
        reply = [[0, 16_383, [unknown, 7000, b"id"]]]
        assert read_slots(reply, host="seed").nodes == (Node("seed", 7000),)


def test_only_a_server_s_own_moves_are_its_moves() -> None:
    own = b"a 10.0.0.1:7000@17000 myself,master - 0 0 1 connected 0-99"
    other = b"\nb 10.0.0.2:7000@17000 master - 0 0 2 connected 100-200 [7-<-a]\n"
    assert not is_moving(own + other)
    assert is_moving(own + b" [93->-b]" + other)
    assert is_moving(own + b" [93-<-b]" + other)

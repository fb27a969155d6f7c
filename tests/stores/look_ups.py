"""What every adapter keeps when it is asked for given keys: a part of the contract."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from idemctl.errors import Unsupported
from idemctl.stores.answers import Shard
from tests.stores.cases import HOUR, At, Planted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from idemctl.stores.ports import Store
    from tests.stores.worlds import World

HOSTILE_KEYS = (
    "a:b",
    ":",
    "::a",
    "acme:",
    "%d%b%s%",
    "*?[a]^\\",
    "{key}[{scope}]",
    "zo\u00eb\u202e",
    "a b\tc\nd",
    "'; DROP TABLE x;--",
    "\U0001f600",
    "k" * 2000,
)
Who = tuple[bytes, bytes]


def record(key: str, scope: str = "") -> Planted:
    return Planted(key=key, scope=scope, created=At(-HOUR), expires=At(HOUR))


def planted(world: World, store: Store, keys: Iterable[str], scope: str = "") -> None:
    world.plant([record(key, scope) for key in keys], store.clock())


def answers(store: Store, *requests: list[Who]) -> Iterator[dict[int, Who]]:
    """Look up; give for each request whose record was found for which place."""
    wanted = (([key for key, _ in one], [scope for _, scope in one]) for one in requests)
    for found in store.look_up(wanted):
        batch = found.batch
        assert len(batch) == len(batch.status) == len(batch.expires_at) == len(found.at)
        whose = zip(batch.keys, batch.scopes, strict=True)
        yield dict(zip(found.at.tolist(), whose, strict=True))


def unscoped(*keys: str) -> list[Who]:
    return [(key.encode(), b"") for key in keys]


def known_keys_are_found_in_their_places(world: World) -> None:
    with closing(world.open()) as store:
        planted(world, store, ("one", "two", "three"))
        wanted = unscoped("three", "absent", "one", "gone", "two")
        (found,) = answers(store, wanted)
    assert found == {at: wanted[at] for at in (0, 2, 4)}


def what_is_found_is_what_a_scan_shows(world: World) -> None:
    with closing(world.open()) as store:
        planted(world, store, ("one",))
        scanned = [batch.record(0) for batch in store.scan() if len(batch)]
        found = [one.batch.record(0) for one in store.look_up([([b"one"], [b""])])]
    assert found == scanned != []


def of_nothing_nothing_is_found(world: World) -> None:
    with closing(world.open()) as store:
        assert list(answers(store)) == []
        assert list(answers(store, [], unscoped("absent"))) == [{}, {}]


def a_key_that_no_record_can_have_is_not_found(world: World) -> None:
    with closing(world.open()) as store:
        planted(world, store, ("known", "k\u00e9"))
        odd = [(b"\xff\xfe", b""), (b"nul\x00", b""), (b"known", b"\xff"), (b"k\xe9", b"")]
        (found,) = answers(store, [*odd, (b"known", b"")])
    assert found == {len(odd): (b"known", b"")}


def a_key_belongs_to_its_scope(world: World) -> None:
    with closing(world.open()) as store:
        planted(world, store, ("same",))
        wanted = [(b"same", b"acme"), (b"same", b""), (b"same", b"globex")]
        if world.layout.scope is None:
            (found,) = answers(store, wanted)
            assert found == {1: wanted[1]}
            return
        planted(world, store, ("same",), scope="acme")
        (found,) = answers(store, wanted)
    assert found == {0: wanted[0], 1: wanted[1]}


def hostile_keys_are_found(world: World) -> None:
    with closing(world.open()) as store:
        planted(world, store, HOSTILE_KEYS)
        wanted = unscoped(*HOSTILE_KEYS)
        (found,) = answers(store, wanted)
    assert found == dict(enumerate(wanted))


def requests_are_answered_in_their_order(world: World) -> None:
    with closing(world.open()) as store:
        planted(world, store, (f"k{number}" for number in range(900)))
        requests = [
            unscoped(*(f"k{number}" for number in range(start, start + count)))
            for start, count in ((850, 100), (0, 1), (899, 1), (0, 0), (100, 700), (5, 5))
        ]
        found = list(answers(store, *requests))
    assert found[0] == dict(enumerate(requests[0][:50]))
    assert found[1:] == [dict(enumerate(request)) for request in requests[1:]]


def a_look_up_may_be_left_half_way(world: World) -> None:
    with closing(world.open()) as store:
        planted(world, store, (f"k{number}" for number in range(300)))
        everything = unscoped(*(f"k{number}" for number in range(300)))
        some = answers(store, everything, everything, everything)
        next(some)
        some.close()  # type: ignore[attr-defined] # It is a generator.
        assert list(answers(store, unscoped("k7"))) == [{0: (b"k7", b"")}]
        assert sum(len(batch) for batch in store.scan()) == 300


def names_are_those_of_the_keys(world: World) -> None:
    with closing(world.open()) as store:
        planted(world, store, ("one", "two", "three", *HOSTILE_KEYS))
        everything = unscoped("one", "two", "three", *HOSTILE_KEYS)
        if not _has_names(store):
            return
        named = store.names_of(([key for key, _ in everything], [b""] * len(everything)))
        listed = [name for some in store.names() for name in some]
    assert sorted(listed) == sorted(name for name in named if name is not None)
    assert len(set(listed)) == len(everything)


def names_are_listed_by_shard(world: World) -> None:
    with closing(world.open()) as store:
        planted(world, store, (f"k{number}" for number in range(3000)))
        if not _has_names(store):
            return
        whole = [name for some in store.names() for name in some]
        parts = [
            [name for some in store.names(Shard(index, 3)) for name in some] for index in range(3)
        ]
    assert len(set(whole)) == 3000
    assert sorted(name for part in parts for name in part) == sorted(whole)
    assert all(parts)


def only_what_is_chosen_by_its_name_is_read(world: World) -> None:
    with closing(world.open()) as store:
        planted(world, store, (f"k{number}" for number in range(3000)))
        if not _has_names(store):
            return
        wanted = store.names_of(([b"k7", b"k2999"], [b"", b""]))

        def choose(names: Sequence[bytes]) -> list[bytes]:
            return [name for name in names if name in wanted]

        read = [key for batch in store.scan_named(choose) for key in batch.keys]
        assert [key for batch in store.scan_named(lambda _: []) for key in batch.keys] == []
    assert sorted(read) == [b"k2999", b"k7"]


def _has_names(store: Store) -> bool:
    """Tell whether the adapter knows names; one that does not must say so, three times."""
    if store.describe().product != "PostgreSQL":
        return True
    asks: tuple[Callable[[], object], ...] = (
        lambda: store.names_of(([b"k"], [b""])),
        store.names,
        lambda: store.scan_named(list),
    )
    for ask in asks:
        with pytest.raises(Unsupported, match="no names"):
            ask()
    return False


LOOK_UPS = (
    known_keys_are_found_in_their_places,
    what_is_found_is_what_a_scan_shows,
    of_nothing_nothing_is_found,
    a_key_that_no_record_can_have_is_not_found,
    a_key_belongs_to_its_scope,
    hostile_keys_are_found,
    requests_are_answered_in_their_order,
    a_look_up_may_be_left_half_way,
    names_are_those_of_the_keys,
    names_are_listed_by_shard,
    only_what_is_chosen_by_its_name_is_read,
)

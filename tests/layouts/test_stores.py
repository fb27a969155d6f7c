"""Places that were found, put together as stores."""

from __future__ import annotations

from idemctl.bootstrap.layouts import preset
from idemctl.domain.sight import Engine
from idemctl.layouts.detect import Candidate, Place, Verdict, stores_of, why_no_store


def place(
    engine: Engine,
    where: str,
    *layouts: str,
    prefix: bytes = b"",
    verdict: Verdict = Verdict.FOUND,
) -> Place:
    candidates = [
        Candidate(layout=preset(name), sure=1.0, read_count=1, seen_count=1)
        for name in layouts or ("bare",)
    ]
    return Place(
        engine=engine,
        variable="X",
        place=where,
        prefix=prefix,
        verdict=verdict,
        candidates=tuple(candidates),
    )


TABLE = place(Engine.POSTGRES, "public.seen_events")
OTHER_TABLE = place(Engine.POSTGRES, "eu.seen_events")
PREFIX = place(Engine.REDIS, "seen:", prefix=b"seen:")


def test_the_only_table_and_the_only_prefix_of_a_layout_are_a_pair() -> None:
    outbox = place(Engine.POSTGRES, "public.outbox_events", "outbox")
    assert stores_of([TABLE, outbox, PREFIX]) == {"bare": (TABLE, PREFIX), "outbox": (outbox,)}


def test_where_there_are_two_tables_nobody_can_tell_whose_the_prefix_is() -> None:
    assert stores_of([TABLE, OTHER_TABLE, PREFIX]) == {
        "bare": (TABLE,),
        "bare-2": (OTHER_TABLE,),
        "bare-3": (PREFIX,),
    }


def test_what_several_layouts_fit_and_what_is_no_text_is_no_store() -> None:
    shared = place(
        Engine.REDIS, "i:", "drf-idempotency", "midaz", prefix=b"i:", verdict=Verdict.SHARED
    )
    odd = place(Engine.REDIS, r"\xff:", prefix=b"\xff:")
    assert stores_of([shared, odd]) == {}
    assert why_no_store(shared) == "is shared: drf-idempotency, midaz"
    assert why_no_store(odd) == "has a prefix that is no text"

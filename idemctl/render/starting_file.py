"""An idemctl.yaml to start from, made of what was detected."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from idemctl.domain.keys import is_text
from idemctl.domain.sight import Engine
from idemctl.layouts.detect import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from idemctl.layouts.detect import Place
    from idemctl.layouts.model import Layout

_HEAD = """\
# What `idemctl layout detect` found. Say of each store what only you know: ttl, where neither a
# record nor a policy says how long it is kept; write_order and on_redis_miss of a pair.
version: 1
stores:"""


def starting_file(places: Sequence[Place]) -> str:
    """Write the file: what was found as stores, what is open as comments."""
    stores = _stores([place for place in places if place.verdict is Verdict.FOUND])
    lines = [_HEAD if stores else _HEAD.removesuffix(":") + ": {}"]
    for name, sides in stores.items():
        lines.append(f"  {name}:")
        lines += [f"    {_side(place)}" for place in sides]
    for place in places:
        if place.verdict is not Verdict.FOUND:
            lines += ["", *_comment(place)]
    return "\n".join(lines) + "\n"


def _stores(found: Sequence[Place]) -> dict[str, list[Place]]:
    """Name stores by their layouts; one table and one prefix of the same layout are a pair."""
    stores: dict[str, list[Place]] = {}
    for place in found:
        if not is_text(place.prefix):
            # YAML cannot hold it.
            continue
        layout = place.candidates[0].layout.layout
        name, number = layout, 1
        while name in stores and any(other.engine is place.engine for other in stores[name]):
            number += 1
            name = f"{layout}-{number}"
        stores.setdefault(name, []).append(place)
    return stores


def _side(place: Place) -> str:
    # One that tells no statuses apart reads what others wrote, too: its turn comes last.
    ordered = sorted((one.layout for one in place.candidates), key=_tells_nothing)
    names = [one.layout for one in ordered]
    said: dict[str, str | list[str]] = {"layout": names if len(names) > 1 else names[0]}
    if place.engine is Engine.POSTGRES:
        said["table"] = place.place
        default, variable = "DATABASE_URL", "dsn_env"
    else:
        if place.prefix:
            said["prefix"] = place.prefix.decode()
        default, variable = "REDIS_URL", "url_env"
    if place.variable != default:
        said[variable] = place.variable
    words = ", ".join(
        f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in said.items()
    )
    return f"{place.engine.value}: {{{words}}}"


def _tells_nothing(layout: Layout) -> bool:
    return layout.redis is not None and layout.redis.status == "unknown"


def _comment(place: Place) -> Iterator[str]:
    layouts = ", ".join(one.layout.layout for one in place.candidates)
    yield f"# {place.place} is {place.verdict.value}: {layouts}"
    is_one_prefix = not any(one.evidence for one in place.candidates)
    if place.verdict is Verdict.SHARED and is_one_prefix and is_text(place.prefix):
        yield "# As a store, with the strictest layout first:"
        yield f"#   shared: {{{_side(place)}}}"

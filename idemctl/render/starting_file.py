"""An idemctl.yaml to start from, made of what was detected."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from idemctl.domain.keys import is_text
from idemctl.domain.sight import Engine
from idemctl.layouts.detect import Verdict, stores_of, why_no_store

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
    stores = stores_of(places)
    lines = [_HEAD if stores else _HEAD.removesuffix(":") + ": {}"]
    for name, sides in stores.items():
        lines.append(f"  {name}:")
        lines += [f"    {_side(place)}" for place in sides]
    for place in places:
        why = why_no_store(place)
        if why is not None:
            lines += ["", f"# {place.place} {why}", *_as_shared(place)]
    return "\n".join(lines) + "\n"


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


def _as_shared(place: Place) -> Iterator[str]:
    """Say how a prefix that several libraries share is written as one store."""
    is_one_prefix = not any(one.evidence for one in place.candidates)
    if place.verdict is Verdict.SHARED and is_one_prefix and is_text(place.prefix):
        yield "# As a store, with the strictest layout first:"
        yield f"#   shared: {{{_side(place)}}}"

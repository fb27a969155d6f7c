"""The series of a log: all requests, each endpoint's, each client's, each client's at an endpoint.

Logs name clients by the hundred thousand. So rows are put in order once a log, and what has
too few hits for a spike costs no more than its sum.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from idemctl.domain.traffic.counts import NOBODY, Names, summed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from idemctl.domain.traffic.counts import Ints, Rows
    from idemctl.domain.traffic.period import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """All series that fix the same names: one for each endpoint, say."""

    by_endpoint: bool
    by_client: bool
    code: Ints
    """The series of each row."""
    order: Ints
    """Rows by series, then by time; those that lack a name are left out."""


def kinds_of(table: Table) -> list[Kind]:
    """Group the rows of a log in every way."""
    with_endpoint, with_client = table.endpoint != NOBODY, table.client != NOBODY
    every = np.zeros(len(table.bucket), dtype=np.int64)
    groups = (
        (False, False, every, every == 0),
        (True, False, table.endpoint - NOBODY, with_endpoint),
        (False, True, table.client - NOBODY, with_client),
        (True, True, table.pair, with_endpoint & with_client),
    )
    kinds = []
    for by_endpoint, by_client, code, named in groups:
        rows = np.flatnonzero(named)
        order = rows[np.argsort(code[rows], kind="stable")]
        kinds.append(Kind(by_endpoint=by_endpoint, by_client=by_client, code=code, order=order))
    return kinds


def able(rows: Rows, kinds: Sequence[Kind], least: float) -> Iterator[tuple[Names, Rows]]:
    """Give the series that have at least so many hits, each with its rows."""
    for kind in kinds:
        enough = summed(kind.code, rows.observed, 1) >= least
        chosen = kind.order[enough[kind.code[kind.order]]]
        some = rows.taken(chosen)
        ends = np.flatnonzero(np.diff(kind.code[chosen], append=-1)) + 1
        for start, end in itertools.pairwise([0, *ends.tolist()]):
            yield (
                Names(
                    endpoint=int(some.endpoint[start]) if kind.by_endpoint else None,
                    client=int(some.client[start]) if kind.by_client else None,
                ),
                some.taken(slice(start, end)),
            )

"""Partitions that lie wholly in the past, for people and for machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from idemctl.render.envelope import instant
from idemctl.render.figures import count, when

if TYPE_CHECKING:
    from collections.abc import Iterator

    from idemctl.domain.partitions import Partition


def partition_fields(partition: Partition) -> dict[str, Any]:
    """Give what a program needs to detach it."""
    return {
        "partition": partition.name,
        "until": instant(partition.until),
        "rows": partition.row_estimate,
        "count_kept": partition.count_kept,
        "detach": partition.detach,
        "concurrently": partition.is_concurrent,
    }


def partition_lines(partition: Partition) -> Iterator[str]:
    """Say how to detach it, and what to look at before."""
    rows = partition.row_estimate
    about = "" if rows is None else f", about {count(rows, 'row')}"
    yield (
        f"partition {partition.name} ends at {when(partition.until)}{about}: no promise holds in "
        "it any more. Detached, it takes along what gc keeps, such as records in progress, so "
        f"first see that this counts none: {partition.count_kept}"
    )
    stops = "" if partition.is_concurrent else ", which stops the application for a moment"
    reason = (
        ""
        if partition.is_concurrent
        else (" (a default partition, or a server older than 14, forbids CONCURRENTLY)")
    )
    yield f"then type{stops}{reason}: {partition.detach}"

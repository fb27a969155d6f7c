"""Whether a store is fit for what a run wants of it, asked before its first step."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING

from idemctl.domain.circumstances import PostgresCircumstances
from idemctl.domain.purposes import Purpose
from idemctl.domain.records import Status
from idemctl.domain.replication import PostgresReplication
from idemctl.errors import Denied, Refused, Unreachable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from idemctl.domain.incident import Evidence
    from idemctl.domain.references import Reference
    from idemctl.run.run import Run
    from idemctl.run.target import Target
    from idemctl.stores.answers import Description, Right
    from idemctl.stores.ports import Store


_MOST_LAG = timedelta(minutes=1)
_MOST_UNREADABLE = 10_000
"""So many records none of which can be read are those of somebody else."""


def refuse_blindness(description: Description) -> None:
    """Refuse to judge a store of which this user may not see everything.

    Raises:
        Unreachable: some records may be invisible.
    """
    if description.hides_rows is not None:
        raise Unreachable(
            f"{description.place}: cannot judge: {description.hides_rows}",
            hint="use a role that sees every row, or ask for BYPASSRLS",
        )


def refuse_business(target: Target) -> None:
    """Refuse to collect, or to say what would be, where nothing may ever go.

    Raises:
        Refused: the layout says so.
    """
    if target.is_never_collected:
        raise Refused(
            f"{target.store}: nothing of this table is ever collected: its layout says "
            "never_collected: always",
            hint="these are rows of the business, or proof that must last; name other stores "
            "with --store",
        )


def refuse_replica(description: Description) -> None:
    """Refuse to compare a store that may not have heard yet of what the other one has.

    Raises:
        Unreachable: this server is a replica.
    """
    if description.is_replica:
        raise Unreachable(
            f"{description.place}: cannot judge: this server is a replica, and may be behind",
            hint="connect to the primary",
        )


def refuse_primary(target: Target, description: Description) -> None:
    """Refuse to take a server for a replica that follows nobody.

    Raises:
        Unreachable: it was promoted, or is another one.
    """
    if target.reads_replica and not description.is_replica:
        raise Unreachable(
            f"{description.place}: cannot judge: this server is no standby, and is configured as "
            "a replica",
            hint="if it was promoted, its primary may have gone on without it; name the right "
            "one under replicas, or leave --read-replica out",
        )


def refuse_lag(store: Store, description: Description) -> None:
    """Refuse to read a standby that is behind by more than a minute, or may be.

    Raises:
        Unreachable: it is, or does not tell.
    """
    said = store.circumstances()
    replication = said.replication if isinstance(said, PostgresCircumstances) else None
    recovery = replication.recovery if isinstance(replication, PostgresReplication) else None
    if recovery is None or not recovery.is_level_within(_MOST_LAG):
        raise Unreachable(
            f"{description.place}: cannot judge: this server is a replica, and shows less than "
            "its primary of a minute ago, or does not tell",
            hint="idemctl audit --read-replica tells how far it is behind; or leave "
            "--read-replica out",
        )


def refuse_void(redis: Store, evidence: Evidence, run: Run) -> None:
    """Refuse to judge a keyspace that may be the wrong one: no record of it can be found.

    Args:
        redis: the keyspace.
        evidence: what a sample of the other store said.
        run: asked now and then whether to go on, for it may take a while to see that.

    Raises:
        Unreachable: others have keys there, and the server tells of no recent loss.
    """
    if not evidence.is_unexplained_void or _has_records(redis, run):
        return
    others = evidence.account.key_count
    held = "may hold keys of others" if others is None else f"holds {others:,} keys of others"
    raise Unreachable(
        f"{redis.describe().place}: cannot judge: no record has this prefix, and the server {held}",
        hint="check prefix and database number; if they are right, let the application write "
        "one record",
    )


def _has_records(redis: Store, run: Run) -> bool:
    """Look for one that can be read, among the first of those that are there."""
    seen_count = 0
    started = time.perf_counter()
    for batch in redis.scan():
        if (batch.status != Status.MALFORMED).any():
            return True
        seen_count += len(batch)
        if seen_count >= _MOST_UNREADABLE:
            return False
        run.checkpoint(timedelta(seconds=time.perf_counter() - started))
        started = time.perf_counter()
    return False


def remedy(reference: Reference) -> str:
    """Say what lets gc go on where it would drag rows along that the layout does not name."""
    drop = f"drop ON DELETE {reference.on_delete} from {reference.key}"
    if reference.is_own:
        return f"{drop}: those rows are records themselves, and may be alive"
    name = reference.table
    quoted = "'" + name.replace("'", "''") + "'" if '"' in name else name
    return (
        f"if the library means it so, add drags: [{quoted}] to the postgres side of the layout; "
        f"else {drop}"
    )


def refuse_unfit(description: Description, rights: Iterable[Right]) -> None:
    """Refuse to delete where that cannot work, or would do more than it says.

    Raises:
        Refused: a replica, a server too old, or other tables that would be dragged along.
        Denied: this user lacks a right.
    """
    if description.is_replica:
        raise Refused(
            f"{description.place}: this server is a replica", hint="connect to the primary"
        )
    if not description.supported:
        raise Refused(
            f"{description.place}: {description.product} {description.version} is too old",
            hint="idemctl doctor names the oldest version that works",
        )
    unasked = [one for one in description.references if one.drags and not one.is_meant]
    if unasked:
        raise Refused(
            f"{description.place}: deleting here would also delete or change rows of "
            + ", ".join(map(str, unasked)),
            hint="; ".join(dict.fromkeys(map(remedy, unasked))),
        )
    needed = [one for one in rights if Purpose.GC in one.needed_for and not one.is_spared]
    lacking = [one for one in needed if not one.granted]
    if lacking:
        raise Denied(
            f"{description.place}: {description.user} lacks "
            + ", ".join(right.name for right in lacking),
            hint=" ".join(right.grant for right in lacking),
        )

"""Whether a store is fit for what a run wants of it, asked before its first step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from idemctl.errors import Denied, Refused, Unreachable

if TYPE_CHECKING:
    from idemctl.domain.incident import Evidence
    from idemctl.stores.answers import Description
    from idemctl.stores.ports import Store


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


def refuse_void(redis: Store, evidence: Evidence) -> None:
    """Refuse to judge a keyspace that may be the wrong one: nothing has its prefix.

    Raises:
        Unreachable: others have keys there, and the server tells of no loss.
    """
    if evidence.is_unexplained_void and not any(redis.names()):
        raise Unreachable(
            f"{redis.describe().place}: cannot judge: no key has this prefix, and the server "
            f"holds {evidence.account.key_count:,} others",
            hint="check prefix and database number; if they are right, let the application "
            "write one record",
        )


def refuse_unfit(description: Description) -> None:
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
    if description.drags:
        raise Refused(
            f"{description.place}: deleting here would also delete or change rows of "
            + ", ".join(description.drags),
            hint="name that table as the layout's child, or drop ON DELETE from its foreign key",
        )
    lacking = [right for right in description.rights if not right.granted]
    if lacking:
        raise Denied(
            f"{description.place}: {description.user} lacks "
            + ", ".join(right.name for right in lacking),
            hint=" ".join(right.grant for right in lacking),
        )

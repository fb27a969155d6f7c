"""A layout and its promises, spoken as SQL.

The same rules as `layouts.conditions` and `domain.retention`; one table of cases and the
contract suite hold both readings to the same answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from psycopg import sql

from idemctl.domain.records import Status
from idemctl.domain.retention import Promise, Verdict
from idemctl.layouts.conditions import AllOf, AnyOf, Begins, Is, Missing, Not, as_text
from idemctl.layouts.sides import Statuses, one_field
from idemctl.stores.postgres.places import instant, interval, is_before, later, text, value, whole

if TYPE_CHECKING:
    from collections.abc import Iterable

    from idemctl.domain.retention import Retention
    from idemctl.layouts.conditions import Condition
    from idemctl.layouts.instants import At
    from idemctl.layouts.model import PostgresLayout


def as_sql(condition: Condition) -> sql.Composable:
    """Write a condition as an expression that is true or false, never NULL."""
    match condition:
        case "always":
            return sql.SQL("true")
        case Is(field=field, value=wanted):
            return sql.SQL("coalesce({} = {}, false)").format(
                text(field), sql.Literal(as_text(wanted))
            )
        case Begins(field=field, text=wanted):
            return sql.SQL("coalesce(starts_with({}, {}), false)").format(
                text(field), sql.Literal(wanted)
            )
        case Missing(field=field, missing=missing):
            test = sql.SQL("IS NULL" if missing else "IS NOT NULL")
            return sql.SQL("({} {})").format(value(field), test)
        case AllOf(all=parts):
            return _joined(sql.SQL(" AND "), parts)
        case AnyOf(any=parts):
            return _joined(sql.SQL(" OR "), parts)
        case Not(negated=part):
            return sql.SQL("(NOT {})").format(as_sql(part))


def is_record(layout: PostgresLayout) -> sql.Composable:
    """Write the condition that a row is a record of this layout at all."""
    return as_sql("always" if layout.only is None else layout.only)


def among(layout: PostgresLayout, where: sql.Composable) -> sql.Composable:
    """Narrow a condition down to the records of this layout."""
    return where if layout.only is None else sql.SQL("{} AND {}").format(where, is_record(layout))


def status_as_sql(layout: PostgresLayout) -> sql.Composable:
    """Write the status of a row, as the number of `Status`."""
    if not isinstance(layout.status, Statuses):
        return sql.Literal(int(Status.UNKNOWN))
    conditions = layout.status.conditions()
    malformed = sql.Literal(int(Status.MALFORMED))
    by_value = one_field(layout.status)
    if by_value is not None:
        # Nearly every layout tells statuses apart by one column: compared once a row then.
        field, values = by_value
        branches = _branches((sql.Literal(word), status) for word, status in values.items())
        return sql.SQL("CASE {} {} ELSE {} END").format(text(field), branches, malformed)
    tests = [(as_sql(condition), status) for status, condition in conditions]
    held = sql.SQL(" + ").join(sql.SQL("({})::int").format(test) for test, _ in tests)
    return sql.SQL("CASE WHEN {} <> 1 THEN {} {} END").format(held, malformed, _branches(tests))


def _branches(cases: Iterable[tuple[sql.Composable, Status | Verdict]]) -> sql.Composable:
    return sql.SQL(" ").join(
        sql.SQL("WHEN {} THEN {}").format(when, sql.Literal(int(then))) for when, then in cases
    )


@dataclass(frozen=True)
class Judgement:
    """The verdict on a row under one run's promises. See `domain.retention.judge`."""

    layout: PostgresLayout
    retention: Retention
    pins: tuple[sql.Composable, ...] = ()
    """What holds of a row that cannot go because others refer to it."""

    @cached_property
    def cutoff(self) -> sql.Composable:
        """The run's cutoff, as it was read from this database."""
        return sql.SQL("{}::timestamptz").format(sql.Literal(self.retention.cutoff.isoformat()))

    @cached_property
    def ends(self) -> sql.Composable:
        """When the promise made to a row ends; NULL where it never does."""
        if self.layout.expires is None:
            return sql.SQL("coalesce({}, {})").format(self._policy_end, self._fallback_end)
        stored = instant(self.layout.expires)
        if not self._has_policies:
            return stored
        return sql.SQL("CASE WHEN {} IS NULL THEN NULL ELSE greatest({}, {}) END").format(
            stored, stored, self._policy_end
        )

    @cached_property
    def promise(self) -> sql.Composable:
        """Which promise spoke, as the number of `Promise`."""
        if self.layout.expires is None:
            first, second = self._policy_end, self._fallback_end
            ruling, otherwise = Promise.POLICY, Promise.STORE_TTL
            rules = sql.SQL("{} IS NOT NULL").format(first)
            endless = sql.SQL("coalesce({}, {}) IS NULL").format(first, second)
        else:
            stored = instant(self.layout.expires)
            ruling, otherwise = Promise.POLICY, Promise.STORED_EXPIRY
            rules = sql.SQL("{} > {}").format(self._policy_end, stored)
            endless = sql.SQL("{} IS NULL").format(stored)
        return sql.SQL("CASE WHEN {} THEN {} WHEN {} THEN {} ELSE {} END").format(
            endless,
            sql.Literal(int(Promise.NONE)),
            rules,
            sql.Literal(int(ruling)),
            sql.Literal(int(otherwise)),
        )

    @property
    def only_promise(self) -> Promise | None:
        """The promise that spoke for every expired row, where no policy can."""
        if self._has_policies:
            return None
        return Promise.STORE_TTL if self.layout.expires is None else Promise.STORED_EXPIRY

    @cached_property
    def verdict(self) -> sql.Composable:
        """What gc makes of a row, as the number of `Verdict`."""
        unknown = not isinstance(self.layout.status, Statuses)
        stays = self.layout.never_collected
        return sql.SQL(
            "CASE {status}"
            " WHEN {malformed} THEN {is_malformed}"
            " WHEN {in_progress} THEN CASE WHEN {over} THEN {past} ELSE {is_in_progress} END"
            " ELSE CASE {stays} WHEN {over} THEN {is_over}"
            " WHEN {ends} IS NULL OR {ends} = 'infinity' THEN {never} ELSE {live} END END"
        ).format(
            status=status_as_sql(self.layout),
            malformed=sql.Literal(int(Status.MALFORMED)),
            in_progress=sql.Literal(int(Status.IN_PROGRESS)),
            ends=self.ends,
            over=sql.SQL("{} < {}").format(self.ends, self.cutoff),
            is_malformed=sql.Literal(int(Verdict.MALFORMED)),
            past=sql.Literal(int(Verdict.IN_PROGRESS_PAST_EXPIRY)),
            is_in_progress=sql.Literal(int(Verdict.IN_PROGRESS)),
            stays=sql.SQL("")
            if stays is None
            else _branches([(as_sql(stays), Verdict.KEPT_BY_LAYOUT)]),
            never=sql.Literal(int(Verdict.NEVER_EXPIRES)),
            is_over=sql.Literal(int(Verdict.PRESENCE_ONLY)) if unknown else self._over,
            live=sql.Literal(int(Verdict.LIVE)),
        )

    @cached_property
    def expired(self) -> sql.Composable:
        """The one condition under which a row may be deleted, cheapest part first."""
        return sql.SQL("({} AND {} = {})").format(
            among(self.layout, self.long_ago), self.verdict, sql.Literal(int(Verdict.EXPIRED))
        )

    @property
    def ordered_by(self) -> At:
        """The instant by which rows come to expire; whoever collects them knows one."""
        at = self.layout.ordered_by
        assert at is not None, "nothing is collected where nothing expires"
        return at

    @property
    def order(self) -> sql.Composable:
        """What sorts rows by the end of their promise, by an index where that can be."""
        is_plain = self.layout.ordered_by is not None and not self._has_policies
        return value(self.ordered_by.field) if is_plain else self.ends

    @cached_property
    def long_ago(self) -> sql.Composable:
        """What holds for every expired row, in a form that an index can answer."""
        cutoff = self.retention.cutoff
        if self.layout.expires is not None:
            return is_before(self.layout.expires, cutoff)
        ttls = [*self.retention.policy_ttls.values()]
        if self.retention.ttl is not None:
            ttls.append(self.retention.ttl)
        shortest = min(ttls, default=None)
        if shortest is None or self.layout.counted_from is None:
            return sql.SQL("false")
        return is_before(self.layout.counted_from, cutoff - shortest)

    @property
    def _over(self) -> sql.Composable:
        expired = sql.Literal(int(Verdict.EXPIRED))
        if not self.pins:
            return expired
        return sql.SQL("CASE {} ELSE {} END").format(
            _branches((pin, Verdict.REFERRED_TO) for pin in self.pins), expired
        )

    @property
    def _has_policies(self) -> bool:
        layout = self.layout
        return bool(
            self.retention.policy_ttls
            and layout.endpoint is not None
            and layout.counted_from is not None
        )

    @cached_property
    def _policy_end(self) -> sql.Composable:
        if not self._has_policies:
            return sql.SQL("NULL::timestamptz")
        layout = self.layout
        assert layout.endpoint is not None
        assert layout.counted_from is not None
        branches = sql.SQL(" ").join(
            sql.SQL("WHEN {} THEN {}").format(sql.Literal(endpoint.decode("utf-8")), interval(ttl))
            for endpoint, ttl in self.retention.policy_ttls.items()
        )
        ttl = sql.SQL("CASE {} {} END").format(whole(layout.endpoint), branches)
        return later(instant(layout.counted_from), ttl)

    @cached_property
    def _fallback_end(self) -> sql.Composable:
        if self.retention.ttl is None or self.layout.counted_from is None:
            return sql.SQL("NULL::timestamptz")
        return later(instant(self.layout.counted_from), interval(self.retention.ttl))


def _joined(word: sql.SQL, parts: list[Condition]) -> sql.Composable:
    return sql.SQL("({})").format(word.join(as_sql(part) for part in parts))

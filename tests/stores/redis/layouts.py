"""Layouts that tests write, and what scans and look-ups show through them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from idemctl.documents import parse_document, read_model
from idemctl.layouts.model import Layout

if TYPE_CHECKING:
    from idemctl.domain.records import Record
    from idemctl.layouts.model import RedisLayout
    from idemctl.stores.answers import Shard
    from idemctl.stores.redis.keyspace import RedisKeyspace

HEAD = """\
layout: mine
title: of ours
proven: live
redis:
  pattern: redis-setnx
"""
SET = """\
  container: set-member
  prefix: "seen"
  key: "(?P<key>.+)"
  name: "{key}"
  codec: flag
  status: unknown
"""
HASH = """\
  container: hash-field
  prefix: "seen"
  key: "(?P<key>.+)"
  name: "{key}"
  codec: json
  fence: fence
  status:
    in_progress: {field: state, is: busy}
    completed: {field: state, is: done}
"""


def side_of(text: str) -> RedisLayout:
    side = read_model(parse_document((HEAD + text).encode(), file="mine.yaml"), Layout).redis
    assert side is not None
    return side


def scanned(store: RedisKeyspace, *shard: Shard) -> dict[bytes, Record]:
    """Scan; a record that comes twice is an error."""
    records = [batch.record(at) for batch in store.scan(*shard) for at in range(len(batch))]
    by_key = {record.key: record for record in records}
    assert len(by_key) == len(records)
    return by_key


def found(store: RedisKeyspace, keys: list[bytes]) -> list[Record | None]:
    """Look keys up; `None` for each that is not found."""
    (answer,) = store.look_up([(keys, [b""] * len(keys))])
    records = dict(
        zip(answer.at.tolist(), map(answer.batch.record, range(len(keys))), strict=False)
    )
    return [records.get(at) for at in range(len(keys))]

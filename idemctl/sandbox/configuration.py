"""The configuration that a sandbox carries: the six patterns, a store each."""

from __future__ import annotations

CONFIGURATION = """\
version: 1
stores:
  payments:
    postgres: {dsn_env: DATABASE_URL, layout: reference, table: public.processed_events}
    redis: {url_env: REDIS_URL, layout: reference, prefix: "idem:", ttl: 24h}
    write_order: postgres-first
    on_redis_miss: postgres
    ttl: 7d
    logs: {files: [hits.jsonl]}
  webhooks:
    postgres: {dsn_env: DATABASE_URL, layout: bare, table: public.seen_events}
    redis: {url_env: REDIS_URL, layout: bare, prefix: "seen:", ttl: 24h}
    write_order: postgres-first
    on_redis_miss: postgres
    ttl: 7d
  messages:
    redis: {url_env: REDIS_URL, layout: url-path, prefix: "path:", ttl: 24h}
  deliveries:
    redis: {url_env: REDIS_URL, layout: body-hash, prefix: "body:", ttl: 1h}
  workflows:
    postgres: {dsn_env: DATABASE_URL, layout: workflow, table: public.workflow_runs}
    ttl: 7d
  outbox:
    postgres: {dsn_env: DATABASE_URL, layout: outbox, table: public.outbox_events}
    ttl: 7d
state: {schema: idemctl}
"""

Every statement that idemctl sends to Postgres, by name. `{slot}` is an identifier or an
expression composed by psycopg.sql; `%(name)s` is a parameter. No block has both: what fills
a slot may hold a `%`.

-- clock --
SELECT clock_timestamp()

-- server --
SELECT current_setting('server_version_num')::int, current_setting('server_version'),
       pg_is_in_recovery(), current_user::text, pg_backend_pid()

-- find_table --
SELECT c.oid, n.nspname, c.relname
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE c.oid = to_regclass(%(table)s)

-- instants --
-- What the named columns are; a domain is what it is over.
SELECT a.attname, format_type(a.atttypid, a.atttypmod), coalesce(b.typname, t.typname)::text
  FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
  LEFT JOIN pg_type b ON b.oid = t.typbasetype AND t.typbasetype <> 0
 WHERE a.attrelid = %(oid)s AND a.attname = ANY(%(names)s)
 ORDER BY a.attnum

-- tables --
-- What this user may read, with the types of its columns, and the columns that are unique
-- together. A partition is told of by its parent, and a domain is what it is over.
SELECT n.nspname, c.relname,
       (SELECT json_object_agg(a.attname, coalesce(b.typname, t.typname))
          FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
          LEFT JOIN pg_type b ON b.oid = t.typbasetype AND t.typbasetype <> 0
         WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
       (SELECT coalesce(json_agg(
                   (SELECT json_agg(a.attname) FROM pg_attribute a
                     WHERE a.attrelid = c.oid AND a.attnum = ANY(x.indkey[:x.indnkeyatts - 1]))
               ), '[]')
          FROM pg_index x
         WHERE x.indrelid = c.oid AND x.indisunique AND x.indisvalid
           AND x.indpred IS NULL AND x.indexprs IS NULL)
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence <> 't'
   AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
   AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
   AND EXISTS (SELECT FROM pg_attribute a
                WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped)
 ORDER BY n.nspname, c.relname

-- shape --
-- The tables under a name, itself first: their columns, indexes, and what runs for each row that
-- goes. What only newer servers say of an index or a database is looked up in its row as JSON.
WITH RECURSIVE family AS (
    SELECT {oid}::oid AS oid
    UNION
    SELECT i.inhrelid FROM pg_inherits i JOIN family f ON i.inhparent = f.oid
), whole AS (
    SELECT to_jsonb(d) ->> 'datcollversion' AS recorded, {actual} AS actual
      FROM pg_database d WHERE d.datname = current_database()
), columns AS (
    SELECT a.attrelid, a.attnum, a.attname, coalesce(b.typname, t.typname) AS type,
           NOT (a.attnotnull OR t.typnotnull) AS is_nullable
      FROM family f JOIN pg_attribute a ON a.attrelid = f.oid JOIN pg_type t ON t.oid = a.atttypid
      LEFT JOIN pg_type b ON b.oid = t.typbasetype AND t.typbasetype <> 0
     WHERE a.attnum > 0 AND NOT a.attisdropped
)
SELECT n.nspname, c.relname, c.relkind = 'p', c.relpersistence = 'u',
       nullif(greatest(c.reltuples::int8, nullif(pg_stat_get_live_tuples(c.oid), 0)), -1),
       (SELECT json_object_agg(
                   a.attname, json_build_object('type', a.type, 'is_nullable', a.is_nullable))
          FROM columns a WHERE a.attrelid = c.oid),
       (SELECT json_agg(coalesce(a.attname, ''))
          FROM pg_partitioned_table p CROSS JOIN unnest(p.partattrs::int2[]) AS number
          LEFT JOIN columns a ON a.attrelid = c.oid AND a.attnum = number
         WHERE p.partrelid = c.oid),
       (SELECT json_agg(g.tgname) FROM pg_trigger g
         WHERE g.tgrelid = c.oid AND NOT g.tgisinternal AND g.tgenabled IN ('O', 'A')
           AND g.tgtype & 9 = 9),
       (SELECT json_agg(json_build_object(
                   'name', xc.relname, 'is_unique', x.indisunique,
                   'is_valid', x.indisvalid AND x.indisready AND x.indislive,
                   'is_partial', x.indpred IS NOT NULL, 'is_ordered', am.amname = 'btree',
                   'lets_nulls_repeat',
                   coalesce(to_jsonb(x) ->> 'indnullsnotdistinct', 'false') = 'false',
                   'columns',
                   (SELECT json_agg(json_build_object(
                               'name', coalesce(a.attname, ''),
                               'folds',
                               coalesce(a.type = 'citext' OR NOT l.collisdeterministic, false),
                               'collation', coalesce(l.collname, ''),
                               'recorded_version',
                               CASE l.collprovider WHEN 'd' THEN whole.recorded
                                    ELSE l.collversion END,
                               'actual_version',
                               CASE l.collprovider WHEN 'd' THEN whole.actual
                                    ELSE pg_collation_actual_version(l.oid) END
                           ) ORDER BY at)
                      FROM generate_series(0, x.indnkeyatts - 1) AS at
                      LEFT JOIN columns a ON a.attrelid = c.oid AND a.attnum = x.indkey[at]
                      LEFT JOIN pg_collation l ON l.oid = x.indcollation[at])
               ) ORDER BY xc.relname)
          FROM pg_index x JOIN pg_class xc ON xc.oid = x.indexrelid
          JOIN pg_am am ON am.oid = xc.relam
         WHERE x.indrelid = c.oid)
  FROM family f CROSS JOIN whole
  JOIN pg_class c ON c.oid = f.oid
  JOIN pg_namespace n ON n.oid = c.relnamespace
 ORDER BY c.oid <> {oid}, n.nspname, c.relname

-- upkeep --
-- What the tables under a name have of dead rows, and who may still see them. Sessions of other
-- databases do not count. A column that only newer servers have is looked up as JSON.
WITH RECURSIVE family AS (
    SELECT %(oid)s::oid AS oid
    UNION
    SELECT i.inhrelid FROM pg_inherits i JOIN family f ON i.inhparent = f.oid
), tables AS (
    SELECT c.oid, n.nspname || '.' || c.relname AS name, greatest(c.reltuples, 0) AS rows,
           (SELECT json_object_agg(option_name, option_value)
              FROM pg_options_to_table(c.reloptions)
             WHERE option_name LIKE 'autovacuum\_vacuum\_%%') AS options,
           coalesce((SELECT option_value::bool FROM pg_options_to_table(c.reloptions)
                      WHERE option_name = 'autovacuum_enabled'), true) AS is_automatic
      FROM family f JOIN pg_class c ON c.oid = f.oid JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.relkind <> 'p'
), holders AS (
    SELECT 'session ' || a.pid || ' of ' || coalesce(a.usename, '?')
               || coalesce(' (' || nullif(a.application_name, '') || ')', '')
               || coalesce(', ' || a.state, '') AS name,
           extract(epoch FROM clock_timestamp() - a.xact_start)::float8 AS seconds,
           greatest(age(a.backend_xmin), age(a.backend_xid)) AS transactions
      FROM pg_stat_activity a
     WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()
       AND a.backend_type <> 'autovacuum worker'
       AND coalesce(a.backend_xmin, a.backend_xid) IS NOT NULL
       AND a.pid NOT IN (SELECT v.pid FROM pg_stat_progress_vacuum v)
    UNION ALL
    SELECT 'standby ' || coalesce(nullif(a.application_name, ''), a.pid::text), NULL,
           age(a.backend_xmin)
      FROM pg_stat_activity a
     WHERE a.backend_type = 'walsender' AND a.datname IS NULL AND a.backend_xmin IS NOT NULL
    UNION ALL
    SELECT 'prepared transaction ' || p.gid || ' of ' || p.owner,
           extract(epoch FROM clock_timestamp() - p.prepared)::float8, age(p.transaction)
      FROM pg_prepared_xacts p WHERE p.database = current_database()
    UNION ALL
    SELECT 'replication slot ' || s.slot_name,
           extract(epoch FROM clock_timestamp()
                              - (to_jsonb(s) ->> 'inactive_since')::timestamptz)::float8,
           age(s.xmin)
      FROM pg_replication_slots s WHERE s.xmin IS NOT NULL
)
SELECT pg_is_in_recovery(),
       current_setting('autovacuum')::bool AND current_setting('track_counts')::bool,
       (SELECT json_object_agg(name, current_setting(name, true))
          FROM unnest(ARRAY['autovacuum_vacuum_threshold', 'autovacuum_vacuum_scale_factor',
                            'autovacuum_vacuum_max_threshold']) AS name),
       (SELECT json_agg(json_build_object(
                   'name', t.name, 'rows', t.rows, 'options', t.options,
                   'is_automatic', t.is_automatic,
                   'live_count', pg_stat_get_live_tuples(t.oid),
                   'dead_count', pg_stat_get_dead_tuples(t.oid),
                   'is_running',
                   EXISTS (SELECT FROM pg_stat_progress_vacuum v WHERE v.relid = t.oid),
                   'seconds',
                   extract(epoch FROM clock_timestamp()
                                      - greatest(pg_stat_get_last_vacuum_time(t.oid),
                                                 pg_stat_get_last_autovacuum_time(t.oid))),
                   'table_bytes', pg_table_size(t.oid), 'index_bytes', pg_indexes_size(t.oid)
               )) FROM tables t),
       (SELECT json_agg(h) FROM holders h),
       (SELECT count(*) FROM pg_stat_activity a
         WHERE a.datname = current_database() AND a.query = '<insufficient privilege>')

-- replication --
-- What this server follows, who follows it, and what it keeps for those who do.
WITH here AS (
    SELECT CASE WHEN pg_is_in_recovery()
                THEN coalesce(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn())
                ELSE pg_current_wal_lsn() END AS lsn
)
SELECT CASE WHEN pg_is_in_recovery() THEN json_build_object(
           'is_receiving', EXISTS (SELECT FROM pg_stat_wal_receiver w WHERE w.pid IS NOT NULL),
           'is_paused', pg_is_wal_replay_paused(),
           'received', pg_last_wal_receive_lsn(),
           'seconds', extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp())
       ) END,
       (SELECT json_agg(json_build_object(
                   'name', coalesce(nullif(r.application_name, ''), r.pid::text),
                   'sync_state', r.sync_state,
                   'behind_bytes', greatest(pg_wal_lsn_diff(here.lsn, r.replay_lsn), 0)::int8,
                   'seconds', extract(epoch FROM r.replay_lag)))
          FROM pg_stat_replication r WHERE r.state <> 'backup'),
       (SELECT count(*) FROM pg_stat_replication r WHERE r.state IS NULL),
       (SELECT json_agg(json_build_object(
                   'name', s.slot_name, 'is_active', s.active,
                   'wal_status', coalesce(s.wal_status, ''),
                   'retained_bytes',
                   greatest(coalesce(pg_wal_lsn_diff(here.lsn, s.restart_lsn), 0), 0)::int8))
          FROM pg_replication_slots s),
       (SELECT json_build_object(
                   'failed_count', a.failed_count, 'failed_file', coalesce(a.last_failed_wal, ''),
                   'is_failing',
                   coalesce(a.last_failed_time > coalesce(a.last_archived_time, '-infinity'),
                            false),
                   'seconds', extract(epoch FROM clock_timestamp() - a.last_archived_time),
                   'last_file', coalesce(a.last_archived_wal, ''),
                   'written', pg_wal_lsn_diff(here.lsn, '0/0')::int8,
                   'segment', pg_size_bytes(current_setting('wal_segment_size')))
          FROM pg_stat_archiver a WHERE current_setting('archive_mode') <> 'off')
  FROM here

-- replayed --
SELECT pg_last_wal_replay_lsn() >= %(received)s::text::pg_lsn

-- clients --
-- How many clients there are among some rows, wherever those lie.
SELECT count(DISTINCT client) FROM (SELECT {client} AS client FROM {table} LIMIT {most}) AS first_rows

-- repeated_identities --
-- Some of the identities that have several rows, with the number of both.
SELECT key, scope, count(*) OVER (), (sum(rows) OVER ())::int8
  FROM (SELECT {key} AS key, {scope} AS scope, {endpoint} AS endpoint, count(*) AS rows
          FROM {table} AS leaf WHERE {key} IS NOT NULL AND {mine}
         GROUP BY 1, 2, 3 HAVING count(*) > 1) AS repeated
 ORDER BY rows DESC, key, scope LIMIT {most}

-- hides_rows --
-- Whether rows of any physical table under a name are hidden from this user.
WITH RECURSIVE family AS (
    SELECT %(oid)s::oid AS oid
    UNION
    SELECT i.inhrelid FROM pg_inherits i JOIN family f ON i.inhparent = f.oid
)
SELECT bool_or(row_security_active(c.oid))
  FROM family f JOIN pg_class c ON c.oid = f.oid WHERE c.relkind <> 'p'

-- user --
-- Who asks, where, and whether it is told what other sessions do; and how a column is written.
SELECT quote_ident(current_user), quote_ident(current_database()),
       pg_has_role('pg_read_all_stats', 'USAGE'), quote_ident(%(column)s)

-- schemas --
-- The schemas of all tables under some names, and whether this user may use them.
WITH RECURSIVE family AS (
    SELECT unnest(%(oids)s::oid[]) AS oid
    UNION
    SELECT i.inhrelid FROM pg_inherits i JOIN family f ON i.inhparent = f.oid
)
SELECT DISTINCT quote_ident(n.nspname), has_schema_privilege(n.oid, 'USAGE')
  FROM family f JOIN pg_class c ON c.oid = f.oid JOIN pg_namespace n ON n.oid = c.relnamespace
 ORDER BY 1

-- rights --
-- The tables under a name, itself first, and what this user may do there: who works leaf by
-- leaf is judged leaf by leaf, whatever holds for the parent.
WITH RECURSIVE family AS (
    SELECT %(oid)s::oid AS oid
    UNION
    SELECT i.inhrelid FROM pg_inherits i JOIN family f ON i.inhparent = f.oid
)
SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname), c.oid = %(oid)s::oid,
       c.relkind <> 'p', has_table_privilege(c.oid, 'SELECT'),
       has_any_column_privilege(c.oid, 'UPDATE'), has_table_privilege(c.oid, 'DELETE')
  FROM family f JOIN pg_class c ON c.oid = f.oid JOIN pg_namespace n ON n.oid = c.relnamespace
 ORDER BY c.oid <> %(oid)s::oid, 1

-- closed_schema --
-- The schema that a name begins with, where it is there and this user may not use it.
SELECT quote_ident(n.nspname), quote_ident(current_user)
  FROM pg_namespace n
 WHERE n.nspname = (parse_ident(%(table)s))[1]
   AND NOT has_schema_privilege(n.oid, 'USAGE')

-- references --
-- The foreign keys that lead to rows which a deletion here deletes: those of the tables named,
-- and of every table whose rows such a key deletes in turn. One that Postgres made for a
-- partition stands for the whole where that is not deleted from.
WITH RECURSIVE own AS (
    SELECT %(oid)s::oid AS oid
    UNION
    SELECT i.inhrelid FROM pg_inherits i JOIN own ON i.inhparent = own.oid
), gone AS (
    SELECT unnest(%(deleted_from)s::oid[]) AS oid
    UNION
    SELECT more.oid
      FROM gone CROSS JOIN LATERAL (
          SELECT i.inhrelid AS oid FROM pg_inherits i WHERE i.inhparent = gone.oid
          UNION ALL
          SELECT k.conrelid FROM pg_constraint k
           WHERE k.contype = 'f' AND k.confdeltype = 'c' AND k.confrelid = gone.oid
      ) AS more
), meant AS (
    SELECT CASE cardinality(words) WHEN 1 THEN %(schema)s::text || words ELSE words END AS words
      FROM unnest(%(drags)s::text[]) AS name CROSS JOIN parse_ident(name) AS words
)
SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname), k.conname, k.confdeltype::text,
       ARRAY[n.nspname, c.relname]::text[] IN (SELECT words FROM meant),
       k.conrelid IN (SELECT oid FROM own),
       EXISTS (
           SELECT FROM pg_index x
            WHERE x.indrelid = k.conrelid AND x.indisvalid AND x.indpred IS NULL
              AND x.indkey[0] = ANY(k.conkey)
       ),
       (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY at)
          FROM unnest(k.conkey) WITH ORDINALITY AS columns (number, at)
          JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = columns.number)
  FROM pg_constraint k
  JOIN gone ON gone.oid = k.confrelid
  JOIN pg_class c ON c.oid = k.conrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE k.contype = 'f' AND k.conrelid IS DISTINCT FROM %(child)s::oid
   AND NOT EXISTS (SELECT FROM pg_constraint whole JOIN gone ON gone.oid = whole.confrelid
                    WHERE whole.oid = k.conparentid)
 ORDER BY 1, 2

-- pins --
-- The foreign keys that let no record of the table go while rows refer to it: those whose rows
-- an index finds, and this user may read.
WITH RECURSIVE own AS (
    SELECT %(oid)s::oid AS oid
    UNION
    SELECT i.inhrelid FROM pg_inherits i JOIN own ON i.inhparent = own.oid
)
SELECT n.nspname, c.relname,
       ARRAY(SELECT a.attname::text
               FROM unnest(k.conkey) WITH ORDINALITY AS columns (number, at)
               JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = columns.number
              ORDER BY at),
       ARRAY(SELECT a.attname::text
               FROM unnest(k.confkey) WITH ORDINALITY AS columns (number, at)
               JOIN pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = columns.number
              ORDER BY at)
  FROM pg_constraint k
  JOIN own ON own.oid = k.confrelid
  JOIN pg_class c ON c.oid = k.conrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE k.contype = 'f' AND k.confdeltype IN ('a', 'r')
   AND k.conrelid IS DISTINCT FROM to_regclass(%(child)s) AND k.conrelid NOT IN (TABLE own)
   AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
   AND EXISTS (SELECT FROM pg_index x
                WHERE x.indrelid = k.conrelid AND x.indisvalid AND x.indpred IS NULL
                  AND x.indkey[0] = ANY(k.conkey))
   AND NOT EXISTS (SELECT FROM pg_constraint whole JOIN own ON own.oid = whole.confrelid
                    WHERE whole.oid = k.conparentid)
 ORDER BY k.oid

-- pinned --
EXISTS (SELECT FROM {table} AS pin WHERE {matches})

-- leaves --
-- The physical tables under a name: itself, its partitions, its heirs. The index named is
-- a usable btree that leads with the column by which records expire, where there is one.
WITH RECURSIVE family AS (
    SELECT %(oid)s::oid AS oid
    UNION
    SELECT i.inhrelid FROM pg_inherits i JOIN family f ON i.inhparent = f.oid
)
SELECT n.nspname, c.relname, c.relkind = 'r' AS is_table,
       pg_relation_size(c.oid) / current_setting('block_size')::int8 AS pages,
       c.reltuples::int8 AS row_estimate,
       EXISTS (
           SELECT FROM pg_index x
             JOIN pg_class xc ON xc.oid = x.indexrelid
             JOIN pg_am am ON am.oid = xc.relam
             JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = x.indkey[0]
            WHERE x.indrelid = c.oid AND am.amname = 'btree' AND x.indisvalid
              AND x.indpred IS NULL AND a.attname = %(ordered_by)s
       ) AS has_index
  FROM family f
  JOIN pg_class c ON c.oid = f.oid
  JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE c.relkind <> 'p'
 ORDER BY n.nspname, c.relname

-- partitions --
-- The leaves that hold a range of one column, a timestamptz, up to an instant that has a date. One
-- that is on its way out already is none; older servers know no such state.
WITH RECURSIVE family AS (
    SELECT %(oid)s::oid AS oid
    UNION
    SELECT i.inhrelid FROM pg_inherits i JOIN family f ON i.inhparent = f.oid
), ranges AS (
    SELECT i.inhparent AS parent, i.inhrelid AS part, k.partdefid <> 0 AS has_default,
           -- Another column's bounds are no instants, and would make the cast fail.
           CASE WHEN a.attname = %(column)s AND a.atttypid = 'timestamptz'::regtype
                THEN substring(pg_get_expr(c.relpartbound, c.oid)
                               FROM ' TO \(''([^'']+)''\)$')::timestamptz END AS until
      FROM family f
      JOIN pg_inherits i ON i.inhrelid = f.oid
      JOIN pg_class c ON c.oid = i.inhrelid
      JOIN pg_partitioned_table k ON k.partrelid = i.inhparent
      JOIN pg_attribute a ON a.attrelid = k.partrelid AND a.attnum = k.partattrs[0]
     WHERE k.partstrat = 'r' AND k.partnatts = 1 AND c.relkind = 'r'
       AND (to_jsonb(i) ->> 'inhdetachpending') IS DISTINCT FROM 'true'
)
SELECT pn.nspname, p.relname, n.nspname, c.relname, until, c.reltuples::int8,
       NOT has_default AND current_setting('server_version_num')::int4 >= 140000
  FROM ranges
  JOIN pg_class c ON c.oid = part
  JOIN pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_class p ON p.oid = parent
  JOIN pg_namespace pn ON pn.oid = p.relnamespace
 WHERE until >= '0001-01-02 00:00:00+00' AND until < '9999-01-01 00:00:00+00'
 ORDER BY until, n.nspname, c.relname

-- detach --
ALTER TABLE {parent} DETACH PARTITION {part}{how};

-- count_kept --
SELECT count(*) FROM ONLY {leaf} AS leaf WHERE ({goes}) IS NOT TRUE;

-- scan --
SELECT {fields} FROM ONLY {leaf} AS leaf WHERE {range}

-- look_up --
-- The rows of some keys, each with the place of its key among them. Through the name of the
-- table: an index finds every row, whichever partition it lies in.
SELECT {fields}, int8send(idemctl_at)
  FROM unnest({arrays}) WITH ORDINALITY AS wanted (idemctl_key, idemctl_scope, idemctl_at)
  JOIN {table} AS leaf ON {matches}

-- by_index --
-- With a few hundred keys the planner may still prefer to read the whole table, whose size
-- it does not know before the first analyze.
SELECT set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
       set_config('enable_mergejoin', 'off', true)

-- hold_range --
-- Rows that nobody may change while this transaction is open, with what their twins hold. Rows
-- that somebody has in hand are left out: whoever has them writes their twins.
SELECT {fields}{values} FROM ONLY {leaf} AS leaf WHERE {range} AND {lately}
   FOR SHARE SKIP LOCKED

-- hold_keys --
-- The same for the rows of some keys.
SELECT {fields}{values}
  FROM unnest({arrays}) WITH ORDINALITY AS wanted (idemctl_key, idemctl_scope, idemctl_at)
  JOIN {table} AS leaf ON {matches}
   FOR SHARE OF leaf SKIP LOCKED

-- column_types --
-- What the named columns are, and whether they may be NULL; a domain is what it is over.
SELECT a.attname, coalesce(b.typname, t.typname)::text, NOT (a.attnotnull OR t.typnotnull)
  FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
  LEFT JOIN pg_type b ON b.oid = t.typbasetype AND t.typbasetype <> 0
 WHERE a.attrelid = %(oid)s AND a.attname = ANY(%(names)s) AND NOT a.attisdropped

-- survey --
-- Counts by verdict and promise over a range of the heap; changes nothing. Both numbers make
-- one group, and infinities are dealt with a group at a time: this runs over every row.
SELECT judged, count, {oldest}, {newest}
  FROM (SELECT judged, count(*) AS count, min(ends) AS oldest, max(ends) AS newest
          FROM (SELECT {verdict} * {promises} + {promise} AS judged, {ends} AS ends
                  FROM ONLY {leaf} AS leaf WHERE {range}) AS rows
         GROUP BY judged) AS groups

-- as_micros --
-- Microseconds, as far as 64 bits hold them; later ones, infinity among them, have no end.
CASE WHEN {at} = '-infinity' THEN {long_past}
     WHEN {at} < '294247-01-01 00:00:00+00' THEN (extract(epoch FROM {at}) * 1000000)::int8 END

-- sample --
-- The share of rows that an index walk would meet, from about that many percent of the pages.
SELECT count(*) FILTER (WHERE {long_ago}), count(*)
  FROM ONLY {leaf} TABLESAMPLE SYSTEM ({percent})

-- delete_range --
-- What is expired in a range of the heap goes. Where another session holds a row, this
-- waits for it no longer than lock_timeout; the condition is then judged on the row as it
-- is now, so that a key renewed meanwhile stays.
DELETE FROM ONLY {leaf} AS leaf WHERE {range} AND {expired}

-- delete_range_telling --
-- The same, with the children, and telling which promises were over; that costs as much
-- again, so it is for layouts with children or policies.
WITH gone AS (
    DELETE FROM ONLY {leaf} AS leaf WHERE {range} AND {expired}
    RETURNING {join} AS id, {promise} AS promise, {ends} AS ends{record}
), {children}
SELECT went.*, (SELECT count(*) FROM children){no_row}
  FROM (SELECT) AS always LEFT JOIN ({went}) AS went ON true{rows}

-- delete_unlocked --
-- The same where somebody holds rows: those are left out instead of waited for. The
-- condition stands in both halves: each alone keeps a row that became somebody's again.
WITH picked AS MATERIALIZED (
    SELECT ctid FROM ONLY {leaf} AS leaf WHERE {range} AND {expired}
     LIMIT {limit} FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM ONLY {leaf} AS leaf
     WHERE ctid = ANY(ARRAY(SELECT ctid FROM picked)) AND {expired}
    RETURNING {join} AS id, {promise} AS promise, {ends} AS ends{record}
), {children}
SELECT went.*, (SELECT count(*) FROM children), (SELECT count(*) FROM picked){no_row}
  FROM (SELECT) AS always LEFT JOIN ({went}) AS went ON true{rows}

-- count_expired --
-- How many are expired, as far as that many.
SELECT count(*)
  FROM (SELECT FROM ONLY {leaf} AS leaf WHERE {range} AND {expired} LIMIT {up_to}) AS counted

-- count_oldest --
SELECT count(*)
  FROM (SELECT FROM ONLY {leaf} AS leaf WHERE {expired}
         ORDER BY {ordered_by} LIMIT {up_to}) AS counted

-- by_expiry --
-- The planner may think that so many are expired that reading them all is no more work.
SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
       set_config('enable_sort', 'off', true)

-- list_expired --
SELECT ctid::text FROM ONLY {leaf} AS leaf WHERE {range} AND {expired}

-- delete_oldest --
-- The next batch along the index by which records expire. The cursor is that one column:
-- a cursor over columns that the index lacks sorts all equal expiries at every step.
WITH picked AS MATERIALIZED (
    SELECT ctid, {ordered_by} AS at FROM ONLY {leaf} AS leaf
     WHERE {ordered_by} >= {after} AND {expired}
     ORDER BY {ordered_by} LIMIT {limit} FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM ONLY {leaf} AS leaf
     WHERE ctid = ANY(ARRAY(SELECT ctid FROM picked)) AND {expired}
    RETURNING {join} AS id, {promise} AS promise, {ends} AS ends{record}
), {children}
SELECT went.*, (SELECT count(*) FROM children), (SELECT count(*) FROM picked),
       (SELECT max(at)::text FROM picked){no_row}
  FROM (SELECT) AS always LEFT JOIN ({went}) AS went ON true{rows}

-- went --
-- What a batch deleted, by promise.
SELECT promise, count, {oldest} AS oldest, {newest} AS newest
  FROM (SELECT promise, count(*) AS count, min(ends) AS oldest, max(ends) AS newest
          FROM gone GROUP BY promise) AS groups

-- children --
children AS (
    DELETE FROM {child} c USING gone WHERE c.{join} = gone.id RETURNING {what}
)

-- no_children --
children AS (SELECT WHERE false)

-- archived_rows --
-- What went, row by row, behind what is told of the whole. In Postgres's own text form a row
-- is taken back as it was, whatever its types.
UNION ALL SELECT NULL, {kind}, {nothing}, record FROM {gone}

-- columns --
-- The columns of a table, in the order in which a row of it is written.
SELECT a.attname::text, format_type(a.atttypid, a.atttypmod), a.attgenerated <> ''
  FROM pg_attribute a
 WHERE a.attrelid = to_regclass(%(table)s) AND a.attnum > 0 AND NOT a.attisdropped
 ORDER BY a.attnum

-- keeps_apart --
-- Whether an index lets no two rows of a table have the same values in these columns, and what
-- the table is.
SELECT c.relkind = 'p', EXISTS (
    SELECT FROM pg_index x
     WHERE x.indrelid = c.oid AND x.indisunique AND x.indisvalid AND x.indpred IS NULL
       AND NOT EXISTS (
           SELECT FROM unnest(x.indkey::int2[]) WITH ORDINALITY AS u (number, place)
             LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = u.number
            WHERE u.place <= x.indnkeyatts
              AND (a.attname IS NULL OR a.attname <> ALL (%(columns)s::text[]))))
  FROM pg_class c WHERE c.oid = %(oid)s

-- there --
-- The rows that have the keys of archived ones.
SELECT wanted.number, (there.*)::text
  FROM (VALUES {wanted}) AS wanted (number, key, scope)
  JOIN {table} AS there ON there.{key} = wanted.key AND {same_scope}

-- restore --
-- What is there stays as it is, also where it came between the look and this.
INSERT INTO {table} AS there ({columns}) OVERRIDING SYSTEM VALUE
VALUES {rows} ON CONFLICT DO NOTHING RETURNING (there.*)::text

-- flush --
-- Batches commit without waiting for the disk; this one waits, and takes all before it along.
SELECT pg_logical_emit_message(true, 'idemctl', 'gc')

-- lock --
SELECT pg_try_advisory_lock(%(class)s, %(object)s)

-- lock_holder --
SELECT a.pid, a.application_name, a.backend_start
  FROM pg_locks l JOIN pg_stat_activity a USING (pid)
 WHERE l.locktype = 'advisory' AND l.classid = %(class)s::int8::oid
   AND l.objid = %(object)s::int8::oid AND l.objsubid = 2 AND l.granted
   AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())

-- oldest_expired --
SELECT {as_micros} FROM ONLY {leaf} AS leaf WHERE {expired} ORDER BY {order} LIMIT 1

-- overtaken --
-- The rows in a range of the heap that wait, though one that comes after them went some minutes
-- ago. Within the EXISTS a name alone is the later row's.
SELECT {fields} FROM ONLY {leaf} AS leaf
 WHERE {range} AND {waiting} AND EXISTS (
     SELECT FROM {table} AS later
      WHERE later.{within} = leaf.{within} AND later.{by} > leaf.{by} AND {gone}
        AND {gone_at} < clock_timestamp() - interval '5 minutes')

-- repeated_steps --
-- The rows in a range of the heap that have a step which was done more than once. Columns of
-- the child come first where both have one of a name: `done` speaks of the child.
SELECT {fields} FROM ONLY {leaf} AS leaf
 WHERE {range} AND EXISTS (
     SELECT FROM {child} AS child WHERE child.{join} = leaf.{join} AND {done}
      GROUP BY child.{step} HAVING count(*) > 1)

-- own_server --
-- What tells one cluster, and one history of it, from another.
SELECT s.system_identifier::text, c.timeline_id
  FROM pg_control_system() s, pg_control_checkpoint() c

-- own_clock --
SELECT clock_timestamp(), pg_postmaster_start_time()

-- witness --
SELECT nonce, epoch, hb, hb_at, system_identifier, timeline_id, redis_run_ids, redis_flushes, fence
  FROM {witness} WHERE store = {store}

-- write_first_witness --
INSERT INTO {witness} (store, nonce, epoch, hb, hb_at, system_identifier, timeline_id,
                       redis_run_ids, redis_flushes, fence)
VALUES ({store}, {nonce}, {epoch}, {hb}, {hb_at}, {system_identifier}, {timeline_id},
        {redis_run_ids}, {redis_flushes}, {fence})
    ON CONFLICT DO NOTHING

-- write_witness --
UPDATE {witness}
   SET nonce = {nonce}, epoch = {epoch}, hb = {hb}, hb_at = {hb_at},
       system_identifier = {system_identifier}, timeline_id = {timeline_id},
       redis_run_ids = {redis_run_ids}, redis_flushes = {redis_flushes}, fence = {fence}
 WHERE store = {store} AND hb = {seen_hb} AND nonce = {seen_nonce}

-- freeze --
SELECT frozen_by, reason, run_id, frozen_at, frozen_until
  FROM {freeze} WHERE store = {store} AND frozen_until > clock_timestamp()

-- write_freeze --
INSERT INTO {freeze} (store, frozen_by, reason, run_id, frozen_at, frozen_until)
VALUES ({store}, {by}, {reason}, {run_id}, {frozen_at}, {until})
    ON CONFLICT (store) DO UPDATE
   SET frozen_by = excluded.frozen_by, reason = excluded.reason, run_id = excluded.run_id,
       frozen_at = excluded.frozen_at, frozen_until = excluded.frozen_until

-- thaw --
DELETE FROM {freeze} WHERE store = {store}

-- fence_sequence --
-- Where a column takes its numbers from, and the last that was given out.
SELECT s.seq::oid, quote_ident(q.schemaname) || '.' || quote_ident(q.sequencename), q.last_value,
       has_sequence_privilege(s.seq, 'SELECT, USAGE'), has_sequence_privilege(s.seq, 'UPDATE')
  FROM (SELECT coalesce(
            pg_get_serial_sequence(%(table)s, %(column)s)::regclass,
            (SELECT d.refobjid::regclass
               FROM pg_attribute a JOIN pg_attrdef f ON f.adrelid = a.attrelid AND f.adnum = a.attnum
               JOIN pg_depend d ON d.classid = 'pg_attrdef'::regclass AND d.objid = f.oid
               JOIN pg_class c ON d.refclassid = 'pg_class'::regclass AND c.oid = d.refobjid
              WHERE a.attrelid = to_regclass(%(table)s) AND a.attname = %(column)s
                AND c.relkind = 'S' LIMIT 1)) AS seq) s
  JOIN pg_class c ON c.oid = s.seq JOIN pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_sequences q ON (q.schemaname, q.sequencename) = (n.nspname, c.relname)

-- own_rights --
-- Tables of idemctl's own, and what this user may do with them; found without looking into a
-- schema, which this user may not use, perhaps.
SELECT quote_ident(n.nspname), has_schema_privilege(n.oid, 'USAGE'), c.relname::text,
       quote_ident(n.nspname) || '.' || quote_ident(c.relname),
       has_table_privilege(c.oid, 'SELECT'), has_table_privilege(c.oid, 'INSERT'),
       has_table_privilege(c.oid, 'UPDATE'), has_table_privilege(c.oid, 'DELETE')
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE (n.nspname = %(schema)s AND c.relname = ANY (%(tables)s))
    OR (n.nspname = 'public' AND c.relname = %(epoch)s)
 ORDER BY c.relname DESC

-- epoch_table --
SELECT to_regclass('public.idemctl_epoch') IS NOT NULL

-- epoch --
SELECT epoch FROM public.idemctl_epoch

-- raise_epoch --
UPDATE public.idemctl_epoch SET epoch = %(epoch)s WHERE epoch < %(epoch)s

-- move_fence --
-- Far enough that no number which is given out meanwhile is given out twice.
SELECT setval(c.oid::regclass, %(fence)s)
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_sequences q ON (q.schemaname, q.sequencename) = (n.nspname, c.relname)
 WHERE c.oid = %(sequence)s AND coalesce(q.last_value, 0) < %(past)s

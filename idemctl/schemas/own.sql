-- What is idemctl's own in Postgres, beside the tables of the application.
--
-- Run it as the owner of the database:
--   idemctl schema own | psql
-- Every statement may be run again: what exists stays.


-- The generation of the store: one row, raised after each restore, so that what was written
-- before and what was written after can be told apart:
--   UPDATE public.idemctl_epoch SET epoch = <largest epoch seen anywhere> + 1;
CREATE TABLE IF NOT EXISTS public.idemctl_epoch (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    epoch    bigint  NOT NULL DEFAULT 1
);
INSERT INTO public.idemctl_epoch DEFAULT VALUES ON CONFLICT DO NOTHING;

CREATE OR REPLACE FUNCTION public.idemctl_epoch() RETURNS bigint
    LANGUAGE sql STABLE
    RETURN (SELECT one.epoch FROM public.idemctl_epoch AS one);


-- What idemctl keeps for itself: in the schema that `state: {schema: idemctl}` names; without
-- that line nothing of it is read or written. What rights whoever runs idemctl needs on it,
-- idemctl doctor --grants prints.
CREATE SCHEMA IF NOT EXISTS idemctl;

-- The witness: one heartbeat a store, with a copy in Redis and one in the state folder. A copy
-- that is behind another tells that its store went back in time.
CREATE TABLE IF NOT EXISTS idemctl.idemctl_witness (
    store             text        PRIMARY KEY,
    nonce             text        NOT NULL,  -- copies of one witness have the same
    epoch             bigint      NOT NULL,
    hb                bigint      NOT NULL,
    hb_at             timestamptz NOT NULL,
    system_identifier text,                  -- of the cluster; NULL here and below: not known
    timeline_id       bigint,
    redis_run_ids     text[]      NOT NULL,
    redis_flushes     bigint,
    fence             bigint                 -- the last that its sequence gave out
);

-- The kill switch: while a row is there and its time is not over, no verb of idemctl writes.
CREATE TABLE IF NOT EXISTS idemctl.idemctl_freeze (
    store        text        PRIMARY KEY,
    frozen_by    text        NOT NULL,
    reason       text        NOT NULL,
    run_id       text        NOT NULL,
    frozen_at    timestamptz NOT NULL,
    frozen_until timestamptz NOT NULL
);

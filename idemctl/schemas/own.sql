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

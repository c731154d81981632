-- What is described in 041_take.sql. While nobody has counted the events of a young log, the plan for a
-- join with them reads all of the wallet's, at every call. So each cause is looked up by itself: a
-- subquery with an OFFSET is not made part of a join.
CREATE OR REPLACE FUNCTION wallet.take(
    streams text[], account_names text[], table_ids text[], causes uuid[],
    command_streams text[], callers text[], command_ids uuid[]
) RETURNS TABLE (
    what text, at timestamptz, key text, word text, other text, one bigint, two bigint, three bigint,
    id uuid, bytes bytea
)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
-- All is found by key whatever the statistics said when the plan was made.
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
BEGIN
    PERFORM log.lock_heads(ARRAY(SELECT DISTINCT log.partition_of(s) FROM unnest(streams) AS s));
    RETURN QUERY
    SELECT 'now', clock_timestamp(), null::text, null::text, null::text,
           null::bigint, null::bigint, null::bigint, null::uuid, null::bytea
    UNION ALL
    SELECT 'account', null, a.account, a.currency, null, a.balance, a.postings, null, null, null
      FROM unnest(account_names) AS wanted JOIN wallet.accounts AS a ON a.account = wanted
    UNION ALL
    SELECT 'table', null, t.table_id, t.currency, t.game, null, null, null, null, null
      FROM unnest(table_ids) AS wanted JOIN wallet.tables AS t ON t.table_id = wanted
    UNION ALL
    SELECT 'stream', null, s.stream, null, null, s.version, null, null, null, null
      FROM unnest(streams) AS wanted JOIN log.streams AS s ON s.stream = wanted
    UNION ALL
    SELECT 'cause', null, null, null, null, null, null, null, wanted, null
      FROM unnest(causes) AS wanted CROSS JOIN LATERAL (
            SELECT FROM log.events AS e
             WHERE e.causation_id = wanted AND left(e.stream, 7) = 'wallet/' OFFSET 0
           ) AS answer
    UNION ALL
    SELECT 'command', null, null, null, null, c.i, k.first_version, k.last_version, null, k.body_hash
      FROM unnest(command_streams, callers, command_ids)
           WITH ORDINALITY AS c (stream, caller, command_id, i)
      JOIN log.commands AS k
        ON k.stream = c.stream AND k.caller = c.caller AND k.command_id = c.command_id;
END
$$;

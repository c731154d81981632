-- Locks the heads of partitions, in name order, until the transaction ends; for callers that append
-- inside their own transaction and must read before they write. Only those of the caller's own
-- categories (LG002). The lock on the table keeps partitions from being added meanwhile.
CREATE FUNCTION log.lock_heads(names text[]) RETURNS SETOF log.partitions
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    refused text;
BEGIN
    SELECT n INTO refused FROM unnest(names) AS n
      LEFT JOIN log.partitions AS p ON p.name = n
      LEFT JOIN log.writers AS w ON w.category = p.category AND w.role = session_user
     WHERE w.role IS NULL LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION '% may not write partition %', session_user, quote_nullable(refused)
            USING ERRCODE = 'LG002';
    END IF;
    LOCK TABLE log.partitions IN ROW SHARE MODE;
    RETURN QUERY
        SELECT p.* FROM log.partitions AS p WHERE p.name = ANY (names) ORDER BY p.name FOR UPDATE;
END
$$;
ALTER FUNCTION log.lock_heads(text[]) OWNER TO croupier_owner;

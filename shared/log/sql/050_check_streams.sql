-- Refuses names that are no streams (LG003) and categories that are not the caller's (LG002).
--
-- It asks for the session's user: inside a SECURITY DEFINER function the current one is the owner.
CREATE FUNCTION log.check_streams(streams text[]) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    stream text;
BEGIN
    SELECT s INTO stream FROM unnest(streams) AS s
     WHERE s IS NULL OR s !~ '^[a-z]{1,16}/[A-Za-z0-9_-]{1,64}$' LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'no stream can be called %', quote_nullable(stream) USING ERRCODE = 'LG003';
    END IF;
    SELECT s INTO stream FROM unnest(streams) AS s
     WHERE split_part(s, '/', 1) <> ALL (
        ARRAY(SELECT w.category FROM log.writers AS w WHERE w.role = session_user)
     ) LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION '% may not write stream %', session_user, stream USING ERRCODE = 'LG002';
    END IF;
END
$$;
ALTER FUNCTION log.check_streams(text[]) OWNER TO croupier_owner;

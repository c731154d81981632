-- What the append-only triggers call. SQLSTATE LG001: something tried to change the record.
CREATE FUNCTION log.refuse_change() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION 'log.% is append-only: % refused', TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'LG001';
END
$$;
ALTER FUNCTION log.refuse_change() OWNER TO croupier_owner;

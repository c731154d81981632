-- What the append-only triggers call. SQLSTATE WL001: something tried to change the books.
CREATE FUNCTION wallet.refuse_change() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION 'wallet.% cannot be changed so: % refused', TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'WL001';
END
$$;
ALTER FUNCTION wallet.refuse_change() OWNER TO croupier_owner;

-- Nobody changes what was signed, whatever their role. SQLSTATE LG001, as for the log.
CREATE FUNCTION audit.refuse_change() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION 'audit.% is append-only: % refused', TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'LG001';
END
$$;
ALTER FUNCTION audit.refuse_change() OWNER TO croupier_owner;
REVOKE ALL ON FUNCTION audit.refuse_change() FROM PUBLIC;

DO $$
DECLARE
    target text;
BEGIN
    FOREACH target IN ARRAY ARRAY['checkpoint_line', 'checkpoint', 'subtree'] LOOP
        EXECUTE format(
            'CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit.%I
                 FOR EACH STATEMENT EXECUTE FUNCTION audit.refuse_change()', target);
        EXECUTE format('ALTER TABLE audit.%I ENABLE ALWAYS TRIGGER append_only', target);
    END LOOP;
END
$$;

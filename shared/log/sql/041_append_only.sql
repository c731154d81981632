-- Nobody changes what is written, whatever their role, also under session_replication_role = replica
-- (ENABLE ALWAYS). The row triggers are for statements that come in through a parent table, which fire
-- no statement trigger here.
DO $$
DECLARE
    target text;
BEGIN
    FOREACH target IN ARRAY ARRAY['events', 'blocks', 'commands'] LOOP
        EXECUTE format(
            'CREATE TRIGGER append_only_statement BEFORE UPDATE OR DELETE OR TRUNCATE ON log.%I
                 FOR EACH STATEMENT EXECUTE FUNCTION log.refuse_change()', target);
        EXECUTE format(
            'CREATE TRIGGER append_only_row BEFORE UPDATE OR DELETE ON log.%I
                 FOR EACH ROW EXECUTE FUNCTION log.refuse_change()', target);
        EXECUTE format('ALTER TABLE log.%I ENABLE ALWAYS TRIGGER append_only_statement', target);
        EXECUTE format('ALTER TABLE log.%I ENABLE ALWAYS TRIGGER append_only_row', target);
    END LOOP;
END
$$;

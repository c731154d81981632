-- Heads only move forward, and neither a partition nor a stream ever goes away.
DO $$
DECLARE
    target text;
BEGIN
    FOREACH target IN ARRAY ARRAY['partitions', 'streams'] LOOP
        EXECUTE format(
            'CREATE TRIGGER forward_only_statement BEFORE DELETE OR TRUNCATE ON log.%I
                 FOR EACH STATEMENT EXECUTE FUNCTION log.refuse_change()', target);
        EXECUTE format(
            'CREATE TRIGGER forward_only_delete BEFORE DELETE ON log.%I
                 FOR EACH ROW EXECUTE FUNCTION log.refuse_change()', target);
        EXECUTE format('ALTER TABLE log.%I ENABLE ALWAYS TRIGGER forward_only_statement', target);
        EXECUTE format('ALTER TABLE log.%I ENABLE ALWAYS TRIGGER forward_only_delete', target);
    END LOOP;
END
$$;

CREATE TRIGGER forward_only_row BEFORE UPDATE ON log.partitions
    FOR EACH ROW WHEN (
        new.name <> old.name OR new.position <= old.position OR new.recorded_at < old.recorded_at
    ) EXECUTE FUNCTION log.refuse_change();
ALTER TABLE log.partitions ENABLE ALWAYS TRIGGER forward_only_row;

CREATE TRIGGER forward_only_row BEFORE UPDATE ON log.streams
    FOR EACH ROW WHEN (
        new.stream <> old.stream OR new.partition <> old.partition OR new.version <= old.version
    ) EXECUTE FUNCTION log.refuse_change();
ALTER TABLE log.streams ENABLE ALWAYS TRIGGER forward_only_row;

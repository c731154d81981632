-- Transfers and postings stay as they are, accounts stay; whoever asks, also under
-- session_replication_role = replica (ENABLE ALWAYS).
DO $$
DECLARE
    target text;
BEGIN
    FOREACH target IN ARRAY ARRAY['transfers', 'postings'] LOOP
        EXECUTE format(
            'CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON wallet.%I
                 FOR EACH STATEMENT EXECUTE FUNCTION wallet.refuse_change()', target);
        EXECUTE format('ALTER TABLE wallet.%I ENABLE ALWAYS TRIGGER append_only', target);
    END LOOP;
END
$$;

CREATE TRIGGER accounts_stay BEFORE DELETE OR TRUNCATE ON wallet.accounts
    FOR EACH STATEMENT EXECUTE FUNCTION wallet.refuse_change();
ALTER TABLE wallet.accounts ENABLE ALWAYS TRIGGER accounts_stay;

CREATE TRIGGER accounts_keep BEFORE UPDATE ON wallet.accounts
    FOR EACH ROW WHEN (
        new.account <> old.account OR new.currency <> old.currency
        OR new.opened_at <> old.opened_at OR new.postings <= old.postings
    ) EXECUTE FUNCTION wallet.refuse_change();
ALTER TABLE wallet.accounts ENABLE ALWAYS TRIGGER accounts_keep;

-- Who may touch the database. The owner of the log cannot log in; services log in as themselves, the
-- passwords are set by whoever deploys. Roles belong to the whole cluster, so another database of the
-- same cluster may have made them already.
DO $$
DECLARE
    role text;
BEGIN
    FOREACH role IN ARRAY ARRAY[
        'croupier_owner', 'croupier_table', 'croupier_shuffle', 'croupier_wallet',
        'croupier_audit', 'croupier_relay', 'croupier_auditor'
    ] LOOP
        BEGIN
            EXECUTE format(
                'CREATE ROLE %I %s NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS',
                role, CASE role WHEN 'croupier_owner' THEN 'NOLOGIN' ELSE 'LOGIN' END
            );
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL;
        END;
    END LOOP;
END
$$;

-- The wallet reads and calls `post`; it may remember what a table opened with. Audit and auditors read.
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA wallet FROM PUBLIC;
GRANT USAGE ON SCHEMA wallet TO croupier_wallet, croupier_audit, croupier_auditor;
GRANT SELECT ON wallet.tables, wallet.accounts, wallet.transfers, wallet.postings
    TO croupier_wallet, croupier_audit, croupier_auditor;
GRANT INSERT ON wallet.tables TO croupier_wallet;
GRANT EXECUTE ON FUNCTION wallet.post(
    timestamptz, text[], text[], uuid[], smallint[], text[], text[], text[],
    uuid[], text[], bigint[], bigint[], bigint[]
), wallet.take(text[], text[], text[], uuid[], text[], text[], uuid[]) TO croupier_wallet;

-- What each role may do here: read, and call the functions. Nobody may write a table.
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA log FROM PUBLIC;
GRANT USAGE ON SCHEMA log TO
    croupier_table, croupier_shuffle, croupier_wallet, croupier_audit, croupier_relay,
    croupier_auditor;
GRANT SELECT ON log.partitions, log.streams, log.events, log.blocks TO
    croupier_table, croupier_shuffle, croupier_wallet, croupier_audit, croupier_relay,
    croupier_auditor;
GRANT SELECT ON log.commands TO
    croupier_table, croupier_shuffle, croupier_wallet, croupier_audit, croupier_auditor;
GRANT SELECT ON log.writers TO croupier_audit, croupier_auditor;
GRANT EXECUTE ON FUNCTION log.append(
    uuid[], text[], bigint[], integer[], bytea[], text[], uuid[], bytea[],
    text[], integer[], bytea[], text[], uuid[], uuid[], text[]
), log.lock_heads(text[]) TO
    croupier_table, croupier_shuffle, croupier_wallet, croupier_audit;
GRANT EXECUTE ON FUNCTION log.partition_of(text) TO
    croupier_table, croupier_shuffle, croupier_wallet, croupier_audit, croupier_relay,
    croupier_auditor;

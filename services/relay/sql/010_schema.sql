CREATE SCHEMA relay AUTHORIZATION croupier_owner;
COMMENT ON SCHEMA relay IS 'How far the relay has come (docs/event-log.md)';
GRANT USAGE ON SCHEMA relay TO croupier_relay, croupier_auditor;

CREATE SCHEMA log AUTHORIZATION croupier_owner;
COMMENT ON SCHEMA log IS 'The event log: docs/event-log.md';

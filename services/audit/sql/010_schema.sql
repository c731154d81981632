-- What the audit service makes of the log, for its own look-ups and for people with psql. Everything here
-- follows from the log and can be made again from it. Tables are called by one of what they hold and are
-- the service's; views are called by many and are for people.
CREATE SCHEMA audit AUTHORIZATION croupier_owner;
COMMENT ON SCHEMA audit IS 'The log, indexed: views hands, bets, cards, decisions, postings, events, tables';
GRANT USAGE ON SCHEMA audit TO croupier_audit, croupier_auditor;

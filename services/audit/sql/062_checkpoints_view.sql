CREATE VIEW audit.checkpoints AS
SELECT partition, line, size, signed_at, note FROM audit.checkpoint;
ALTER VIEW audit.checkpoints OWNER TO croupier_owner;
GRANT SELECT ON audit.checkpoints TO croupier_auditor, croupier_audit;

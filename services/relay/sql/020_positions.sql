-- Up to where JetStream has confirmed each partition. It may lag behind: what is published again
-- after a restart does no harm.
CREATE TABLE relay.positions (
    partition  text COLLATE "C" PRIMARY KEY,
    position   bigint NOT NULL CHECK (position >= 0),
    moved_at   timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 20);
ALTER TABLE relay.positions OWNER TO croupier_owner;
GRANT SELECT, INSERT, UPDATE ON relay.positions TO croupier_relay;
GRANT SELECT ON relay.positions TO croupier_auditor;

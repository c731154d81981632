-- One row an event of the log: its body as JSON (shared/events.py), private fields sealed. The rest of the
-- event stays where it is, in log.events, and the view audit.events has both: written a second time it was
-- three more indexes, and a third of what the index costs.
CREATE TABLE audit.event (
    position   bigint NOT NULL,
    derived    boolean NOT NULL,
    partition  text COLLATE "C" NOT NULL,
    body       jsonb NOT NULL,
    PRIMARY KEY (partition, position)
);
ALTER TABLE audit.event OWNER TO croupier_owner;
GRANT SELECT, INSERT ON audit.event TO croupier_audit;

-- Which shoe a table dealt from, from this version of its stream on.
CREATE TABLE audit.shoe_ready (
    stream   text COLLATE "C" NOT NULL,
    version  bigint NOT NULL,
    shoe_id  text COLLATE "C" NOT NULL,
    PRIMARY KEY (stream, version)
);
ALTER TABLE audit.shoe_ready OWNER TO croupier_owner;
GRANT SELECT, INSERT ON audit.shoe_ready TO croupier_audit;

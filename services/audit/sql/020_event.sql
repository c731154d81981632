-- One row an event of the log. `body` is the event as JSON (shared/events.py); private fields stay sealed.
CREATE TABLE audit.event (
    position        bigint NOT NULL,
    version         bigint NOT NULL,
    recorded_at     timestamptz NOT NULL,
    causation_id    uuid,
    correlation_id  uuid,
    partition       text COLLATE "C" NOT NULL,
    stream          text COLLATE "C" NOT NULL,
    type            text COLLATE "C" NOT NULL,
    derived         boolean NOT NULL,
    hand_id         text COLLATE "C",
    actor           text COLLATE "C" NOT NULL,
    hash            bytea NOT NULL,
    body            jsonb NOT NULL,
    PRIMARY KEY (partition, position),
    UNIQUE (stream, version)
);
ALTER TABLE audit.event OWNER TO croupier_owner;
CREATE INDEX event_hand ON audit.event (hand_id) WHERE hand_id IS NOT NULL;
-- Which shoe a table dealt from at a version.
CREATE INDEX event_shoe ON audit.event (stream, version) WHERE type = 'ShoeReady';
GRANT SELECT, INSERT ON audit.event TO croupier_audit;

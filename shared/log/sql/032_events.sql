-- The events. Four indexes, each paid for by every append: the two keys, and two partial ones that
-- only hold the events that have a hand or a cause.
CREATE TABLE log.events (
    position        bigint NOT NULL CHECK (position > 0),
    version         bigint NOT NULL CHECK (version > 0),
    recorded_at     timestamptz NOT NULL,
    schema_version  integer NOT NULL CHECK (schema_version > 0),
    causation_id    uuid,
    correlation_id  uuid,
    partition       text COLLATE "C" NOT NULL,
    stream          text COLLATE "C" NOT NULL,
    type            text COLLATE "C" NOT NULL CHECK (type <> ''),
    hand_id         text COLLATE "C" CHECK (hand_id <> ''),
    actor           text COLLATE "C" NOT NULL,
    hash            bytea NOT NULL CHECK (octet_length(hash) = 32),
    payload         bytea NOT NULL,
    PRIMARY KEY (partition, position),
    UNIQUE (stream, version)
);
ALTER TABLE log.events OWNER TO croupier_owner;
CREATE INDEX events_hand ON log.events (hand_id) WHERE hand_id IS NOT NULL;
CREATE INDEX events_causation ON log.events (causation_id) WHERE causation_id IS NOT NULL;

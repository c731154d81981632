-- One row an append: a link of the partition's chain.
CREATE TABLE log.blocks (
    partition       text COLLATE "C" NOT NULL,
    first_position  bigint NOT NULL CHECK (first_position > 0),
    count           integer NOT NULL CHECK (count BETWEEN 1 AND 1000),
    append_id       uuid NOT NULL UNIQUE,
    recorded_at     timestamptz NOT NULL,
    head            bytea NOT NULL CHECK (octet_length(head) = 32),
    PRIMARY KEY (partition, first_position)
);
ALTER TABLE log.blocks OWNER TO croupier_owner;

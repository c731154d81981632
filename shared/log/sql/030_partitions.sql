-- One row a partition: its head. Every append updates one, so the row has its page to itself, and the
-- many versions of it that a second leaves behind are pruned on that page without touching an index.
CREATE TABLE log.partitions (
    name         text COLLATE "C" PRIMARY KEY,
    category     text COLLATE "C" NOT NULL CHECK (category ~ '^[a-z]{1,16}$'),
    number       integer NOT NULL CHECK (number BETWEEN 0 AND 9999),
    position     bigint NOT NULL DEFAULT 0 CHECK (position >= 0),
    head         bytea NOT NULL CHECK (octet_length(head) = 32),
    recorded_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE (category, number),
    CHECK (name = category || '.' || number)
) WITH (fillfactor = 10);
ALTER TABLE log.partitions OWNER TO croupier_owner;

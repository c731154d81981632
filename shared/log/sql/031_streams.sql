-- One row a stream: where it lives and how many events it has. `version` is in no index, so that
-- appends move it in place (HOT).
CREATE TABLE log.streams (
    stream     text COLLATE "C" PRIMARY KEY,
    partition  text COLLATE "C" NOT NULL,
    version    bigint NOT NULL CHECK (version > 0)
) WITH (fillfactor = 70);
ALTER TABLE log.streams OWNER TO croupier_owner;

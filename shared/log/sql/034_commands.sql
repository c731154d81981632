-- The commands that were carried out: the same id again gets the answer of the first time.
CREATE TABLE log.commands (
    stream         text COLLATE "C" NOT NULL,
    caller         text COLLATE "C" NOT NULL CHECK (caller <> ''),
    command_id     uuid NOT NULL,
    body_hash      bytea NOT NULL CHECK (octet_length(body_hash) = 32),
    first_version  bigint NOT NULL CHECK (first_version > 0),
    last_version   bigint NOT NULL CHECK (last_version >= first_version),
    PRIMARY KEY (stream, caller, command_id)
);
ALTER TABLE log.commands OWNER TO croupier_owner;

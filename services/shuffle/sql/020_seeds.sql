-- The server seed of each shoe, from its opening until it is published; for good where it never is.
-- AES-256-GCM under a key that only the shuffle service holds: this table alone opens nothing.
CREATE TABLE shuffle.seeds (
    shoe_id     text COLLATE "C" PRIMARY KEY CHECK (shoe_id ~ '^[A-Za-z0-9_-]{1,64}$'),
    key_id      text COLLATE "C" NOT NULL CHECK (key_id <> ''),
    nonce       bytea NOT NULL CHECK (octet_length(nonce) = 12),
    ciphertext  bytea NOT NULL CHECK (octet_length(ciphertext) = 32 + 16)
);
ALTER TABLE shuffle.seeds OWNER TO croupier_owner;

-- Fingerprints of the players' seeds that were opened: none is taken a second time.
CREATE TABLE shuffle.player_seeds (
    fingerprint  bytea PRIMARY KEY CHECK (octet_length(fingerprint) = 32),
    shoe_id      text COLLATE "C" NOT NULL
);
ALTER TABLE shuffle.player_seeds OWNER TO croupier_owner;

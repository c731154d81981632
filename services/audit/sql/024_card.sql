-- One row a card each time it is dealt or turned. `card` is null where it lies face down or is private:
-- no private card is ever in this database in the clear.
CREATE TABLE audit.card (
    stream      text COLLATE "C" NOT NULL,
    version     bigint NOT NULL,
    ordinal     integer NOT NULL,
    hand_id     text COLLATE "C",
    position    integer NOT NULL,
    hand        text COLLATE "C" NOT NULL,
    face        text COLLATE "C" NOT NULL,
    viewer      text COLLATE "C",
    card        text COLLATE "C",
    dealt_at    timestamptz NOT NULL,
    PRIMARY KEY (stream, version, ordinal)
);
ALTER TABLE audit.card OWNER TO croupier_owner;
CREATE INDEX card_hand ON audit.card (hand_id) WHERE hand_id IS NOT NULL;
GRANT SELECT, INSERT ON audit.card TO croupier_audit;

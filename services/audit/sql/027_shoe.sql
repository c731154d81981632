-- One row a shoe, from the moment in which its table asks for it or shuffle opens it, whichever is indexed
-- first: the two are in different partitions. A shoe without `requested_at` was opened and no table asked.
CREATE TABLE audit.shoe (
    shoe_id        text COLLATE "C" PRIMARY KEY,
    table_id       text COLLATE "C" NOT NULL,
    requested_at   timestamptz,
    opened_at      timestamptz,
    decks          integer,
    publish        boolean,
    commitment     bytea,
    cut_by         text COLLATE "C",
    cut_at         integer,
    sealed_at      timestamptz,
    root           bytea,
    seeds_used     text[] NOT NULL DEFAULT '{}',
    seeds_withheld text[] NOT NULL DEFAULT '{}',
    retired_at     timestamptz,
    retire_reason  text COLLATE "C",
    dealt          integer,
    burned         integer,
    exposed        integer,
    checked_at     timestamptz,
    holds          boolean,
    findings       text[] NOT NULL DEFAULT '{}'
);
ALTER TABLE audit.shoe OWNER TO croupier_owner;
-- Lists are read newest first: by all, or by table. One that was not opened stands where it was asked for.
CREATE INDEX shoe_time ON audit.shoe ((coalesce(opened_at, requested_at)), shoe_id);
CREATE INDEX shoe_table ON audit.shoe (table_id, (coalesce(opened_at, requested_at)), shoe_id);
CREATE INDEX shoe_unchecked ON audit.shoe (retired_at)
    WHERE NOT publish AND retired_at IS NOT NULL AND checked_at IS NULL;
GRANT SELECT, INSERT, UPDATE ON audit.shoe TO croupier_audit;

-- Which hands were dealt from which shoe; a hand that was dealt again has two.
CREATE TABLE audit.shoe_hand (
    shoe_id  text COLLATE "C" NOT NULL,
    hand_id  text COLLATE "C" NOT NULL,
    PRIMARY KEY (shoe_id, hand_id)
);
ALTER TABLE audit.shoe_hand OWNER TO croupier_owner;
CREATE INDEX shoe_hand_hand ON audit.shoe_hand (hand_id);
CREATE INDEX hand_player_hand ON audit.hand_player (hand_id, player);
GRANT SELECT, INSERT ON audit.shoe_hand TO croupier_audit;

-- Who was given a retired shoe to look at, and why: `person`; `check` is the audit service itself.
CREATE TABLE audit.disclosure (
    shoe_id       text COLLATE "C" NOT NULL,
    version       bigint NOT NULL,
    purpose       text COLLATE "C" NOT NULL,
    disclosed_to  text COLLATE "C" NOT NULL,
    why           text NOT NULL,
    disclosed_at  timestamptz NOT NULL,
    PRIMARY KEY (shoe_id, version)
);
ALTER TABLE audit.disclosure OWNER TO croupier_owner;
CREATE INDEX disclosure_time ON audit.disclosure (disclosed_at, shoe_id) WHERE purpose = 'person';
GRANT SELECT, INSERT ON audit.disclosure TO croupier_audit;

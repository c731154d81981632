-- Decisions as they were made; `defaulted`: the clock made it (TAB-06), and no player is named.
CREATE TABLE audit.decision (
    stream        text COLLATE "C" NOT NULL,
    version       bigint NOT NULL,
    hand_id       text COLLATE "C" NOT NULL,
    box           integer NOT NULL,
    player        text COLLATE "C",
    action        text COLLATE "C" NOT NULL,
    amount_minor  bigint NOT NULL,
    positions     integer[] NOT NULL,
    defaulted     boolean NOT NULL,
    decided_at    timestamptz NOT NULL,
    PRIMARY KEY (stream, version)
);
ALTER TABLE audit.decision OWNER TO croupier_owner;
CREATE INDEX decision_hand ON audit.decision (hand_id);
GRANT SELECT, INSERT ON audit.decision TO croupier_audit;

-- One row a hand, from the close of its betting on. Lists are read newest first: by all, table, game, player.
CREATE TABLE audit.hand (
    hand_id          text COLLATE "C" PRIMARY KEY,
    table_id         text COLLATE "C" NOT NULL,
    number           bigint NOT NULL,
    game             text COLLATE "C" NOT NULL,
    rules_version    integer NOT NULL,
    shoe_id          text COLLATE "C" NOT NULL,
    players          text[] NOT NULL,
    opened_version   bigint NOT NULL,
    opened_at        timestamptz NOT NULL,
    ended_version    bigint,
    ended_at         timestamptz,
    result           text,
    voided           boolean NOT NULL DEFAULT false,
    void_reason      text,
    staked_minor     bigint,
    returned_minor   bigint,
    pot_change_minor bigint,
    rake_minor       bigint
);
ALTER TABLE audit.hand OWNER TO croupier_owner;
CREATE INDEX hand_time ON audit.hand (opened_at, hand_id);
CREATE INDEX hand_table ON audit.hand (table_id, opened_at, hand_id);
CREATE INDEX hand_game ON audit.hand (game, opened_at, hand_id);
GRANT SELECT, INSERT, UPDATE ON audit.hand TO croupier_audit;

CREATE TABLE audit.hand_player (
    player     text COLLATE "C" NOT NULL,
    opened_at  timestamptz NOT NULL,
    hand_id    text COLLATE "C" NOT NULL,
    PRIMARY KEY (player, opened_at, hand_id)
);
ALTER TABLE audit.hand_player OWNER TO croupier_owner;
GRANT SELECT, INSERT ON audit.hand_player TO croupier_audit;

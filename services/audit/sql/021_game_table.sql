CREATE TABLE audit.game_table (
    table_id       text COLLATE "C" PRIMARY KEY,
    name           text NOT NULL,
    game           text COLLATE "C" NOT NULL,
    rules_version  integer NOT NULL,
    rules          jsonb NOT NULL,
    currency       text COLLATE "C" NOT NULL,
    opened_at      timestamptz NOT NULL,
    closed_at      timestamptz
);
ALTER TABLE audit.game_table OWNER TO croupier_owner;
GRANT SELECT, INSERT, UPDATE ON audit.game_table TO croupier_audit;

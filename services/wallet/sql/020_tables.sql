-- What TableOpened said of each table: its later events name neither currency nor game.
CREATE TABLE wallet.tables (
    table_id  text COLLATE "C" PRIMARY KEY,
    currency  text COLLATE "C" NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    game      text COLLATE "C" NOT NULL CHECK (game <> '')
);
ALTER TABLE wallet.tables OWNER TO croupier_owner;

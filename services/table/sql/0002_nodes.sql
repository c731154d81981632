-- What operators see of the nodes and wish of them, and snapshots of tables.
ALTER TABLE tables.nodes
    -- What the node said of itself at its last heartbeat.
    ADD COLUMN tables integer NOT NULL DEFAULT 0,
    ADD COLUMN hands integer NOT NULL DEFAULT 0,
    ADD COLUMN watchers integer NOT NULL DEFAULT 0,
    ADD COLUMN commands_per_s real NOT NULL DEFAULT 0,
    -- Processor seconds a second.
    ADD COLUMN busy real NOT NULL DEFAULT 0;

-- Nodes that an operator wants empty, whichever process bears the name.
CREATE TABLE tables.drained (
    node text PRIMARY KEY CHECK (node ~ '^[A-Za-z0-9_-]{1,64}$'),
    since timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Where an operator wants the table, as long as that node lives and takes tables.
ALTER TABLE tables.directory ADD COLUMN wanted text CHECK (wanted ~ '^[A-Za-z0-9_-]{1,64}$');

-- Tables that nobody has are few: every node looks for them at every heartbeat.
CREATE INDEX directory_unowned ON tables.directory (table_id) WHERE owner IS NULL AND NOT closed;

-- Counts the operators' wishes, so that a node reads all of them only when there is a new one.
CREATE TABLE tables.wishes (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    revision bigint NOT NULL
);
INSERT INTO tables.wishes (revision) VALUES (0);

-- A table as it was at the end of a hand, so that a claim need not read its whole stream. Only a
-- cache: sealed, and of use only to the very version that wrote it, over the very event it names.
CREATE TABLE tables.snapshots (
    table_id text PRIMARY KEY CHECK (table_id ~ '^[A-Za-z0-9_-]{1,40}$'),
    version bigint NOT NULL,
    -- Of the event with that version.
    hash bytea NOT NULL,
    written_by bytea NOT NULL,
    key_id text NOT NULL,
    nonce bytea NOT NULL,
    ciphertext bytea NOT NULL
);

GRANT SELECT, INSERT, UPDATE, DELETE ON tables.drained, tables.snapshots TO croupier_table;
GRANT SELECT, UPDATE ON tables.wishes TO croupier_table;
GRANT SELECT ON tables.drained, tables.wishes TO croupier_audit, croupier_auditor;

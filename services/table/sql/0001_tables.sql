-- Which nodes live and which of them has which table. Nothing here is a promise: the log's epochs are
-- the fence, this only says whom to ask.
CREATE SCHEMA tables;

CREATE TABLE tables.nodes (
    node text PRIMARY KEY CHECK (node ~ '^[A-Za-z0-9_-]{1,64}$'),
    -- A process, not a name: a node that starts again is somebody else.
    incarnation uuid NOT NULL,
    address text NOT NULL,
    lease_until timestamptz NOT NULL,
    draining boolean NOT NULL DEFAULT false
);

CREATE TABLE tables.directory (
    table_id text PRIMARY KEY CHECK (table_id ~ '^[A-Za-z0-9_-]{1,40}$'),
    owner text,
    incarnation uuid,
    epoch bigint NOT NULL DEFAULT 0,
    closed boolean NOT NULL DEFAULT false
);

GRANT USAGE ON SCHEMA tables TO croupier_table, croupier_audit, croupier_auditor;
GRANT SELECT, INSERT, UPDATE, DELETE ON tables.nodes, tables.directory TO croupier_table;
GRANT SELECT ON tables.nodes, tables.directory TO croupier_audit, croupier_auditor;

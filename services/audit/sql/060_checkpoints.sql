-- What was signed over the log (docs/audit.md). It does not follow from the log like the rest of the schema:
-- it is evidence, and only ever appended to.

-- Lines of checkpoints that were begun anew, after a loss of the log; the first line has no row.
CREATE TABLE audit.checkpoint_line (
    partition  text COLLATE "C" NOT NULL,
    line       integer NOT NULL CHECK (line > 1),
    began_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (partition, line)
);
ALTER TABLE audit.checkpoint_line OWNER TO croupier_owner;
GRANT SELECT ON audit.checkpoint_line TO croupier_audit;

-- The signed notes: the first `size` events of the partition.
CREATE TABLE audit.checkpoint (
    partition  text COLLATE "C" NOT NULL,
    line       integer NOT NULL CHECK (line > 0),
    size       bigint NOT NULL CHECK (size > 0),
    signed_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    note       text COLLATE "C" NOT NULL,
    PRIMARY KEY (partition, line, size)
);
ALTER TABLE audit.checkpoint OWNER TO croupier_owner;
GRANT SELECT, INSERT ON audit.checkpoint TO croupier_audit;

-- Of each tree, the hashes of its complete subtrees of 256^level leaves, in order from number 0. The leaves
-- themselves are the events' hashes in log.events.
CREATE TABLE audit.subtree (
    partition  text COLLATE "C" NOT NULL,
    line       integer NOT NULL CHECK (line > 0),
    level      integer NOT NULL CHECK (level BETWEEN 1 AND 7),
    number     bigint NOT NULL CHECK (number >= 0),
    hash       bytea NOT NULL CHECK (octet_length(hash) = 32),
    PRIMARY KEY (partition, line, level, number)
);
ALTER TABLE audit.subtree OWNER TO croupier_owner;
GRANT SELECT, INSERT ON audit.subtree TO croupier_audit;

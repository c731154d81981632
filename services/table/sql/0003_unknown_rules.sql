-- Processes of nodes that have tried to take the table up and do not know its rules or its events: it is
-- left to the others. A node that starts again is another process, and may know more.
ALTER TABLE tables.directory ADD COLUMN unknown_to uuid[] NOT NULL DEFAULT '{}';

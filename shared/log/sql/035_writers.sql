-- Which login role may append to which category.
CREATE TABLE log.writers (
    role      name NOT NULL,
    category  text COLLATE "C" NOT NULL,
    PRIMARY KEY (role, category)
);
ALTER TABLE log.writers OWNER TO croupier_owner;
INSERT INTO log.writers (role, category) VALUES
    ('croupier_table', 'table'),
    ('croupier_shuffle', 'shuffle'),
    ('croupier_wallet', 'wallet'),
    ('croupier_audit', 'audit');

CREATE SCHEMA shuffle AUTHORIZATION croupier_owner;
COMMENT ON SCHEMA shuffle IS
    'What the shuffle service keeps beside the log: server seeds, encrypted (docs/shuffle.md)';

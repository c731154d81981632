-- Shuffle alone. A seed is written once, and removed once it is public; a fingerprint stays.
GRANT USAGE ON SCHEMA shuffle TO croupier_shuffle;
GRANT SELECT, INSERT, DELETE ON shuffle.seeds TO croupier_shuffle;
GRANT SELECT, INSERT ON shuffle.player_seeds TO croupier_shuffle;

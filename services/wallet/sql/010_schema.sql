CREATE SCHEMA wallet AUTHORIZATION croupier_owner;
COMMENT ON SCHEMA wallet IS
    'The ledger: what the wallet''s events in the log say, kept so that it can be asked (docs/wallet.md)';

SELECT log.create_consumer_tables('audit', 'croupier_audit');

-- The checks of the ledger compare the wallet's books with the log up to where the wallet has come.
GRANT SELECT ON wallet.consumer_positions, wallet.parked_events TO croupier_audit;

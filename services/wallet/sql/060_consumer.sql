SELECT log.create_consumer_tables('wallet', 'croupier_wallet');

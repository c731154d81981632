"""The checks of a hand, of the log and of the ledger. Pure: what they look at is handed to them."""

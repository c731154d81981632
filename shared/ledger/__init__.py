"""The ledger as all services name it."""

"""How the house runs: embedded Postgres and NATS, the supervisor, the `croupier` command."""

"""The `croupier` command, as far as it uses the public API."""

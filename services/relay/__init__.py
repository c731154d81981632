"""The relay: committed events, in order, from the log to JetStream."""

"""The bus: committed events on their way through NATS JetStream (docs/event-log.md)."""

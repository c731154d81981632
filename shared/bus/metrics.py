"""What relay and consumers tell on /metrics."""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)

LOG_HEAD = Gauge("croupier_log_head_position", "Last position of a partition", ["partition"])
RELAY_POSITION = Gauge(
    "croupier_relay_position",
    "Last position that JetStream has confirmed",
    ["partition"],
)
RELAY_LAG = Gauge(
    "croupier_relay_lag_events",
    "Committed events not yet confirmed by JetStream",
    ["partition"],
)
RELAY_BATCH = Histogram(
    "croupier_relay_batch_messages",
    "Messages published together",
    ["partition"],
    buckets=_SIZES,
)
RELAY_FAILURES = Counter(
    "croupier_relay_failures_total",
    "Times that a partition's relay had to begin again",
    ["partition"],
)
CONSUMER_ACTIVE = Gauge(
    "croupier_consumer_active",
    "1 where this replica is the one that applies",
    ["consumer", "partition"],
)
CONSUMER_POSITION = Gauge(
    "croupier_consumer_position",
    "Last position that was applied",
    ["consumer", "partition"],
)
CONSUMER_LAG = Gauge(
    "croupier_consumer_lag_events",
    "Events behind the head at the last look",
    ["consumer", "partition"],
)
CONSUMER_BATCH = Histogram(
    "croupier_consumer_batch_events",
    "Events applied in one transaction",
    ["consumer", "partition"],
    buckets=_SIZES,
)
CONSUMER_FROM_LOG = Counter(
    "croupier_consumer_events_from_log_total",
    "Events that the bus had not brought and that were read from the log",
    ["consumer", "partition"],
)
CONSUMER_FAILURES = Counter(
    "croupier_consumer_failures_total",
    "Times that a consumer had to begin again",
    ["consumer", "partition"],
)
CONSUMER_CONTRADICTIONS = Counter(
    "croupier_consumer_bus_contradictions_total",
    "Times that the bus brought what the log does not have, and the log was read instead",
    ["consumer", "partition"],
)
CONSUMER_DIVERGED = Gauge(
    "croupier_consumer_diverged",
    "1 where the log contradicts what was applied",
    ["consumer", "partition"],
)
PARKED_STREAMS = Gauge(
    "croupier_parked_streams",
    "Streams with events that could not be applied",
    ["consumer", "partition"],
)

"""What a table node tells Prometheus."""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

tables = Gauge("croupier_table_open", "Tables that this node owns")
fencing = Gauge(
    "croupier_table_fencing", "Tables that this node has taken up, and shuffle has not heard it yet"
)
watchers = Gauge("croupier_table_watchers", "Viewers of tables on this node")
hands = Counter("croupier_table_hands_total", "Hands that ended, by game and how", ["game", "end"])
repeated = Counter(
    "croupier_table_repeated_commands_total", "Commands that had been carried out before"
)
errands = Counter(
    "croupier_table_errands_total",
    "Requests to other services, by kind and result",
    ["kind", "end"],
)
errand_seconds = Histogram(
    "croupier_table_errand_seconds",
    "How long a request to another service took until its answer was in the log",
    ["kind"],
    buckets=(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5),
)


def watching() -> int:
    """How many viewers there are now."""
    [metric] = watchers.collect()
    return int(metric.samples[0].value)

"""What a process that appends tells on /metrics."""

from __future__ import annotations

from prometheus_client import Histogram

GROUP_APPENDS = Histogram(
    "croupier_log_group_appends",
    "Appends committed together",
    buckets=(1, 2, 4, 8, 16, 32, 64, 128, 256),
)
COMMIT_SECONDS = Histogram(
    "croupier_log_commit_seconds",
    "Time from handing a group to Postgres to its answer, repetitions included",
    buckets=(0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.25, 1, 4),
)

"""What an operator can see of the checks."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import Counter, Gauge, Histogram

from services.audit.verify.findings import Check, Finding

hands_checked = Counter(
    "croupier_audit_hands_checked_total", "Hands checked one by one", ["outcome"]
)
hand_seconds = Histogram(
    "croupier_audit_hand_check_seconds",
    "How long the check of one hand takes",
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
full_checks = Counter(
    "croupier_audit_full_checks_total", "Checks of a table or of everything", ["outcome"]
)
full_check_hands = Gauge(
    "croupier_audit_full_check_hands", "Hands that the latest check of everything has seen so far"
)
checkpoints = Counter("croupier_audit_checkpoints_total", "Checkpoints signed", ["partition"])
checkpoint_size = Gauge(
    "croupier_audit_checkpoint_size", "Events under the newest checkpoint", ["partition"]
)
_findings = Counter("croupier_audit_findings_total", "What the checks found", ["check"])

for _check in Check:
    _findings.labels(_check.name)


def count(findings: Iterable[Finding]) -> None:
    """Counts findings by the check that made them."""
    for finding in findings:
        _findings.labels(finding.check.name).inc()

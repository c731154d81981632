"""What a test of randomness says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.rng.distributions import chi_square_tail

LEAST_EXPECTED = 5.0
"""Cells of which fewer are expected are taken together."""


@dataclass(frozen=True, slots=True)
class Result:
    """One test of `size` things that were counted: its statistic, and the probability of one as
    extreme if all is well."""

    name: str
    size: int
    statistic: float
    freedom: int
    p: float
    about: str

    @property
    def extreme(self) -> float:
        """How likely it is to be so far off: counts that fit too well are no better."""
        return 2 * min(self.p, 1 - self.p) if self.freedom else self.p

    def corrected(self, tests: int) -> float:
        """A bound for how often the least p of so many tests is as small as this one, however they
        hang together (Bonferroni)."""
        return min(1.0, tests * self.extreme)

    def line(self, tests: int, alarm: float) -> str:
        """A row of a Markdown table of so many tests; a p below `alarm` gives one."""
        freedom = f" ({self.freedom})" if self.freedom else ""
        verdict = "ALARM" if self.extreme < alarm else "holds"
        return (
            f"| {self.name} | {self.size:,} | {self.statistic:.2f}{freedom} | {self.p:.4f} "
            f"| {self.corrected(tests):.2g} | {verdict} | {self.about} |"
        )


def chi_square(
    name: str, about: str, observed: Sequence[int], shares: Sequence[float] | None = None
) -> Result:
    """Pearson's test of counts against the shares they should have (all alike without any)."""
    total = sum(observed)
    expected = [total / len(observed)] * len(observed)
    if shares is not None:
        expected = [total * share for share in shares]
    cells = _pooled(observed, expected)
    statistic = sum((seen - due) ** 2 / due for seen, due in cells)
    freedom = len(cells) - 1
    return Result(name, total, statistic, freedom, chi_square_tail(statistic, freedom), about)


def _pooled(observed: Sequence[int], expected: Sequence[float]) -> list[tuple[float, float]]:
    """Neighbours together until enough are expected; counts of equally likely cells stay apart."""
    if min(expected) == max(expected):
        return list(zip(observed, expected, strict=True))
    cells: list[tuple[float, float]] = []
    seen = due = 0.0
    for one, share in zip(observed, expected, strict=True):
        seen, due = seen + one, due + share
        if due >= LEAST_EXPECTED:
            cells.append((seen, due))
            seen = due = 0.0
    if due and cells:
        last_seen, last_due = cells.pop()
        cells.append((last_seen + seen, last_due + due))
    return cells

"""Figures of the benchmark: each beside its baseline, measured in turns so that a machine that is
busy for a while is so for both."""

from __future__ import annotations

import json
import statistics
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is measured: each figure `turns` times, for about `seconds` each time."""

    turns: int
    seconds: float
    large: bool = False
    """Also what takes very long (`make bench-growth`)."""


@dataclass(slots=True)
class Figure:
    """A measure, its baseline and what their ratio should be: `goal` at least, or at most.

    `measured` and `baseline` hold one value a turn, in `unit`.
    """

    name: str
    measure: str
    unit: str
    against: str
    goal: float | None
    at_most: bool = False
    measured: list[float] = field(default_factory=list)
    baseline: list[float] = field(default_factory=list)
    notes: dict[str, Any] = field(default_factory=dict)

    def add(self, measured: float, baseline: float) -> None:
        """The values of one turn."""
        self.measured.append(measured)
        self.baseline.append(baseline)

    @property
    def ratios(self) -> list[float]:
        """Measured by baseline, of each turn."""
        return [ours / theirs for ours, theirs in zip(self.measured, self.baseline, strict=True)]

    @property
    def holds(self) -> bool | None:
        """Whether the median ratio is as good as the goal; None without one."""
        if self.goal is None:
            return None
        ratio = statistics.median(self.ratios)
        return ratio <= self.goal if self.at_most else ratio >= self.goal

    def as_json(self) -> dict[str, Any]:
        """All of it, every turn included."""
        return {
            "name": self.name,
            "measure": self.measure,
            "unit": self.unit,
            "baseline": self.against,
            "measured": _spread(self.measured),
            "against": _spread(self.baseline),
            "ratio": _spread(self.ratios),
            "goal": self.goal,
            "goal_is": "at most" if self.at_most else "at least",
            "holds": self.holds,
            "notes": self.notes,
        }


Bench = Callable[[Effort], Awaitable[Sequence[Figure]]]
"""Measures one row of the table, or a few that are measured together."""


def show(console: Console, figures: Sequence[Figure]) -> None:
    """The table, and what was noted beside it."""
    table = Table(title="median (min to max) of each turn", title_justify="left")
    for column in ("measure", "baseline"):
        table.add_column(column)
    for column in ("measured", "baseline", "unit", "ratio", "goal", ""):
        table.add_column(column, justify="right")
    for figure in figures:
        table.add_row(
            figure.measure,
            figure.against,
            _words(figure.measured),
            _words(figure.baseline),
            figure.unit,
            _words(figure.ratios),
            _goal(figure),
            {True: "[green]yes[/]", False: "[red]no[/]", None: ""}[figure.holds],
        )
    console.print(table)
    for figure in figures:
        if figure.notes:
            console.print(f"{figure.measure}: {json.dumps(figure.notes)}", style="dim")


def _goal(figure: Figure) -> str:
    if figure.goal is None:
        return ""
    return f"{'≤' if figure.at_most else '≥'} {figure.goal:g}"


def _spread(values: Sequence[float]) -> dict[str, Any]:
    return {
        "median": statistics.median(values),
        "min": min(values),
        "max": max(values),
        "turns": list(values),
    }


def _words(values: Sequence[float]) -> str:
    middle = _number(statistics.median(values))
    if len(values) == 1:
        return middle
    return f"{middle} ({_number(min(values))} to {_number(max(values))})"


def _number(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"

"""`make rng-report`: tests of the random numbers of the house, written down with plots."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from deploy.rng_export import Entropy, final_shoes, fixed, operating_system, raw_blocks
from shared.cards import DECK, SUITS
from shared.proofs.shoe_order import BLOCK_BYTES, DECK_CARDS
from tests.rng import plots
from tests.rng.batteries import BATTERIES, run
from tests.rng.distributions import eulerian, gaps
from tests.rng.final_cards import FinalCards, rank_positions
from tests.rng.raw_bits import P_BINS, RawBits, block_shares, spread
from tests.rng.results import Result, chi_square

ALARM = 1e-6
"""A p below this is none of chance: by Bonferroni a report of 40 tests gives a false alarm at most
once in 25,000."""


@dataclass(frozen=True, slots=True)
class Size:
    """How much is looked at."""

    shoes: int
    eight_deck_shoes: int
    blocks: int


@dataclass(frozen=True, slots=True)
class Evidence:
    """All results, and the plots by file name."""

    final: Sequence[Result]
    raw: Sequence[Result]
    figures: dict[str, str]

    @property
    def results(self) -> tuple[Result, ...]:
        return (*self.final, *self.raw)

    @property
    def alarms(self) -> list[Result]:
        """Tests that no good generator fails."""
        return [result for result in self.results if result.extreme < ALARM]


def gather(entropy: Entropy, size: Size) -> Evidence:
    """Runs all tests on what the production path makes from `entropy`."""
    cards, bits = FinalCards(), RawBits()
    cards.take(islice(final_shoes(entropy, 1), size.shoes))
    bits.take(islice(raw_blocks(entropy), size.blocks))
    eight = rank_positions(islice(final_shoes(entropy, 8), size.eight_deck_shoes), 8)
    places = spread(cards.position_results())
    final = [*cards.results(), eight, chi_square("spread of p", _SPREAD, places)]
    return Evidence(final, bits.results(), _figures(cards, bits, places))


_BEYOND_3_SIGMA = math.erfc(3 / math.sqrt(2))
_SPREAD = "p of each position's cards and of each card's positions, from 0 to 1"


def _figures(cards: FinalCards, bits: RawBits, places: Sequence[int]) -> dict[str, str]:
    expected = cards.shoes / DECK_CARDS
    error = math.sqrt(expected * (1 - 1 / DECK_CARDS))
    z = [[(count - expected) / error for count in row] for row in cards.positions]
    far = sum(abs(value) > 3 for row in z for value in row)
    blocks = spread(bits.block_results())
    bins = [f"{n / P_BINS:.2f}" for n in range(P_BINS)]
    lags = [str(lag + 1) for lag in range(len(cards.correlations()))]
    due_gaps = [cards.shoes * share for share in gaps(DECK_CARDS)]
    due_runs = [cards.shoes * share for share in eulerian(DECK_CARDS)]
    some = slice(15, 38)
    return {
        "positions.svg": plots.heat(
            "Every card at every position",
            z,
            {code: str(card) for code, card in enumerate(DECK) if code % len(SUITS) == 0},
            "card, the four suits of each rank side by side; "
            f"{far} cells beyond 3 σ, {_BEYOND_3_SIGMA * len(z) * len(z):.1f} expected",
            "position in the shoe",
        ),
        "gaps.svg": plots.bars(
            "Places between two cards that lay side by side before",
            [str(n + 1) for n in range(DECK_CARDS - 1)],
            cards.gaps,
            due_gaps,
            "places",
        ),
        "runs.svg": plots.bars(
            "Ascending runs in a shoe",
            [str(n + 1) for n in range(DECK_CARDS)][some],
            cards.runs[some],
            due_runs[some],
            "runs",
        ),
        "serial.svg": plots.around_zero(
            "Serial correlation of the cards along the shoe",
            lags,
            [value for value, _ in cards.correlations()],
            [each for _, each in cards.correlations()],
            "lag",
        ),
        "spread.svg": plots.bars(
            "p of each position and of each card",
            bins,
            places,
            [sum(places) / P_BINS] * P_BINS,
            "p",
        ),
        "blocks.svg": plots.bars(
            "p of the ones in each block of 4,096 bytes",
            bins,
            blocks,
            [sum(blocks) * share for share in block_shares()],
            "p",
        ),
    }


def write(folder: Path, evidence: Evidence, size: Size, source: str, batteries: str) -> Path:
    """Writes `report.md` and its plots; the path of the former."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in evidence.figures.items():
        (folder / name).write_text(figure)
    report = folder / "report.md"
    report.write_text(_words(evidence, size, source, batteries))
    return report


def _words(evidence: Evidence, size: Size, source: str, batteries: str) -> str:
    least = min(evidence.results, key=lambda result: result.extreme)
    tests = len(evidence.results)
    table = (
        "| test | n | statistic | p | corrected | verdict | of what |\n"
        "| --- | --- | --- | --- | --- | --- | --- |"
    )
    final = "\n".join(result.line(tests, ALARM) for result in evidence.final)
    raw = "\n".join(result.line(tests, ALARM) for result in evidence.raw)
    figures = "\n\n".join(f"![]({name})" for name in evidence.figures)
    verdict = (
        "No test gives an alarm."
        if not evidence.alarms
        else "ALARM: " + ", ".join(result.name for result in evidence.alarms)
    )
    return f"""# The random numbers of the house

{size.shoes:,} shoes of one deck, {size.eight_deck_shoes:,} of eight and {size.blocks:,} blocks of
{BLOCK_BYTES:,} bytes, made by the functions that make real shoes (`croupier rng-export`), from
{source}.

**{verdict}** Of {tests} tests the one that is farthest off is {least.name}, p {least.p:.4f}.

Many tests were made, and one of them is always the worst. *corrected* is a bound for how often the
worst of {tests} is as bad as that one, however they hang together (Bonferroni: {tests} times the p,
of counts twice the smaller of p and 1 − p, because counts that fit too well are no better). An
alarm is an uncorrected p below {ALARM:g}: at most {tests * ALARM:.1g} of all reports of a good
generator have one. *n* is how many things were counted. In brackets: degrees of freedom; a
statistic without them is a standard normal.

## Cards as they are dealt

{table}
{final}

## The generator's bytes

{table}
{raw}

{batteries}

## Plots

{figures}
"""


def _batteries(seed: str, timeout_s: float) -> str:
    said = ["## Batteries that others have made"]
    for battery in BATTERIES:
        output = run(battery, seed, timeout_s) if timeout_s else None
        told = (
            f"```\n{output}\n```" if output is not None else "Not installed here, or not asked for."
        )
        said.append(f"### {battery.name}\n\n{told}")
    return "\n\n".join(said)


def main(words: Sequence[str] | None = None) -> int:
    """Writes the report; 1 if a test gives an alarm."""
    parser = argparse.ArgumentParser(prog="rng-report")
    parser.add_argument("--out", type=Path, default=Path("build/rng-report"))
    parser.add_argument("--shoes", type=int, default=100_000)
    parser.add_argument("--eight-deck-shoes", type=int, default=5_000)
    parser.add_argument("--blocks", type=int, default=16_384)
    parser.add_argument("--seed", default="", help="hex: the same report every time")
    parser.add_argument("--battery-s", type=float, default=1_800, help="0: none")
    given = parser.parse_args(words)
    size = Size(given.shoes, given.eight_deck_shoes, given.blocks)
    entropy = fixed(bytes.fromhex(given.seed)) if given.seed else operating_system()
    source = (
        f"the fixed seed {given.seed}"
        if given.seed
        else (f"entropy of the operating system on {datetime.now(UTC):%Y-%m-%d}")
    )
    evidence = gather(entropy, size)
    report = write(given.out, evidence, size, source, _batteries(given.seed, given.battery_s))
    sys.stdout.write(f"{report}: {len(evidence.results)} tests, {len(evidence.alarms)} alarms\n")
    return 1 if evidence.alarms else 0


if __name__ == "__main__":
    sys.exit(main())

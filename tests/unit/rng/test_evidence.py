"""The tests pass on what the house makes and fail on what looks almost as good. Seeds are fixed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from deploy.rng_export import final_shoes, fixed, raw_blocks
from shared.proofs.shoe_order import Draws, order_source, permuted
from tests.rng import report
from tests.rng.batteries import Battery, run
from tests.rng.final_cards import FinalCards
from tests.rng.raw_bits import RawBits
from tests.rng.results import Result

SEED = bytes(range(32))
SHOES = 4_000
BLOCKS = 256
READ_8 = "dd bs=8 count=1 status=none | od -An -tx1 | tr -d ' '"


def of_shoes(shoes: Iterator[bytes]) -> dict[str, Result]:
    cards = FinalCards()
    cards.take(islice(shoes, SHOES))
    return {result.name: result for result in cards.results()}


def of_blocks(blocks: Iterator[bytes]) -> dict[str, Result]:
    bits = RawBits()
    bits.take(islice(blocks, BLOCKS))
    return {result.name: result for result in bits.results()}


def test_shoes_of_the_house_pass_every_test() -> None:
    assert {
        name: r.p for name, r in of_shoes(final_shoes(fixed(SEED), 1)).items() if r.p < 1e-3
    } == {}


def test_bytes_of_the_house_pass_every_test() -> None:
    assert {name: r.p for name, r in of_blocks(raw_blocks(fixed(SEED))).items() if r.p < 1e-3} == {}


# ---- Shuffles that look right


def swapped_with_any(draws: Draws) -> bytes:
    """Every position with any other: 52^52 ways do not divide by 52!."""
    order = list(range(52))
    for one in range(52):
        other = draws.below(52)
        order[one], order[other] = order[other], order[one]
    return bytes(order)


def never_left_alone(draws: Draws) -> bytes:
    """Off by one: no card may stay (Sattolo, 1986)."""
    return bytes(permuted(range(52), lambda bound: draws.below(bound - 1)))


def without_rejection(draws: Draws) -> bytes:
    """A byte modulo the bound."""
    return bytes(permuted(range(52), lambda bound: draws.take(1)[0] % bound))


def sorted_by_few_bits(draws: Draws) -> bytes:
    """By random keys of six bits, ties as they lay."""
    keys = [draws.take(1)[0] % 64 for _ in range(52)]
    return bytes(sorted(range(52), key=keys.__getitem__))


def half_shuffled(draws: Draws) -> bytes:
    """One riffle too few: halves laid into each other three times."""
    order = list(range(52))
    for _ in range(3):
        left, right = order[:26], order[26:]
        order = []
        while left or right:
            take_left = left and (not right or draws.below(2))
            order.append((left if take_left else right).pop(0))
    return bytes(order)


@pytest.mark.parametrize(
    ("shuffle", "seen_by"),
    [
        (swapped_with_any, ["positions"]),
        (never_left_alone, ["cycles", "matches"]),
        (without_rejection, ["positions"]),
        (sorted_by_few_bits, ["runs"]),
        (half_shuffled, ["gaps", "pairs", "order of five", "serial correlation, lag 1"]),
    ],
)
def test_a_shuffle_that_is_not_quite_right_is_seen(
    shuffle: Callable[[Draws], bytes], seen_by: list[str]
) -> None:
    def shoes() -> Iterator[bytes]:
        draws = Draws(order_source(SEED, "wrong", ()))
        while True:
            yield shuffle(draws)

    results = of_shoes(shoes())
    assert [name for name in seen_by if results[name].p >= report.ALARM] == []


# ---- Bytes that look right


def a_few_more_ones(random: Random) -> bytes:
    return bytes(random.randbytes(1)[0] | (random.random() < 0.03) for _ in range(4096))


def never_the_same_twice(random: Random) -> bytes:
    block, last = bytearray(), -1
    while len(block) < 4096:
        value = random.randrange(256)
        if value != last:
            block.append(value)
            last = value
    return bytes(block)


def echoed(random: Random) -> bytes:
    """Every sixteenth byte repeats the one two before it."""
    block = bytearray(random.randbytes(4096))
    for at in range(16, 4096, 16):
        block[at] = block[at - 2]
    return bytes(block)


def too_even(random: Random) -> bytes:
    """Exactly as many of every byte in each block."""
    values = list(range(256)) * 16
    random.shuffle(values)
    return bytes(values)


def one_short(random: Random) -> bytes:
    """Draws that never reach the top."""
    return b"".join(random.randrange(60_000).to_bytes(2, "big") for _ in range(2048))


def sometimes_nothing(random: Random) -> bytes:
    """One draw in a hundred is 0."""
    draws = (0 if random.random() < 0.01 else random.randrange(65_536) for _ in range(2048))
    return b"".join(draw.to_bytes(2, "big") for draw in draws)


@pytest.mark.parametrize(
    ("make", "seen_by"),
    [
        (a_few_more_ones, "ones"),
        (a_few_more_ones, "bytes"),
        (echoed, "bits 16 apart"),
        (too_even, "blocks"),
        (too_even, "bytes"),
        (one_short, "draws"),
        (sometimes_nothing, "draws below 52"),
    ],
)
def test_bytes_that_are_not_quite_random_are_seen(
    make: Callable[[Random], bytes], seen_by: str
) -> None:
    def blocks() -> Iterator[bytes]:
        random = Random(1)
        while True:
            yield make(random)

    assert of_blocks(blocks())[seen_by].extreme < report.ALARM


# ---- The report


def test_the_worst_of_many_is_judged_as_one_of_many() -> None:
    """Counts that fit too well are as far off as those that do not fit."""
    too_well = Result("counts", 1_000, 3.0, 19, 0.999, "")
    off = Result("counts", 1_000, 40.0, 19, 0.001, "")
    normal = Result("ones", 1_000, 0.0, 0, 0.999, "")
    assert too_well.corrected(37) == pytest.approx(off.corrected(37)) == pytest.approx(0.074)
    assert normal.corrected(37) == 1.0
    assert "| 0.074 | holds |" in off.line(37, 0.0019)
    assert "| 0.074 | ALARM |" in off.line(37, 0.0021)


def test_half_of_all_ps_of_counts_are_extreme_by_half() -> None:
    """What `extreme` says is a p itself: as small as x in x of all cases."""
    ps = [(n + 0.5) / 1000 for n in range(1000)]
    extremes = sorted(Result("counts", 1, 0.0, 1, p, "").extreme for p in ps)
    assert sum(each <= 0.1 for each in extremes) == 100
    assert sum(each <= 0.5 for each in extremes) == 500


def test_a_report_is_written_with_its_plots(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--out", str(tmp_path), "--seed", SEED.hex(), "--battery-s", "0"]
    words += ["--shoes", "1000", "--eight-deck-shoes", "40", "--blocks", "64"]
    assert report.main(words) == 0
    assert "0 alarms" in capsys.readouterr().out
    text = (tmp_path / "report.md").read_text()
    assert "No test gives an alarm." in text
    for plot in ("positions", "gaps", "runs", "serial", "spread", "blocks"):
        assert f"![]({plot}.svg)" in text
        assert (tmp_path / f"{plot}.svg").read_text().startswith("<svg ")
    first = text
    report.main(words)
    assert (tmp_path / "report.md").read_text() == first


def test_a_report_that_gives_an_alarm_ends_in_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stuck(entropy: object, decks: int) -> Iterator[bytes]:
        while True:
            yield bytes(range(52)) * decks

    monkeypatch.setattr(report, "final_shoes", stuck)
    words = ["--out", str(tmp_path), "--seed", SEED.hex(), "--battery-s", "0"]
    assert report.main([*words, "--shoes", "500", "--eight-deck-shoes", "9", "--blocks", "64"]) == 1
    assert "ALARM: positions" in (tmp_path / "report.md").read_text()


def test_a_battery_reads_the_production_stream() -> None:
    """`head` stands for one; one that is not there is left out."""
    first = next(raw_blocks(fixed(SEED)))
    reader = Battery("reader", "sh", (("-c", READ_8), ("-c", READ_8)))
    assert run(reader, SEED.hex(), 60) == f"{first[:8].hex()}\n{first[8:16].hex()}"
    assert run(Battery("none", "no-such-battery", ()), SEED.hex(), 60) is None


def test_a_battery_that_takes_too_long_is_cut_off() -> None:
    slow = Battery("slow", "sh", (("-c", "echo begun; cat > /dev/null; sleep 60"),))
    said = run(slow, SEED.hex(), 0.5)
    assert said is not None
    assert said.startswith("begun\n")
    assert "cut off" in said

"""Tests of the generator's bytes, as the draws of the shuffle are taken from them."""

from __future__ import annotations

import math
import zlib
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache

from shared.proofs.shoe_order import BLOCK_BYTES
from tests.rng.distributions import normal_tail
from tests.rng.results import Result, chi_square

LAGS = (1, 2, 3, 5, 8, 13, 16, 32, 64, 128, 256)
P_BINS = 20


class RawBits:
    """Takes the blocks one by one; `results` when there are enough (a megabyte or more)."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def take(self, blocks: Iterable[bytes]) -> None:
        """These blocks too."""
        self._parts.extend(blocks)

    @property
    def bytes_taken(self) -> int:
        return sum(map(len, self._parts))

    def block_results(self) -> list[float]:
        """A p for the share of ones in each block."""
        return [_monobit(block)[1] for block in self._parts]

    def results(self) -> list[Result]:
        """All tests of what was taken."""
        data = b"".join(self._parts)
        z, p = _monobit(data)
        words = Counter(array("H", data[: len(data) & ~1]))
        return [
            Result("ones", 8 * len(data), z, 0, p, "as many ones as zeros"),
            _runs(data),
            chi_square("bytes", "every byte as often as any other", _counts(Counter(data), 256)),
            chi_square(
                "draws",
                "every value of two bytes, which is what one draw takes",
                _counts(words, 65_536),
            ),
            _drawn_below(data),
            *(_autocorrelation(data, lag) for lag in LAGS),
            self._blocks(),
            _compression(data),
        ]

    def _blocks(self) -> Result:
        """Each block comes from an instance of its own: their p must be spread evenly."""
        return chi_square(
            "blocks",
            "p of the ones of each block, as a binomial spreads them from 0 to 1",
            spread(self.block_results()),
            block_shares(),
        )


def spread(ps: Iterable[float]) -> list[int]:
    """How many of them lie in each twentieth from 0 to 1."""
    counts = [0] * P_BINS
    for p in ps:
        counts[min(int(p * P_BINS), P_BINS - 1)] += 1
    return counts


@cache
def block_shares() -> Sequence[float]:
    """How often the p of a block's ones lies in each twentieth: not quite equally often, because
    ones come in whole numbers."""
    bits = 8 * BLOCK_BYTES
    shares = [0.0] * P_BINS
    half = math.lgamma(bits + 1) - bits * math.log(2)
    for ones in range(bits + 1):
        p = normal_tail((2 * ones - bits) / math.sqrt(bits))
        weight = math.exp(half - math.lgamma(ones + 1) - math.lgamma(bits - ones + 1))
        shares[min(int(p * P_BINS), P_BINS - 1)] += weight
    return tuple(shares)


def _counts(found: Counter[int], values: int) -> list[int]:
    return [found.get(value, 0) for value in range(values)]


def _bits(data: bytes) -> int:
    return int.from_bytes(data, "big")


def _monobit(data: bytes) -> tuple[float, float]:
    """NIST SP 800-22, 2.1."""
    bits = 8 * len(data)
    z = (2 * _bits(data).bit_count() - bits) / math.sqrt(bits)
    return z, normal_tail(z)


def _runs(data: bytes) -> Result:
    """NIST SP 800-22, 2.3: how often a bit is followed by another."""
    bits, number = 8 * len(data), _bits(data)
    changes = ((number ^ (number >> 1)) & ((1 << (bits - 1)) - 1)).bit_count()
    share = number.bit_count() / bits
    due = 2 * bits * share * (1 - share)
    z = (changes + 1 - due) / (2 * math.sqrt(bits) * share * (1 - share))
    about = "how often a bit differs from the last"
    return Result("runs of bits", bits, z, 0, normal_tail(z), about)


def _autocorrelation(data: bytes, lag: int) -> Result:
    bits, number = 8 * len(data), _bits(data)
    pairs = bits - lag
    differing = ((number ^ (number >> lag)) & ((1 << pairs) - 1)).bit_count()
    z = (2 * differing - pairs) / math.sqrt(pairs)
    about = "differ as often as they agree"
    return Result(f"bits {lag} apart", pairs, z, 0, normal_tail(z), about)


def _drawn_below(data: bytes) -> Result:
    """What becomes of draws below 52 by the production rule: rejection, then the remainder."""
    limit = 65_536 - 65_536 % 52
    counts = [0] * 52
    for at in range(0, len(data) - 1, 2):
        value = data[at] << 8 | data[at + 1]
        if value < limit:
            counts[value % 52] += 1
    return chi_square("draws below 52", "every card equally often, after rejection", counts)


def _compression(data: bytes) -> Result:
    """Nothing that has a pattern stays as long as it is."""
    ratio = len(zlib.compress(data, 6)) / len(data)
    statistic = (ratio - 1) * 1000
    return Result(
        "compression",
        len(data),
        statistic,
        0,
        1.0 if ratio >= 1 else 0.0,
        "‰ by which deflate lengthens it",
    )

"""A house that colludes gains nothing in this order of steps, and much in any other."""

from __future__ import annotations

import pytest

from services.shuffle.decide import CommitSeed, Cut, OpenSeed
from services.shuffle.shoe import SeedCommitted
from tests.bench.collusion import (
    CARDS,
    IN_ORDER,
    Strategy,
    cutter_after_the_seeds,
    house_that_gives_shoes_up,
    house_without_players_seeds,
    seeder_after_the_others,
    seeder_in_order,
    seeder_who_may_withhold,
    tally,
)
from tests.unit.shuffle.given import (
    ANN,
    ANN_OPEN,
    ASKER,
    CUT,
    OPENED,
    commitment,
    given,
    refused,
)

HONEST = 1 / CARDS
SIGMAS = 3.5


@pytest.mark.parametrize("strategy", IN_ORDER, ids=lambda each: each.__name__)
def test_in_this_order_nobody_gains(strategy: Strategy) -> None:
    told = tally(strategy, 250 if strategy is seeder_in_order else 2_500, 1)
    assert abs(told.share - HONEST) < SIGMAS * told.error
    assert (told.withheld, told.given_up) == (0, 0)


def test_withholding_a_seed_gives_one_more_order_and_a_name_on_record() -> None:
    """The bit that is left: one a colluder, and each use of it is counted."""
    told = tally(seeder_who_may_withhold, 2_500, 1)
    two_orders = 1 - (1 - HONEST) ** 2
    assert abs(told.share - two_orders) < SIGMAS * 1.5 * told.error
    # Whatever was won above the honest share was won by withholding.
    assert told.withheld > 0
    assert abs((told.won - told.withheld) / told.trials - HONEST) < SIGMAS * told.error


def test_giving_shoes_up_leaves_them_all_on_record() -> None:
    """To have its card, the house must give up fifty-one shoes for each that it deals."""
    told = tally(house_that_gives_shoes_up, 40, 1)
    assert told.share == 1
    assert 25 * told.trials < told.given_up < 100 * told.trials


@pytest.mark.parametrize(
    ("strategy", "least"),
    [
        (seeder_after_the_others, 0.5),
        (cutter_after_the_seeds, 0.95),
        (house_without_players_seeds, 0.5),
    ],
)
def test_in_any_other_order_it_gains_much(strategy: Strategy, least: float) -> None:
    assert tally(strategy, 100, 1).share > least


def test_the_service_keeps_to_the_order() -> None:
    """What the last three need is what it refuses: another seed than was committed to, a seed that
    was not, and a cut when seeds are open."""
    eve = SeedCommitted("eve", commitment("eve", bytes(32)), 3)
    opened = given(OPENED, ANN, eve, CUT, ANN_OPEN)
    better = bytes([1] * 32)
    assert refused(opened, OpenSeed(ASKER, "eve", better)) == ("SEED_MISMATCH", "seed")
    assert refused(opened, OpenSeed(ASKER, "bob", better)) == ("SEED_REFUSED", "player")
    late = CommitSeed(ASKER, "bob", commitment("bob", better))
    assert refused(opened, late)[0] == "SEED_REFUSED"
    assert refused(opened, Cut(ASKER, "eve", 20)) == ("SHOE_CUT", "shoe_id")

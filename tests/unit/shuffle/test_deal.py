"""Cards leave a sealed shoe in order, each once, and audiences only grow."""

from __future__ import annotations

from dataclasses import replace

import pytest

from services.shuffle.decide import Asker, Deal, Draw, Retire
from services.shuffle.shoe import (
    CardsBurned,
    CardsExposed,
    CardsShown,
    CardsTaken,
    CutCardReached,
    Event,
    RetireReason,
    Shoe,
    ShoeClaimed,
    ShoeRetired,
    Showing,
    Use,
)
from tests.unit.shuffle.given import ASKER, CUT, OPENED, READY, given, refused, when

DOWN, PLAYER, OPEN = Use.DOWN, Use.PLAYER, Use.OPEN
BURN, BURN_OPEN, EXPOSED = Use.BURN, Use.BURN_OPEN, Use.EXPOSED


def deal(*draws: Draw, hand: str = "hand-1") -> Deal:
    return Deal(ASKER, hand, draws)


def dealt(*draws: Draw, hand: str = "hand-1") -> Shoe:
    """A sealed shoe from which `draws` were dealt."""
    shoe = given(*READY, *when(given(*READY), deal(*draws, hand=hand)))
    assert shoe is not None
    return shoe


def test_before_the_seal_no_card_leaves() -> None:
    for events in ((OPENED,), (OPENED, CUT)):
        assert refused(given(*events), deal(Draw(0, OPEN))) == ("SHOE_NOT_SEALED", "")


def test_one_request_deals_to_all_kinds_of_audience() -> None:
    command = deal(
        Draw(0, BURN),
        Draw(1, PLAYER, "ann"),
        Draw(2, PLAYER, "bob"),
        Draw(3, DOWN),
        Draw(4, OPEN),
        Draw(5, BURN_OPEN),
        Draw(6, EXPOSED),
    )
    events = when(given(*READY), command)
    shown = (Showing(1, "ann"), Showing(2, "bob"), Showing(4, ""))
    assert events == (
        CardsTaken((3,), "hand-1", 3),
        CardsShown(shown, "hand-1", 3),
        CardsBurned((0,), (5,), "hand-1", 3),
        CardsExposed((6,), "hand-1", 3),
    )
    shoe = given(*READY, *events)
    assert shoe is not None
    assert shoe.next_position == 7
    assert [mark and mark.use for mark in shoe.marks] == [
        BURN,
        PLAYER,
        PLAYER,
        DOWN,
        OPEN,
        BURN_OPEN,
        EXPOSED,
    ]


def test_positions_leave_in_order() -> None:
    shoe = dealt(Draw(0, OPEN), Draw(1, OPEN))
    assert when(shoe, deal(Draw(2, OPEN)))
    assert refused(shoe, deal(Draw(3, OPEN))) == ("BAD_POSITION", "draws")
    assert refused(shoe, deal(Draw(2, OPEN), Draw(4, OPEN))) == ("BAD_POSITION", "draws")


@pytest.mark.parametrize("positions", [(0, 0), (1, 0), (-1,)])
def test_positions_ascend_each_once(positions: tuple[int, ...]) -> None:
    command = deal(*(Draw(at, OPEN) for at in positions))
    assert refused(given(*READY), command) == ("BAD_POSITION", "draws")


def test_a_shoe_ends_with_its_last_card() -> None:
    every = [Draw(at, OPEN) for at in range(52)]
    assert when(given(*READY), deal(*every))
    assert refused(given(*READY), deal(*every, Draw(52, OPEN))) == ("DECK_TOO_SHORT", "draws")


@pytest.mark.parametrize("count", [0, 129])
def test_a_request_has_1_to_128_cards(count: int) -> None:
    shoe = given(replace(OPENED, decks=8), *READY[1:])
    command = deal(*(Draw(at, OPEN) for at in range(count)))
    assert refused(shoe, command) == ("BAD_REQUEST", "draws")


def test_128_cards_may_be_asked_for_at_once() -> None:
    shoe = given(replace(OPENED, decks=8), *READY[1:])
    assert when(shoe, deal(*(Draw(at, DOWN) for at in range(128))))


def test_a_card_shown_by_itself_later() -> None:
    shoe = dealt(Draw(0, DOWN), Draw(1, DOWN))
    assert when(shoe, deal(Draw(1, OPEN))) == (CardsShown((Showing(1, ""),), "hand-1", 3),)
    assert when(shoe, deal(Draw(0, PLAYER, "ann"), Draw(2, OPEN))) == (
        CardsShown((Showing(0, "ann"), Showing(2, "")), "hand-1", 3),
    )


def draw(use: Use) -> Draw:
    return Draw(0, use, "ann" if use is PLAYER else "")


GROWS = {
    (DOWN, PLAYER),
    (DOWN, OPEN),
    (DOWN, BURN),
    (DOWN, BURN_OPEN),
    (DOWN, EXPOSED),
    (PLAYER, OPEN),
    (PLAYER, BURN),
    (PLAYER, BURN_OPEN),
    (PLAYER, EXPOSED),
    (OPEN, BURN_OPEN),
    (EXPOSED, BURN_OPEN),
}


@pytest.mark.parametrize("before", list(Use))
@pytest.mark.parametrize("after", list(Use))
def test_an_audience_grows_and_a_burned_card_stays(before: Use, after: Use) -> None:
    shoe = dealt(draw(before))
    command = deal(draw(after))
    if (before, after) in GROWS:
        assert when(shoe, command)
    else:
        assert refused(shoe, command) == ("AUDIENCE_NOT_ALLOWED", "draws")


def test_a_card_shown_to_one_player_is_not_shown_to_another() -> None:
    shoe = dealt(Draw(0, PLAYER, "ann"))
    assert refused(shoe, deal(Draw(0, PLAYER, "bob"))) == ("AUDIENCE_NOT_ALLOWED", "draws")


def test_a_card_of_another_hand_is_not_shown() -> None:
    shoe = dealt(Draw(0, DOWN))
    assert refused(shoe, deal(Draw(0, OPEN), hand="hand-2")) == ("AUDIENCE_NOT_ALLOWED", "hand_id")
    assert refused(shoe, deal(Draw(0, OPEN), hand="")) == ("AUDIENCE_NOT_ALLOWED", "hand_id")


def test_outside_a_hand_a_card_is_for_all_or_nobody() -> None:
    shoe = given(*READY)
    assert when(shoe, deal(Draw(0, BURN_OPEN), Draw(1, BURN), hand=""))
    assert refused(shoe, deal(Draw(0, PLAYER, "ann"), hand="")) == (
        "AUDIENCE_NOT_ALLOWED",
        "hand_id",
    )


@pytest.mark.parametrize("use", [DOWN, OPEN, BURN, BURN_OPEN, EXPOSED])
def test_a_player_goes_with_a_private_card_only(use: Use) -> None:
    assert refused(given(*READY), deal(Draw(0, use, "ann"))) == ("BAD_REQUEST", "draws")


@pytest.mark.parametrize("player", ["", "a b", "x" * 65])
def test_a_private_card_has_a_player(player: str) -> None:
    assert refused(given(*READY), deal(Draw(0, PLAYER, player))) == ("BAD_REQUEST", "draws")


def test_a_hand_id_is_a_word() -> None:
    assert refused(given(*READY), deal(Draw(0, OPEN), hand="a b")) == ("BAD_REQUEST", "hand_id")


def test_BAC_12_the_cut_card_is_met_by_the_first_card_behind_it() -> None:
    """Seven cards lie behind it: with 7 left it has not come out, with 6 left it has."""
    shoe = dealt(*(Draw(at, OPEN) for at in range(45)))
    assert not shoe.cut_card_reached
    shown = CardsShown((Showing(45, ""),), "hand-1", 3)
    events = when(shoe, deal(Draw(45, OPEN)))
    assert events == (shown, CutCardReached(45))
    after = given(*READY, *when(given(*READY), deal(*(Draw(at, OPEN) for at in range(46)))))
    assert after is not None
    assert after.cut_card_reached
    assert when(after, deal(Draw(46, OPEN))) == (CardsShown((Showing(46, ""),), "hand-1", 3),)


def test_a_shoe_without_a_cut_card_is_dealt_to_its_end() -> None:
    shoe = given(replace(OPENED, behind_cut_card=0), *READY[1:])
    assert when(shoe, deal(*(Draw(at, DOWN) for at in range(52)))) == (
        CardsTaken(tuple(range(52)), "hand-1", 3),
    )


def test_the_asking_epoch_is_on_record() -> None:
    command = Deal(Asker("table-1", 5), "hand-1", (Draw(0, DOWN),))
    assert when(given(*READY, ShoeClaimed(5)), command) == (CardsTaken((0,), "hand-1", 5),)


def test_every_position_of_a_retired_shoe_is_accounted_for() -> None:
    draws = (Draw(0, BURN_OPEN), Draw(1, BURN), Draw(2, DOWN), Draw(3, EXPOSED), Draw(4, DOWN))
    first: tuple[Event, ...] = when(given(*READY), deal(*draws))
    later = when(given(*READY, *first), deal(Draw(2, BURN), Draw(3, BURN_OPEN)))
    shoe = given(*READY, *first, *later)
    [retired] = when(shoe, Retire(ASKER, RetireReason.PLAYED, b"s" * 32))
    assert isinstance(retired, ShoeRetired)
    assert (retired.dealt_to, retired.burned, retired.exposed) == (5, (0, 1, 2, 3), (3,))
    over = given(*READY, *first, *later, retired)
    assert over is not None
    assert over.server_seed == b"s" * 32

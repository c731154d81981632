"""From the opening to the seal: who may do what, and when it is too late."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from services.shuffle.decide import (
    Asker,
    Claim,
    Command,
    CommitSeed,
    Cut,
    Deal,
    Disclose,
    Draw,
    NoteReuse,
    Open,
    OpenSeed,
    Retire,
    Seal,
)
from services.shuffle.shoe import (
    CardsShown,
    Purpose,
    RetireReason,
    SeedCommitted,
    SeedOpened,
    SeedReused,
    ShoeClaimed,
    ShoeCut,
    ShoeDisclosed,
    ShoeRetired,
    ShoeSealed,
    Showing,
    Use,
    evolve,
)
from tests.unit.shuffle.given import (
    ANN,
    ANN_OPEN,
    ANN_SEED,
    ASKER,
    BOB,
    BOB_SEED,
    CUT,
    NOW,
    OPENED,
    READY,
    SEALED,
    given,
    refused,
    when,
)

OPEN = Open(ASKER, "shoe-1", 1, 3, 3, 7, True, b"c" * 32)
RETIRED = ShoeRetired(RetireReason.PLAYED, b"s" * 32, 0, (), (), 3, NOW)


def test_a_shoe_is_opened_with_its_commitment() -> None:
    assert when(None, OPEN) == (OPENED,)


def test_a_shoe_is_opened_once() -> None:
    assert refused(given(OPENED), OPEN) == ("SHOE_EXISTS", "shoe_id")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"shoe_id": ""}, "shoe_id"),
        ({"shoe_id": "a/b"}, "shoe_id"),
        ({"shoe_id": "a" * 65}, "shoe_id"),
        ({"asker": Asker("", 1)}, "table_id"),
        ({"asker": Asker("table-1", 0)}, "epoch"),
        ({"decks": 0}, "decks"),
        ({"decks": 17}, "decks"),
        ({"cut_min_top": 0}, "cut_min_top"),
        ({"cut_min_bottom": 0}, "cut_min_bottom"),
        ({"cut_min_top": 30, "cut_min_bottom": 23}, "cut_min_bottom"),
        ({"behind_cut_card": -1}, "behind_cut_card"),
        ({"behind_cut_card": 52}, "behind_cut_card"),
    ],
)
def test_an_impossible_shoe_is_refused(changes: dict[str, Any], field: str) -> None:
    assert refused(None, replace(OPEN, **changes)) == ("BAD_REQUEST", field)


def test_a_player_commits_one_seed_before_the_cut() -> None:
    command = CommitSeed(ASKER, "ann", ANN.commitment)
    assert when(given(OPENED), command) == (ANN,)
    assert refused(given(OPENED, ANN), command) == ("SEED_REFUSED", "player")
    assert refused(given(OPENED, CUT), command) == ("SEED_REFUSED", "")
    assert refused(given(*READY), command) == ("SEED_REFUSED", "")


def test_a_commitment_is_32_bytes_of_a_player() -> None:
    assert refused(given(OPENED), CommitSeed(ASKER, "ann", b"short")) == (
        "BAD_REQUEST",
        "commitment",
    )
    assert refused(given(OPENED), CommitSeed(ASKER, "", bytes(32))) == ("BAD_REQUEST", "player")


def test_thirty_two_players_may_commit() -> None:
    crowd = [SeedCommitted(f"p{number}", bytes(32), 3) for number in range(32)]
    assert when(given(OPENED, *crowd[:-1]), CommitSeed(ASKER, "ann", bytes(32)))
    assert refused(given(OPENED, *crowd), CommitSeed(ASKER, "ann", bytes(32))) == (
        "SEED_REFUSED",
        "",
    )


@pytest.mark.parametrize("at", [3, 49])
def test_a_cut_at_the_edge_allowed_is_taken(at: int) -> None:
    assert when(given(OPENED), Cut(ASKER, "ann", at)) == (ShoeCut("ann", at, 3),)


@pytest.mark.parametrize("at", [-1, 0, 2, 50, 52])
def test_TAB_09_a_cut_nearer_to_the_edge_is_refused(at: int) -> None:
    assert refused(given(OPENED), Cut(ASKER, "ann", at)) == ("CUT_TOO_NEAR_EDGE", "at")


def test_a_shoe_is_cut_once() -> None:
    assert refused(given(OPENED, CUT), Cut(ASKER, "", 20)) == ("SHOE_CUT", "shoe_id")
    assert refused(given(*READY), Cut(ASKER, "", 20)) == ("SHOE_CUT", "shoe_id")


def test_whoever_cuts_has_a_name_that_can_be_one() -> None:
    assert refused(given(OPENED), Cut(ASKER, "a b", 20)) == ("BAD_REQUEST", "player")


def test_a_committed_seed_is_opened_after_the_cut() -> None:
    command = OpenSeed(ASKER, "ann", ANN_SEED)
    assert when(given(OPENED, ANN, CUT), command) == (SeedOpened("ann", ANN_SEED, 3),)


def test_no_seed_is_known_while_the_cut_can_be_chosen() -> None:
    assert refused(given(OPENED, ANN), OpenSeed(ASKER, "ann", ANN_SEED)) == ("SHOE_NOT_CUT", "")


def test_a_seed_opened_after_the_seal_is_too_late() -> None:
    shoe = given(OPENED, ANN, CUT, SEALED)
    assert refused(shoe, OpenSeed(ASKER, "ann", ANN_SEED)) == ("SHOE_SEALED", "")


def test_a_seed_chosen_after_the_others_does_not_match_its_commitment() -> None:
    shoe = given(OPENED, ANN, BOB, CUT, ANN_OPEN)
    assert refused(shoe, OpenSeed(ASKER, "bob", b"better" * 4)) == ("SEED_MISMATCH", "seed")


def test_a_copied_commitment_opens_for_nobody_else() -> None:
    copied = SeedCommitted("bob", ANN.commitment, 3)
    shoe = given(OPENED, ANN, copied, CUT, ANN_OPEN)
    assert refused(shoe, OpenSeed(ASKER, "bob", ANN_SEED)) == ("SEED_MISMATCH", "seed")


def test_a_seed_is_opened_once_and_by_who_committed_it() -> None:
    shoe = given(OPENED, ANN, CUT, ANN_OPEN)
    assert refused(shoe, OpenSeed(ASKER, "ann", ANN_SEED)) == ("SEED_REFUSED", "player")
    assert refused(shoe, OpenSeed(ASKER, "bob", BOB_SEED)) == ("SEED_REFUSED", "player")


@pytest.mark.parametrize("size", [0, 15, 65])
def test_a_seed_has_16_to_64_bytes(size: int) -> None:
    shoe = given(OPENED, ANN, CUT)
    assert refused(shoe, OpenSeed(ASKER, "ann", bytes(size))) == ("BAD_REQUEST", "seed")


def test_the_seal_names_whose_seeds_are_in_it_and_who_withheld() -> None:
    shoe = given(OPENED, BOB, ANN, CUT, ANN_OPEN)
    assert shoe is not None
    assert shoe.opened_seeds == (("ann", ANN_SEED),)
    assert when(shoe, Seal(ASKER, b"r" * 32)) == (ShoeSealed(b"r" * 32, ("ann",), ("bob",), 3),)


def test_seeds_keep_the_order_of_their_commitments() -> None:
    shoe = given(OPENED, BOB, ANN, CUT, ANN_OPEN, SeedOpened("bob", BOB_SEED, 3))
    assert shoe is not None
    assert shoe.opened_seeds == (("bob", BOB_SEED), ("ann", ANN_SEED))


def test_a_shoe_is_sealed_once_and_after_the_cut() -> None:
    assert refused(given(OPENED), Seal(ASKER, b"")) == ("SHOE_NOT_CUT", "")
    assert refused(given(*READY), Seal(ASKER, b"")) == ("SHOE_SEALED", "")


def test_that_a_seed_was_used_before_is_noted_before_the_seal_only() -> None:
    """Another process may seal the shoe while this one looks the seed up; a seed that is said to be
    used again after the seal, no check of the shoe would take."""
    [noted] = when(given(OPENED, ANN, CUT), NoteReuse(ASKER, "ann"))
    assert noted == SeedReused("ann", 3)
    sealed = given(OPENED, ANN, CUT, ShoeSealed(b"r" * 32, (), ("ann",), 3))
    assert refused(sealed, NoteReuse(ASKER, "ann")) == ("SHOE_SEALED", "")


def test_a_shoe_may_be_retired_in_any_phase_and_publishes_its_seed() -> None:
    for events in ((OPENED,), (OPENED, CUT), READY):
        [retired] = when(given(*events), Retire(ASKER, RetireReason.ABORTED, b"s" * 32))
        assert retired == ShoeRetired(RetireReason.ABORTED, b"s" * 32, 0, (), (), 3, NOW)


def test_a_shoe_that_is_not_published_keeps_its_seed() -> None:
    secret = replace(OPENED, publish=False)
    [retired] = when(given(secret), Retire(ASKER, RetireReason.PLAYED, b"s" * 32))
    assert isinstance(retired, ShoeRetired)
    assert retired.server_seed == b""


@pytest.mark.parametrize(
    "command",
    [
        CommitSeed(ASKER, "ann", bytes(32)),
        Cut(ASKER, "ann", 20),
        OpenSeed(ASKER, "ann", ANN_SEED),
        Seal(ASKER, b""),
        Deal(ASKER, "", (Draw(0, Use.OPEN),)),
        Retire(ASKER, RetireReason.PLAYED, b""),
    ],
)
def test_a_retired_shoe_takes_nothing_more(command: Command) -> None:
    assert refused(given(*READY, RETIRED), command) == ("SHOE_RETIRED", "shoe_id")


@pytest.mark.parametrize(
    "make",
    [
        lambda asker: CommitSeed(asker, "ann", bytes(32)),
        lambda asker: Cut(asker, "ann", 20),
        lambda asker: OpenSeed(asker, "ann", ANN_SEED),
        lambda asker: Seal(asker, b""),
        lambda asker: Deal(asker, "", (Draw(0, Use.OPEN),)),
        lambda asker: Retire(asker, RetireReason.PLAYED, b""),
        lambda asker: Claim(asker),
    ],
)
def test_only_the_newest_owner_of_its_own_table_is_heard(make: Any) -> None:
    for events in ((OPENED,), READY, (*READY, RETIRED)):
        assert refused(given(*events), make(Asker("table-2", 3))) == ("WRONG_TABLE", "table_id")
        assert refused(given(*events), make(Asker("table-1", 2))) == ("STALE_EPOCH", "epoch")
    assert refused(None, make(ASKER)) == ("SHOE_NOT_FOUND", "shoe_id")


def test_every_event_of_a_new_owner_fences_the_old_one() -> None:
    shown = CardsShown((Showing(0, ""),), "", 4)
    for newer in (SeedCommitted("ann", bytes(32), 4), ShoeCut("", 9, 4), shown, ShoeClaimed(4)):
        shoe = given(OPENED, newer)
        assert shoe is not None
        assert shoe.epoch == 4
        assert refused(shoe, Claim(ASKER)) == ("STALE_EPOCH", "epoch")


def test_a_claim_is_on_record_once() -> None:
    assert when(given(*READY), Claim(Asker("table-1", 4))) == (ShoeClaimed(4),)
    assert when(given(*READY, ShoeClaimed(4)), Claim(Asker("table-1", 4))) == ()


def test_a_shoe_that_is_over_is_not_claimed() -> None:
    """Nothing but a disclosure comes after a retirement, whoever repeats what."""
    assert when(given(*READY, RETIRED), Claim(Asker("table-1", 4))) == ()


def test_a_retired_shoe_is_disclosed_with_who_and_why() -> None:
    command = Disclose(Purpose.PERSON, "inspector", "complaint 17")
    disclosed = ShoeDisclosed(Purpose.PERSON, "inspector", "complaint 17", NOW)
    shoe = given(*READY, RETIRED)
    assert when(shoe, command) == (disclosed,)
    assert evolve(shoe, disclosed) == shoe


def test_nothing_is_disclosed_of_a_shoe_that_is_still_dealt() -> None:
    command = Disclose(Purpose.CHECK, "audit-1", "check")
    assert refused(given(*READY), command) == ("SHOE_NOT_RETIRED", "shoe_id")
    assert refused(None, command) == ("SHOE_NOT_FOUND", "shoe_id")
    shoe = given(*READY, RETIRED)
    assert refused(shoe, replace(command, why="")) == ("BAD_REQUEST", "why")
    assert refused(shoe, replace(command, why="x" * 201)) == ("BAD_REQUEST", "why")
    assert refused(shoe, replace(command, why="claim\0")) == ("BAD_REQUEST", "why")
    assert refused(shoe, replace(command, to="")) == ("BAD_REQUEST", "person")


def test_a_stream_begins_with_its_opening_and_has_one() -> None:
    with pytest.raises(ValueError, match="before ShoeOpened"):
        evolve(None, CUT)
    with pytest.raises(ValueError, match="opened once"):
        evolve(given(OPENED), OPENED)
    with pytest.raises(ValueError, match="before ShoeOpened"):
        evolve(None, ShoeDisclosed(Purpose.CHECK, "a", "b", NOW))


def test_nothing_that_holds_a_seed_shows_it() -> None:
    """It may not have come into the log, and a text finds its way into logs."""
    retired = evolve(given(*READY), RETIRED)
    assert retired.server_seed == b"s" * 32
    for holder in (Retire(ASKER, RetireReason.PLAYED, b"s" * 32), RETIRED, retired):
        assert "ssss" not in repr(holder)
    opened = given(OPENED, ANN, CUT, ANN_OPEN)
    for each in (OpenSeed(ASKER, "ann", ANN_SEED), ANN_OPEN, opened):
        assert "aaaa" not in repr(each)

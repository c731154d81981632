"""A client's seeds: pledged for every shoe that takes them, opened when asked, by themselves; and
never to a house that does not keep to the order."""

from __future__ import annotations

from typing import Any

import pytest
from croupier.table.v1 import events_pb2
from croupier.table.v1 import table_pb2 as pb

from clients.api.seeds import SeedKeeper
from shared.proofs.seeds import player_seed_commitment

HOUSE = b"h" * 32


def offered(*options: tuple[str, str]) -> pb.PlayerView:
    """What the player may do now: commands and their words."""
    return pb.PlayerView(options=[pb.Option(command=c, word=w) for c, w in options])


def shoe(shoe_id: str, cut_at: int = 0, **rest: Any) -> pb.ShoeView:
    return pb.ShoeView(shoe_id=shoe_id, cut_at=cut_at, **({"commitment": HOUSE} | rest))


def table(shoe_id: str, cut_at: int = 0, following: str = "", **rest: Any) -> pb.TableView:
    view = pb.TableView(shoe=shoe(shoe_id, cut_at, **rest))
    if following:
        view.next_shoe.CopyFrom(shoe(following))
    return view


PLEDGE = offered(("pledge_seed", "s1"))
OPEN = offered(("reveal_seed", ""))


def pledged() -> tuple[SeedKeeper, pb.Command]:
    keeper = SeedKeeper("ann")
    pledge = keeper.next_command(table("s1"), PLEDGE)
    assert pledge is not None
    return keeper, pledge


def test_a_seed_is_pledged_once_and_opened_once_when_it_is_asked_for() -> None:
    keeper, pledge = pledged()
    assert pledge.pledge_seed.shoe_id == "s1"
    # The view may say so again before the pledge has arrived.
    assert keeper.next_command(table("s1"), PLEDGE) is None
    assert keeper.next_command(table("s1", 26), offered()) is None
    opened = keeper.next_command(table("s1", 26), OPEN)
    assert opened is not None
    seed = opened.reveal_seed.seed
    assert len(seed) == 32
    assert pledge.pledge_seed.commitment == player_seed_commitment("s1", "ann", seed)
    assert keeper.next_command(table("s1", 26), OPEN) is None
    assert keeper.complaints == {}


def test_the_next_shoe_gets_a_seed_of_its_own_while_the_present_one_is_played() -> None:
    keeper, _ = pledged()
    second = keeper.next_command(
        table("s1", following="s2"), offered(("pledge_seed", "s1"), ("pledge_seed", "s2"))
    )
    assert second is not None
    assert second.pledge_seed.shoe_id == "s2"
    one = keeper.next_command(table("s1", 26), OPEN)
    other = keeper.next_command(table("s2", 30), OPEN)
    assert one is not None
    assert other is not None
    assert one.reveal_seed.seed != other.reveal_seed.seed
    assert second.pledge_seed.commitment == player_seed_commitment(
        "s2", "ann", other.reveal_seed.seed
    )


def test_nothing_is_pledged_before_the_house_has_committed_itself() -> None:
    keeper = SeedKeeper("ann")
    assert keeper.next_command(table("s1", commitment=b""), PLEDGE) is None
    assert keeper.next_command(table("s2"), PLEDGE) is None
    assert keeper.next_command(table("s1"), PLEDGE) is not None


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (table("s1"), "before the cut"),
        (table("s1", 26, root=b"r" * 32), "before the cut"),
        (table("s1", 26, commitment=b"o" * 32), "another seed since the pledge"),
        (table("s1", 26, commitment=b""), "another seed since the pledge"),
    ],
)
def test_a_seed_is_not_opened_out_of_turn(asked: pb.TableView, why: str) -> None:
    """Who knows it before the cut cuts by it; who may change his own seed after it does that."""
    keeper, _ = pledged()
    assert keeper.next_command(asked, OPEN) is None
    assert why in keeper.complaints["s1"]
    # The house does not get it by asking again, as it should have been asked.
    assert keeper.next_command(table("s1", 26), OPEN) is None


def test_a_seed_that_was_opened_and_left_out_is_noticed() -> None:
    keeper, _ = pledged()
    keeper.sealed(events_pb2.ShoeReady(shoe_id="s1", seeds_left_out=["ann"]))
    assert keeper.complaints == {}, "it was not opened"
    assert keeper.next_command(table("s1", 26), OPEN) is not None
    keeper.sealed(events_pb2.ShoeReady(shoe_id="s1", seeds_used=["ann", "bob"]))
    keeper.sealed(events_pb2.ShoeReady(shoe_id="s9"))
    assert keeper.complaints == {}
    keeper.sealed(events_pb2.ShoeReady(shoe_id="s1", seeds_used=["bob"], seeds_left_out=["ann"]))
    assert "left out" in keeper.complaints["s1"]


def test_a_seed_that_this_client_has_not_pledged_is_not_opened() -> None:
    """It was another client of the same player: only that one knows it."""
    keeper = SeedKeeper("ann")
    assert keeper.next_command(table("s1", 26), OPEN) is None
    assert keeper.complaints == {}


def test_seeds_of_shoes_long_gone_are_forgotten() -> None:
    keeper = SeedKeeper("ann")
    for number in range(9):
        keeper.next_command(table(f"s{number}"), offered(("pledge_seed", f"s{number}")))
    assert keeper.next_command(table("s0", 26), OPEN) is None
    assert keeper.next_command(table("s8", 26), OPEN) is not None


def test_its_text_shows_no_seed() -> None:
    keeper, _ = pledged()
    opened = keeper.next_command(table("s1", 26), OPEN)
    assert opened is not None
    assert repr(opened.reveal_seed.seed)[2:-1] not in repr(keeper._parts)

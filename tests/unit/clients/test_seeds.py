"""A client's seeds: pledged for every shoe that takes them, opened when asked, by themselves."""

from __future__ import annotations

from croupier.table.v1 import table_pb2 as pb

from clients.api.seeds import SeedKeeper
from shared.proofs.seeds import player_seed_commitment


def offered(*options: tuple[str, str]) -> pb.PlayerView:
    """What the player may do now: commands and their words."""
    return pb.PlayerView(options=[pb.Option(command=c, word=w) for c, w in options])


def table(shoe_id: str) -> pb.TableView:
    return pb.TableView(shoe=pb.ShoeView(shoe_id=shoe_id))


def test_a_seed_is_pledged_once_and_opened_once_when_it_is_asked_for() -> None:
    keeper = SeedKeeper("ann")
    pledge = keeper.next_command(table("s1"), offered(("pledge_seed", "s1")))
    assert pledge is not None
    assert pledge.pledge_seed.shoe_id == "s1"
    # The view may say so again before the pledge has arrived.
    assert keeper.next_command(table("s1"), offered(("pledge_seed", "s1"))) is None
    assert keeper.next_command(table("s1"), offered()) is None
    opened = keeper.next_command(table("s1"), offered(("reveal_seed", "")))
    assert opened is not None
    seed = opened.reveal_seed.seed
    assert len(seed) == 32
    assert pledge.pledge_seed.commitment == player_seed_commitment("s1", "ann", seed)
    assert keeper.next_command(table("s1"), offered(("reveal_seed", ""))) is None


def test_the_next_shoe_gets_a_seed_of_its_own_while_the_present_one_is_played() -> None:
    keeper = SeedKeeper("ann")
    first = keeper.next_command(table("s1"), offered(("pledge_seed", "s1")))
    second = keeper.next_command(table("s1"), offered(("pledge_seed", "s2")))
    assert first is not None
    assert second is not None
    assert second.pledge_seed.shoe_id == "s2"
    one = keeper.next_command(table("s1"), offered(("reveal_seed", "")))
    other = keeper.next_command(table("s2"), offered(("reveal_seed", "")))
    assert one is not None
    assert other is not None
    assert one.reveal_seed.seed != other.reveal_seed.seed
    assert second.pledge_seed.commitment == player_seed_commitment(
        "s2", "ann", other.reveal_seed.seed
    )


def test_a_seed_that_this_client_has_not_pledged_is_not_opened() -> None:
    """It was another client of the same player: only that one knows it."""
    assert SeedKeeper("ann").next_command(table("s1"), offered(("reveal_seed", ""))) is None


def test_seeds_of_shoes_long_gone_are_forgotten() -> None:
    keeper = SeedKeeper("ann")
    for number in range(9):
        keeper.next_command(table("s0"), offered(("pledge_seed", f"s{number}")))
    assert keeper.next_command(table("s0"), offered(("reveal_seed", ""))) is None
    assert keeper.next_command(table("s8"), offered(("reveal_seed", ""))) is not None

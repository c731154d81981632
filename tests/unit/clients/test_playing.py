"""`croupier play` from lines on standard input, at a table with the real rules."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from croupier.table.v1.table_pb2 import CardHand, PlayerView, SeenCard, TableView, Update
from rich.console import Console

from clients.api import House, RefusedError, TableClient
from clients.api.seat import Seat
from clients.cli.felt import seen_hands
from clients.cli.names import Names
from clients.cli.play import evening, scripted
from clients.cli.play.evening import play_evening
from clients.cli.play.visit import Visit
from clients.cli.shell import Shell
from shared.table.events import BetPlaced, ChipsRequested, JoinAsked
from tests.polling import eventually
from tests.unit.clients.fake_house import FakeHouse


class Evening:
    """One visit: lines in, text out."""

    def __init__(self, house: House, folder: Path) -> None:
        self.out, self.err = io.StringIO(), io.StringIO()
        self.shell = Shell(
            out=Console(file=self.out, width=200, highlight=False),
            err=Console(file=self.err, width=200, highlight=False),
        )
        self.shell._house = House(house.addresses, house.key, folder=folder)

    async def play(
        self, monkeypatch: pytest.MonkeyPatch, lines: str, game: str = "baccarat", table: str = ""
    ) -> bool:
        monkeypatch.setattr("sys.stdin", io.StringIO(lines))
        return await play_evening(self.shell, game, table, 50_000, at_terminal=False)


async def test_a_script_plays_hands_and_goes_home(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    house = FakeHouse(seed=11)
    house.open("baccarat-1", "baccarat", '{"min": 500}')
    async with house.serving() as found:
        visit = Evening(found, tmp_path)
        good = await visit.play(
            monkeypatch,
            "# two hands\ncut 200\nbanker 50\ntie 5\ndone\nplayer 20\ndone\nleave\n",
        )
    out = visit.out.getvalue()
    assert good, visit.err.getvalue()
    assert "You cut at 200." in out
    assert "Tie at 7. You: banker 50.00 comes back, tie 5.00 wins 40.00 (+40.00)." in out
    assert "BAC-08: the player stood" in out
    assert "You stake 20.00 on player, box 1." in out
    assert out.index("Hand 2: place your bets.") < out.index("You stake 20.00")
    assert "You leave the table." in out
    assert "You played 2 hands:" in out
    assert "croupier verify baccarat-1-" in out
    assert not house.tables["baccarat-1"].state.seats
    (balance,) = house.accounts.values()
    assert f"On your account: {balance // 100:,}".replace(",", " ") in out.replace(" ", " ")


async def test_a_script_may_ask_what_can_be_said_and_for_the_rules(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    house = FakeHouse()
    house.open("draw_poker-1", "draw_poker")
    async with house.serving() as found:
        visit = Evening(found, tmp_path)
        good = await visit.play(monkeypatch, "help\nrules\nleave\n", "draw_poker")
    out = visit.out.getvalue()
    assert good, visit.err.getvalue()
    assert "One command a line" in out
    assert "exchange 2c 10d" in out
    assert out.index("Now you may:") < out.index("  leave: after this hand, chips and all")
    assert "Everyone antes the same (DRW-01)" in out


def test_ones_own_cards_may_be_looked_at_until_the_next_are_dealt() -> None:
    seat = cast(Seat, SimpleNamespace(player="p_me", seated=True, complaints={}))
    visit = Visit(seat, Names("p_me"), 0)
    held = CardHand(name="box1", cards=[SeenCard(position=3, card="2c")])
    hidden = CardHand(name="box1", cards=[SeenCard(position=3)])
    visit.take(_update("h1", running=[hidden], you=[held]))
    visit.take(_update("h2", last=[hidden]))  # folded; nobody else is shown them
    over = _update("h2", last=[hidden]).table
    assert dict(seen_hands(over)[0]) == {"box1": [""]}
    assert dict(seen_hands(over, mine=visit.mine)[0]) == {"box1": ["2c"]}
    visit.take(_update("h2", running=[hidden]))  # another's cards lie there now
    assert visit.mine == {}


def _update(
    hand_id: str,
    running: Sequence[CardHand] = (),
    last: Sequence[CardHand] = (),
    you: Sequence[CardHand] = (),
) -> Update:
    return Update(
        table=TableView(hand_id=hand_id, hands=running, last_hands=last),
        you=PlayerView(hands=you),
    )


async def test_what_cannot_be_done_is_said_and_fails_the_script(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    house = FakeHouse()
    house.open("baccarat-1", "baccarat", '{"min": 500}')
    async with house.serving() as found:
        visit = Evening(found, tmp_path)
        good = await visit.play(monkeypatch, "xyzzy\nbanker 1\nbanker 0.5 9\nleave\n")
    assert not good
    complaints = visit.err.getvalue()
    assert "'xyzzy' means nothing here" in complaints
    assert "TOO_MANY_BOXES" in complaints


async def test_a_line_that_never_becomes_possible_is_given_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(scripted, "PATIENCE_S", 0.1)
    house = FakeHouse()
    house.open("baccarat-1")
    async with house.serving() as found:
        visit = Evening(found, tmp_path)
        assert not await visit.play(monkeypatch, "back 1\n")
    assert "`back 1` could not be done for 0.1 s" in visit.err.getvalue()


async def test_the_end_of_the_lines_is_the_end_of_the_visit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    house = FakeHouse()
    async with house.serving() as found:
        visit = Evening(found, tmp_path)
        assert await visit.play(monkeypatch, "ante 20\ndone\nbet\n", game="casino_holdem")
    assert "No casino_holdem table had a free seat: opened casino_holdem-1." in visit.err.getvalue()
    assert "You played 1 hand:" in visit.out.getvalue()
    assert not house.tables["casino_holdem-1"].state.seats


async def test_the_same_person_comes_back_with_the_same_account(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    house = FakeHouse()
    house.open("baccarat-1")
    async with house.serving() as found:
        for _ in range(2):
            visit = Evening(found, tmp_path)
            assert await visit.play(monkeypatch, "")
    assert len(house.accounts) == 1
    assert "play money" not in visit.err.getvalue()


async def test_a_table_that_is_wanted_must_be_there_and_of_the_game(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    house = FakeHouse()
    house.open("baccarat-1")
    async with house.serving() as found:
        visit = Evening(found, tmp_path)
        with pytest.raises(RefusedError, match="TABLE_NOT_FOUND"):
            await visit.play(monkeypatch, "", table="nowhere")
        with pytest.raises(RefusedError, match="they play baccarat"):
            await visit.play(monkeypatch, "", game="battle", table="baccarat-1")


async def test_a_guest_with_a_token_of_his_own_gets_no_gifts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    house = FakeHouse()
    house.open("baccarat-1")
    async with house.serving() as found:
        from clients.api import Identity

        token = found.make_token(Identity("p_guest", "player"))
        visit = Evening(found, tmp_path)
        visit.shell._house = House(found.addresses, token=token)
        with pytest.raises(RefusedError, match="INSUFFICIENT_FUNDS"):
            await visit.play(monkeypatch, "")
        with pytest.raises(RefusedError, match="no battle table has a free seat"):
            await visit.play(monkeypatch, "", game="battle")
    assert house.accounts == {"p_guest": 0}


async def test_who_is_interrupted_does_not_keep_the_others_waiting(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    house = FakeHouse()
    table = house.open("baccarat-1")
    monkeypatch.setattr(evening, "LEAVE_TIMEOUT_S", 60.0)
    async with house.serving() as found:
        visit = Evening(found, tmp_path)
        monkeypatch.setattr(scripted, "PATIENCE_S", 60.0)
        playing = asyncio.create_task(visit.play(monkeypatch, "back 1\n"))
        while not (table.state.seats and "back" in visit.out.getvalue()):
            await asyncio.sleep(0)
        playing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await playing
    assert not table.state.seats


async def test_who_has_no_seat_does_not_wait_to_leave_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    house = FakeHouse()
    table = house.open("baccarat-1")
    for number in range(5):
        table.take(JoinAsked(f"p_{number}", table.now()))
    async with house.serving() as found:
        visit = Evening(found, tmp_path)
        async with asyncio.timeout(20):
            assert not await visit.play(monkeypatch, "leave\n", table="baccarat-1")
    assert "NOT_SEATED" in visit.err.getvalue()


@pytest.mark.parametrize("lines", ["back 1\n", "banker 50\nleave\n"])
async def test_a_stream_that_is_refused_for_good_ends_the_script(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lines: str
) -> None:
    """While a line waits until it can be done, and while the hand goes on that he leaves with."""
    house = FakeHouse()
    table = house.open("baccarat-1")
    table.accounts["p_1"] = 10_000
    table.take(JoinAsked("p_1", table.now()))
    table.take(ChipsRequested("p_1", 10_000, table.now()))
    table.take(BetPlaced("p_1", 5, "player", 1_000, False, table.now()))  # and is not done
    seats: list[Seat] = []
    real = TableClient.seat

    async def seat(*arguments: Any, **named: Any) -> Seat:
        seats.append(await real(*arguments, **named))
        return seats[0]

    monkeypatch.setattr(TableClient, "seat", seat)
    async with house.serving() as found:
        visit = Evening(found, tmp_path)
        playing = asyncio.create_task(visit.play(monkeypatch, lines))
        if "leave" in lines:
            await eventually(lambda: any(one.leaving for one in table.state.seats.values()))
        else:
            await eventually(lambda: "back 1" in visit.out.getvalue())
        seats[0]._fail(RefusedError("TOKEN_EXPIRED", "the token was good once"))
        async with asyncio.timeout(20):
            with pytest.raises(RefusedError, match="TOKEN_EXPIRED"):
                await playing

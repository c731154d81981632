"""The pit at a real house, through `croupier pit`: incidents, penalties, rulings."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from croupier.type.v1.money_pb2 import Money
from typer.testing import CliRunner, Result

from clients.api import RefusedError, TableClient, WalletClient, commands
from clients.api.house import Identity, find_house
from clients.api.seat import Seat
from clients.api.sight import Sight
from clients.cli.app import app
from tests.e2e.houses import HouseOnDisk

CHIPS = 50_000


class Pit:
    """The command line, from within a test that holds a seat at the same time."""

    def __init__(self, house: HouseOnDisk) -> None:
        self._house = house

    async def __call__(self, *words: str, status: int = 0) -> Result:
        argv = ["--house", str(self._house.file), *words]
        ran = await asyncio.to_thread(lambda: CliRunner().invoke(app, argv))
        assert ran.exit_code == status, (words, ran.output, ran.exception)
        return ran


@pytest.fixture
def pit(open_house: HouseOnDisk) -> Pit:
    return Pit(open_house)


@asynccontextmanager
async def seated(house: HouseOnDisk, player: str, table: str) -> AsyncIterator[Seat]:
    """A player with chips at a table."""
    found, who, operator = find_house(house.file), Identity(player, "player"), "operator"
    async with found.connect("wallet", Identity("op", operator)) as connection:
        wallet = WalletClient(connection)
        await wallet.open_account("CHF", player)
        await wallet.deposit(player, Money(currency="CHF", minor_units=CHIPS), "e2e")
    async with (
        found.connect("table", who) as connection,
        TableClient(connection, player) as client,
    ):
        seat = await client.seat(table)
        await seat.execute(commands.join())
        await seat.execute(commands.buy_chips(Money(currency="CHF", minor_units=CHIPS)))
        yield seat


async def until(seat: Seat, so: Callable[[Sight], bool]) -> Sight:
    """Waits until the seat's view is so; a cut that is offered goes to the dealer."""
    async with asyncio.timeout(60):
        while not so(seat.sight()):
            if seat.sight().options("cut_shoe"):
                await seat.execute(commands.cut_shoe(0))
            else:
                await seat.next_update()
    return seat.sight()


async def bet(seat: Seat, wager: str) -> None:
    sight = await until(seat, lambda sight: bool(sight.options("place_bet")))
    await seat.execute(commands.place_bet(1, wager, sight.money(1_000), done=True))


def deciding(sight: Sight) -> bool:
    return bool(sight.options("decide"))


def chips(seat: Seat) -> int:
    return seat.you.free_chips.minor_units


async def test_the_pit_at_a_table_of_hold_em(open_house: HouseOnDisk, pit: Pit) -> None:
    await pit("table", "open", "casino_holdem", "--table", "floor")
    matrix = (await pit("pit", "incidents")).stdout
    assert "wrong_card_count  void      void    redeal         void         redeal" in matrix
    async with seated(open_house, "p_ann", "floor") as ann:
        changed = await pit("pit", "report", "floor", "dealer_change", "--note", "a break")
        assert "The pit reports: dealer change.\nPlay goes on (TAB-08).\n" in changed.stdout
        await bet(ann, "ante")
        hand = (await until(ann, deciding)).table.hand_id
        shown = (await pit("pit", "show", "floor")).stdout
        assert f"floor  casino_holdem  decisions  hand {hand}" in shown
        assert "p_ann   490.00  1" not in shown  # the stake lies there till the end
        assert "p_ann   500.00  1" in shown
        assert "board" in shown

        early = await pit("pit", "report", "floor", "dealer_change", status=1)
        assert "HAND_RUNNING" in str(early.exception)
        exposed = await pit("pit", "report", "floor", "card_exposed", "--card", "0", "--json")
        events = [one["type"] for one in json.loads(exposed.stdout)]
        assert events == ["IncidentReported", "IncidentResolved"]
        again = await pit("pit", "report", "floor", "wrong_card_count", "--as-dealer")
        assert "The dealer reports: wrong card count." in again.stdout
        assert "The hand is dealt again (wrong card count): antes stay." in again.stdout
        await until(ann, deciding)
        ruled = await pit("pit", "void", "floor", "--note", "a quarrel")
        assert "The hand is void (management): all stakes go back." in ruled.stdout
        nothing = await pit("pit", "void", "floor", status=1)
        assert "NO_HAND" in str(nothing.exception)
        await until(ann, lambda _: chips(ann) == CHIPS)
        replayed = (await pit("replay", hand)).stdout
        for word in ("IncidentReported", "HandRedealt", "HandRuledVoid"):
            assert word in replayed
        assert (await pit("verify", hand)).stdout.startswith(f"✓ {hand} verifies")

        unknown = await pit("pit", "warn", "floor", "p_bob", status=2)
        assert "p_ann" in unknown.output
        await pit("pit", "warn", "floor", "p_ann")
        fined = await pit("pit", "fine", "floor", "p_a", "12.50", "--note", "a word")
        assert "p_ann pays a fine of 12.50." in fined.stdout
        await until(ann, lambda _: chips(ann) == CHIPS - 1_250)
        removed = await pit("pit", "remove", "floor", "p_ann")
        assert "p_ann leaves the table." in removed.stdout
        await until(ann, lambda sight: sight.seat is None)
        with pytest.raises(RefusedError, match="PLAYER_REMOVED"):
            await ann.execute(commands.join())
    closed = await pit("pit", "close", "floor")
    assert "floor closes" in closed.stdout


async def test_the_pit_confirms_an_exposed_card_at_battle(
    open_house: HouseOnDisk, pit: Pit
) -> None:
    await pit("table", "open", "battle", "--table", "ring")
    async with seated(open_house, "p_bea", "ring") as bea:
        for _ in range(40):  # nearly half of all boxes win at once
            await bet(bea, "stake")
            hand = bea.table.hand_id
            sight = await until(
                bea, lambda sight, hand=hand: deciding(sight) or sight.table.hand_id != hand
            )
            if deciding(sight):
                break
        exposed = await pit("pit", "report", "ring", "card_exposed", "--as-dealer")
        assert exposed.stdout.endswith("It waits for the pit: croupier pit confirm ring\n")
        assert "card_exposed, waits to be confirmed" in (await pit("pit", "show", "ring")).stdout
        confirmed = await pit("pit", "confirm", "ring")
        assert "The next card is burned (TAB-08)." in confirmed.stdout
        nothing = await pit("pit", "confirm", "ring", status=1)
        assert "INCIDENT_NOT_ALLOWED" in str(nothing.exception)
        await until(bea, deciding)
        await bea.execute(commands.decide(1, "surrender"))


async def test_wrong_usage_of_the_pit_is_told(pit: Pit) -> None:
    assert "an incident is one of" in (await pit("pit", "report", "t", "fire", status=2)).output
    await pit("table", "open", "draw_poker", "--table", "cards", "--ante", "1")
    whose = await pit("pit", "report", "cards", "card_exposed", status=2)
    assert "whose card?" in whose.output
    gone = await pit("pit", "show", "nowhere", status=1)
    assert "TABLE_NOT_FOUND" in str(gone.exception)

"""Evenings at every game, played at random by all that the options offer: nothing is ever found.

Private cards, exchanges, side pots, carried pots, defaults by the clock: whatever the tables may
do, the audit has to follow.
"""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import Any

import pytest

from services.audit.replay import replay
from services.audit.verify.findings import read
from services.audit.verify.ledger import LedgerWalk
from shared.cards import DECK
from shared.errors import CroupierError
from shared.games.registry import GAMES
from shared.table import events as e
from shared.table.options import options
from shared.table.sealer import KeyringSealer
from shared.table.state import TableState, next_clock
from tests.playing import FIELD_KEYS
from tests.unit.audit.given import Evidence, Night, empty_night, told

STEPS = 220
PLAYERS = ("ann", "bob", "cid")
MOVES = {"place_bet", "done_betting", "decide", "cut_shoe", "take_back_bets"}


def fact_of(state: TableState, player: str, option: Any, random: Random) -> Any:
    """An input that takes an option up, with something between its bounds."""
    top = min(option.maximum, option.minimum * 3) or option.minimum
    amount = random.randint(option.minimum, max(top, option.minimum))
    match option.command:
        case "place_bet":
            box = option.box or random.randint(1, 5)
            price = option.minimum == option.maximum
            stake = amount if price else random.randint(1, 20) * 100
            return e.BetPlaced(player, box, option.word, stake)
        case "done_betting":
            return e.BetsDone(player)
        case "take_back_bets":
            return e.BetsTakenBack(player, option.box)
        case "cut_shoe":
            return e.CutChosen(player, random.choice((0, option.minimum, amount)))
        case _:
            positions: tuple[int, ...] = ()
            if option.counts and state.hand is not None:
                held = state.table.game.cells(state.hand.play)[f"box{option.box}"]
                count = random.choice(list(option.counts))
                positions = tuple(sorted(cell.position for cell in random.sample(held, count)))
            return e.DecisionMade(player, option.box, option.word, amount, positions)


def trouble(state: TableState, random: Random) -> Any:
    """What may come over a table: the pit, another owner, an outage."""
    word = random.choice(("card_exposed", "wrong_card_count", "wrong_order", "dealer_change"))
    position = random.randint(0, 12)
    return random.choice(
        (
            e.IncidentReported("pit", word, position, by_pit=True),
            e.HandRuledVoid("pit"),
            e.TableClaimed("node-2", state.epoch + 1),
            e.PlayResumed(),
        )
    )


async def evening_of(game: str, seed: int) -> Night:
    """Some hands of a game at table "t1"."""
    random = Random(seed)
    night = await empty_night()
    house = night.house
    await house.open_table("t1", game, ante=100 if game == "draw_poker" else 0)
    for player in PLAYERS:
        await house.seat("t1", player, 400_000)
    for _ in range(STEPS):
        state = house.tables["t1"]
        moves = [
            fact_of(state, player, option, random)
            for player in PLAYERS
            for option in options(state, player)
            if option.command in MOVES
        ]
        clock, deadline = next_clock(state)
        if deadline and (not moves or random.random() < 0.05):
            due = deadline - night.clock.microseconds()
            night.clock.now += timedelta(microseconds=max(0, due))
            moves = [e.ClockExpired(deadline, clock=clock)]
        if random.random() < 0.06:
            moves = [trouble(state, random)]
        if not moves:
            break  # Nobody has the chips to go on.
        try:
            await house.give("t1", random.choice(moves))
        except CroupierError:
            continue  # The options say what may be done, not every way of doing it.
    await night.wallet.follow()
    return night


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("game", sorted(GAMES))
async def test_whatever_is_played_holds(game: str, seed: int) -> None:
    night = await evening_of(game, seed)
    evidence = await Evidence.of(night)
    assert any(event.type == "HandSettled" for event in evidence.table)
    assert evidence.findings() == []
    ledger = LedgerWalk()
    for event in await night.log.read_partition("wallet.0", 0, 10_000):
        assert not list(ledger.step(read(event)))
    assert told(ledger.end()) == []
    assert told(ledger.compare_chips([night.house.tables["t1"]])) == []


@pytest.mark.parametrize("game", ["casino_holdem", "draw_poker", "oasis_poker"])
async def test_nobody_sees_more_in_a_replay_than_he_was_dealt(game: str) -> None:
    """One deck: a card that a player sees is the one that was dealt to him, or to all."""
    night = await evening_of(game, 3)
    sealer = KeyringSealer(FIELD_KEYS)
    for settled in await night.log.read_stream("table/t1", 0, 10_000):
        if settled.type != "HandSettled":
            continue
        reads = [read(event) for event in await night.log.read_hand(settled.hand_id or "")]
        told_ = replay(reads, FIELD_KEYS)
        dealt: dict[str, set[str]] = {player: set() for player in ("", *PLAYERS)}
        for each, step in zip(reads, told_.steps, strict=True):
            for card in each.body.cards if each.event.type == "CardsDealt" else ():
                if card.HasField("sealed"):
                    hand_id = settled.hand_id or ""
                    code = sealer.open(hand_id, card.viewer, card.position, card.sealed)
                    dealt[card.viewer].add(str(DECK[code]))
                elif card.card_plus_one:
                    dealt[""].add(str(DECK[card.card_plus_one - 1]))
            for party, hands in step.sights.items():
                kind, _, player = party.partition(":")
                if kind in ("public", "player"):
                    seen = {card for cards in hands.values() for card in cards.split()}
                    assert seen - {"??"} <= dealt[player] | dealt[""]
        assert set().union(*dealt.values()) == {proof.card for proof in told_.proofs}

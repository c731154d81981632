"""What happened, in sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from croupier.table.v1 import events_pb2 as e
from croupier.table.v1.table_pb2 import CardHand, TableEvent

from clients.bots.hand_reading import made
from clients.cli.amounts import write_minor
from clients.cli.names import Names
from clients.cli.picture import card_name
from clients.cli.rules import clause_text
from shared.cards import DECK, parse_card

_POKER = frozenset({"casino_holdem", "oasis_poker", "draw_poker"})
_POINTS = {"A": 1} | {str(number): number for number in range(2, 10)}


def tell(event: TableEvent, names: Names) -> str:
    """A sentence about an event, empty where there is nothing to say to this person."""
    which = event.WhichOneof("event")
    teller = _TELLERS.get(which or "")
    return teller(getattr(event, which), names) if teller and which else ""


def points(cards: Sequence[str]) -> int:
    """The points of a baccarat hand (BAC-02)."""
    return sum(_POINTS.get(card[0], 0) for card in cards if card) % 10


def holding(game: str, cards: Sequence[str], board: Sequence[str] = ()) -> str:
    """`two pair`: what a poker hand has made; empty while not enough of it is seen."""
    seen = [parse_card(card) for card in (*cards, *board) if card]
    if game not in _POKER or not all(cards) or len(seen) < 5:
        return ""
    return made(seen).name.replace("_", " ").lower()


def result_line(game: str, result: e.HandSettled, hands: Sequence[CardHand]) -> str:
    """How a hand ended, in a few words."""
    if game == "baccarat":
        by_name = {hand.name: points([card.card for card in hand.cards]) for hand in hands}
        player, banker = by_name.get("player", 0), by_name.get("banker", 0)
        if result.result == "tie":
            return f"tie at {player}"
        winner, loser = max(player, banker), min(player, banker)
        return f"{result.result} wins, {winner} to {loser}"
    if result.winners:
        takes = "takes" if len(result.winners) == 1 else "take"
        return f"{result.result}: {_boxes(result.winners)} {takes} the pot"
    if game == "battle":
        won = sorted({line.box for line in result.lines if line.returned > line.stake})
        beats = "beats" if len(won) == 1 else "beat"
        return f"{_boxes(won)} {beats} the dealer" if won else "the dealer wins"
    dealers = {hand.name: [card.card for card in hand.cards] for hand in hands}
    if holds := holding(game, dealers.get("dealer", ()), dealers.get("board", ())):
        return f"the dealer has {holds}"
    return "all have folded" if result.result == "settled" else result.result


def _boxes(numbers: Sequence[int]) -> str:
    """`box 1`, `box 1 and 3`."""
    return "box " + " and ".join(str(number) for number in numbers)


def clauses_line(result: e.HandSettled) -> str:
    """The clauses that decided it, each in words."""
    return "; ".join(clause_text(clause) for clause in result.clauses)


def own_lines(result: e.HandSettled, player: str) -> tuple[int, int, list[str]]:
    """What a player staked and got back, in minor units, and each wager in words."""
    mine = [line for line in result.lines if line.player == player]
    carried = result.result == "carried"
    several = len({line.box for line in mine}) > 1
    said = [
        (f"box {line.box} " if several else "")
        + f"{line.wager} {write_minor(line.stake)} {'stays' if carried else _became(line)}"
        for line in mine
    ]
    return sum(line.stake for line in mine), sum(line.returned for line in mine), said


def _became(line: e.SettledLine) -> str:
    if line.wager == "exchange":
        return "paid"
    if line.returned > line.stake:
        return f"wins {write_minor(line.returned - line.stake)}"
    if line.returned == line.stake:
        return "comes back"
    if line.returned:
        return f"gets {write_minor(line.returned)} back"
    return "loses"


def _dealt(event: e.CardsDealt, names: Names) -> str:
    parts = []
    for place in dict.fromkeys(card.hand for card in event.cards):
        there = [card for card in event.cards if card.hand == place]
        seen = [
            card_name(str(DECK[card.card_plus_one - 1])) for card in there if card.card_plus_one
        ]
        hidden = len(there) - len(seen)
        if hidden:
            seen.append(f"{hidden} face down")
        label = "burned" if place == "burn" else place.replace("box", "box ")
        parts.append(f"{label} {' '.join(seen)}")
    return "; ".join(parts)[:1].upper() + "; ".join(parts)[1:] + "."


def _decided(event: e.DecisionMade, names: Names) -> str:
    to = "to " if event.action == "raise" else ""
    amount = f" {to}{write_minor(event.amount)}" if event.amount else ""
    cards = f" {len(event.positions)} cards" if event.positions else ""
    insured = " with insurance" if event.insurance else ""
    return f"{names.does(event.player, event.action)}{amount}{cards}{insured} on box {event.box}."


def _chips(event: e.ChipsArrived, names: Names) -> str:
    if event.player != names.me:
        return ""
    return f"Your chips are here: {write_minor(event.amount)}."


def _denied(event: e.ChipsDenied, names: Names) -> str:
    if event.player != names.me:
        return ""
    return f"No chips: {event.reason.replace('_', ' ').lower()}."


def _cut_offered(event: e.CutOffered, names: Names) -> str:
    if not event.player:
        return ""
    return f"{names.does(event.player, 'are', 'is')} offered the cut."


def _cut_chosen(event: e.CutChosen, names: Names) -> str:
    if not event.place:
        return f"{names.does(event.player, 'leave', 'leaves')} the cut to the dealer."
    return f"{names.does(event.player, 'cut')} at {event.place}."


def _shoe_ready(event: e.ShoeReady, names: Names) -> str:
    seeds = len(event.seeds_used)
    whose = "nobody's seed"
    if seeds:
        mine = "yours" if names.me in event.seeds_used else ""
        others = seeds - bool(mine)
        also = f"{others} other{'s' if others != 1 else ''}" if others else ""
        whose = "seeds of players in it: " + " and ".join(filter(None, (mine, also)))
    return f"The shoe is sealed ({event.size} cards, root {event.root.hex()[:8]}…; {whose})."


def _betting_opened(event: e.BettingOpened, names: Names) -> str:
    if not event.entry_amount:
        return f"Hand {event.number}: place your bets."
    pot = f", the pot waits with {write_minor(event.carried_pot)}" if event.carried_pot else ""
    return f"Hand {event.number}: {write_minor(event.entry_amount)} to be dealt in{pot}."


def _commission(event: e.CommissionTaken, names: Names) -> str:
    if event.player != names.me or not event.owed:
        return ""
    owed, taken = write_minor(event.owed), write_minor(event.taken)
    return f"Commission: {owed} owed, {taken} taken (BAC-11)."


def _cashed(event: e.CashOutRequested, names: Names) -> str:
    if event.player != names.me:
        return ""
    return f"{write_minor(event.amount)} of chips go back to your account."


_OUTCOMES = {
    "void": "The hand cannot go on (TAB-08).",
    "redeal": "The hand has to be dealt again (TAB-08).",
    "burn": "The next card is burned (TAB-08).",
    "choice": "Its player keeps the card or has the hand dealt again (TAB-08).",
    "go_on": "Play goes on (TAB-08).",
}

_TELLERS: dict[str, Callable[[Any, Names], str]] = {
    "table_closing": lambda event, names: "The table closes after this hand.",
    "table_closed": lambda event, names: "The table is closed.",
    "clock_expired": lambda event, names: "The clock has run out.",
    "deadline_moved": lambda event, names: "The house was away: the clock was moved on.",
    "consent_asked": lambda event, names: (
        f"{names.does(event.player, 'ask')} to join; silence is consent."
    ),
    "join_objected": lambda event, names: (
        f"{names.does(event.by, 'object')} to {names.of(event.player)} joining."
    ),
    "join_failed": lambda event, names: (
        f"{names.does(event.player, 'do', 'does')} not join "
        f"({event.why.replace('_', ' ').lower()})."
    ),
    "player_joined": lambda event, names: names.does(event.player, "sit") + " down.",
    "player_left": lambda event, names: names.does(event.player, "leave") + " the table.",
    "chips_arrived": _chips,
    "chips_denied": _denied,
    "cash_out_requested": _cashed,
    "cut_offered": _cut_offered,
    "cut_chosen": _cut_chosen,
    "cut_left_to_dealer": lambda event, names: "The dealer cuts.",
    "shoe_ready": _shoe_ready,
    "shoe_finished": lambda event, names: f"The shoe is over ({event.why.replace('_', ' ')}).",
    "betting_opened": _betting_opened,
    "window_passed": lambda event, names: "Nobody enters; the pot waits.",
    "pot_paid": lambda event, names: (
        "The pot is paid: "
        + ", ".join(f"{names.of(one.player)} {write_minor(one.amount)}" for one in event.shares)
        + f" ({event.why.replace('_', ' ')})."
    ),
    "bet_placed": lambda event, names: (
        f"{names.does(event.player, 'stake')} {write_minor(event.stake)} "
        f"on {event.wager}, box {event.box}."
    ),
    "bets_taken_back": lambda event, names: (
        f"{names.does(event.player, 'take')} the bets on box {event.box} back."
    ),
    "bets_returned": lambda event, names: (
        f"The bets of {names.of(event.player)} on box {event.box} go back "
        f"({event.why.replace('_', ' ').lower()})."
    ),
    "bettor_admitted": lambda event, names: (
        f"{names.does(event.owner, 'let')} {names.of(event.bettor)} bet on box {event.box}."
    ),
    "betting_closed": lambda event, names: "No more bets.",
    "cards_dealt": _dealt,
    "decision_made": _decided,
    "decision_defaulted": lambda event, names: (
        f"The clock decides for box {event.box}: {event.action}."
    ),
    "hand_voided": lambda event, names: (
        f"The hand is void ({event.why.replace('_', ' ').lower()}): all stakes go back."
    ),
    "hand_redealt": lambda event, names: (
        f"The hand is dealt again ({event.why.replace('_', ' ').lower()}): antes stay."
    ),
    "penalty_given": lambda event, names: (
        f"The pit: {event.penalty}{f' of {write_minor(event.amount)}' if event.amount else ''} "
        f"for {names.of(event.player)}."
    ),
    "fine_taken": lambda event, names: (
        f"{names.does(event.player, 'pay')} a fine of {write_minor(event.amount)}."
    ),
    "commission_taken": _commission,
    "incident_reported": lambda event, names: (
        f"The {'pit' if event.by_pit else 'dealer'} reports: {event.incident.replace('_', ' ')}."
    ),
    "incident_confirmed": lambda event, names: "The pit confirms it.",
    "incident_resolved": lambda event, names: _OUTCOMES.get(event.outcome, ""),
    "hand_ruled_void": lambda event, names: "Management voids the hand.",
}

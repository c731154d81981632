"""Events in words, for a replay that people read. Amounts are minor units, as everywhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

_CAPITAL = re.compile(r"(?<!^)(?=[A-Z])")


def words_of(event_type: str, body: Any) -> str:
    """A sentence about an event; `body` is its message. Says no card that its audience must not
    see: private ones are told by position."""
    tell = _WORDS.get(event_type)
    return tell(body) if tell is not None else _CAPITAL.sub(" ", event_type).capitalize()


def _listed(parts: Iterable[str]) -> str:
    return ", ".join(parts) or "nothing"


def _hand_opened(body: Any) -> str:
    bets = (
        f"box {box.box}: {bet.player} {bet.stake} on {bet.wager}"
        for box in body.boxes
        for bet in box.bets
    )
    return f"Hand {body.number} opens; {_listed(bets)}"


def _cards_due(body: Any) -> str:
    slots = (f"position {slot.position} to {slot.hand}" for slot in body.slots)
    return f"Cards are due: {_listed(slots)}"


def _hand_settled(body: Any) -> str:
    lines = (f"{line.player} {line.wager} {line.stake} → {line.returned}" for line in body.lines)
    return f"The hand is over: {body.result}; {_listed(lines)}"


def _transfer_posted(body: Any) -> str:
    legs = (f"{posting.account} {posting.minor_units:+}" for posting in body.postings)
    return f"The wallet posts {_listed(legs)}"


def _spaced(name: str) -> str:
    return name.replace("_", " ")


def _positions(values: Iterable[int]) -> str:
    return _listed(str(value) for value in values)


_WORDS: Mapping[str, Callable[[Any], str]] = {
    "BettingOpened": lambda body: f"Betting opens for hand {body.number}",
    "BetPlaced": lambda body: f"{body.player} stakes {body.stake} on {body.wager}, box {body.box}",
    "BetsTakenBack": lambda body: f"{body.player} takes the bets on box {body.box} back",
    "BetsReturned": lambda body: f"{body.player}'s bets on box {body.box} go back: {body.why}",
    "BettorAdmitted": lambda body: f"{body.owner} lets {body.bettor} in on box {body.box}",
    "BetsDone": lambda body: f"{body.player} has no more bets",
    "BettingClosed": lambda body: "No more bets",
    "HandOpened": _hand_opened,
    "CardsDue": _cards_due,
    "CardsDealt": lambda body: f"{len(body.cards)} cards are dealt",
    "CardsShown": lambda body: (
        f"Shuffle shows positions {_positions(card.position for card in body.cards)}"
    ),
    "CardsTaken": lambda body: f"Face down leave positions {_positions(body.positions)}",
    "CardsBurned": lambda body: (
        f"Burned are positions {_positions([*body.positions, *(c.position for c in body.open)])}"
    ),
    "DecisionsDue": lambda body: (
        f"To decide ({body.phase}): boxes {_positions(body.boxes)} by {_listed(body.players)}"
    ),
    "DecisionMade": lambda body: f"{body.player} decides for box {body.box}: {body.action}",
    "DecisionDefaulted": lambda body: f"The clock decides for box {body.box}: {body.action}",
    "ClockExpired": lambda body: "The clock has run out",
    "HandSettled": _hand_settled,
    "IncidentReported": lambda body: (
        f"{body.by}, {'pit' if body.by_pit else 'dealer'}, reports {_spaced(body.incident)}"
        + (f", position {body.position}" if body.incident == "card_exposed" else "")
    ),
    "IncidentConfirmed": lambda body: f"{body.by}, pit, confirms it",
    "IncidentResolved": lambda body: f"What follows from it: {_spaced(body.outcome)}",
    "HandRedealt": lambda body: f"The hand is to be dealt again: {_spaced(body.why)}",
    "HandRuledVoid": lambda body: f"{body.by}, pit, rules that the hand is void",
    "HandVoided": lambda body: f"The hand is void, all stakes go back: {body.why}",
    "CommissionTaken": lambda body: f"{body.player} pays {body.taken} of {body.owed} commission",
    "TransferPosted": _transfer_posted,
    "CutCardReached": lambda body: "The cut card is reached",
}

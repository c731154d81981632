"""Events of a table about a hand, and what the pit does to it (see `shared.table.events`)."""

from __future__ import annotations

from dataclasses import dataclass

from shared.cards import Card
from shared.games.play import Face
from shared.quick import quick


@quick
@dataclass(frozen=True, slots=True)
class BetLine:
    player: str = ""
    wager: str = ""
    stake: int = 0


@quick
@dataclass(frozen=True, slots=True)
class BoxBets:
    box: int = 0
    owner: str = ""
    bets: tuple[BetLine, ...] = ()
    blind: bool = False


@quick
@dataclass(frozen=True, slots=True)
class Stack:
    player: str = ""
    chips: int = 0


@quick
@dataclass(frozen=True, slots=True)
class Entry:
    box: int = 0
    amount: int = 0


@quick
@dataclass(frozen=True, slots=True)
class HandOpened:
    """All that is needed to rebuild the hand from here on."""

    hand_id: str = ""
    number: int = 0
    game: str = ""
    rules_version: int = 0
    rules_json: str = ""
    shoe_id: str = ""
    next_position: int = 0
    boxes: tuple[BoxBets, ...] = ()
    stacks: tuple[Stack, ...] = ()
    ante: int = 0
    first: int = 0
    carried_pot: int = 0
    entries: tuple[Entry, ...] = ()
    entry: str = ""


@quick
@dataclass(frozen=True, slots=True)
class CardsDue:
    """What the table waits for in shuffle's answer: committed before the cards are asked for."""

    shoe_id: str = ""
    slots: tuple[CardSlot, ...] = ()


@quick
@dataclass(frozen=True, slots=True)
class CardSlot:
    position: int = 0
    hand: str = ""
    face: Face = Face.DOWN
    viewer: str = ""


@quick
@dataclass(frozen=True, slots=True)
class DealtCard:
    position: int = 0
    hand: str = ""
    face: Face = Face.DOWN
    viewer: str = ""
    card: Card | None = None


@quick
@dataclass(frozen=True, slots=True)
class CardsDealt:
    request_id: str = ""
    cards: tuple[DealtCard, ...] = ()
    at: int = 0


@quick
@dataclass(frozen=True, slots=True)
class DecisionsDue:
    phase: str = ""
    boxes: tuple[int, ...] = ()
    players: tuple[str, ...] = ()
    warn_at: int = 0
    deadline: int = 0


@quick
@dataclass(frozen=True, slots=True)
class InsuranceStake:
    player: str = ""
    stake: int = 0


@quick
@dataclass(frozen=True, slots=True)
class DecisionMade:
    player: str = ""
    box: int = 0
    action: str = ""
    amount: int = 0
    positions: tuple[int, ...] = ()
    insurance: tuple[InsuranceStake, ...] = ()
    at: int = 0
    owner_away: bool = False


@quick
@dataclass(frozen=True, slots=True)
class DecisionDefaulted:
    """A box was decided for by the clock (TAB-06)."""

    box: int = 0
    action: str = ""


@quick
@dataclass(frozen=True, slots=True)
class SettledLine:
    box: int = 0
    player: str = ""
    wager: str = ""
    stake: int = 0
    returned: int = 0


@quick
@dataclass(frozen=True, slots=True)
class CommissionBooked:
    player: str = ""
    amount: int = 0


@quick
@dataclass(frozen=True, slots=True)
class HandSettled:
    hand_id: str = ""
    result: str = ""
    lines: tuple[SettledLine, ...] = ()
    commission: tuple[CommissionBooked, ...] = ()
    clauses: tuple[str, ...] = ()
    carried_pot: int = 0
    next_entry: str = ""
    winners: tuple[int, ...] = ()
    pot_change: int = 0
    rake: int = 0


@quick
@dataclass(frozen=True, slots=True)
class HandVoided:
    hand_id: str = ""
    why: str = ""


@quick
@dataclass(frozen=True, slots=True)
class HandRedealt:
    """TAB-08: antes, entries and a carried pot stay, later stakes go back; the same players, a
    new shoe."""

    hand_id: str = ""
    why: str = ""


@quick
@dataclass(frozen=True, slots=True)
class IncidentReported:
    by: str = ""
    incident: str = ""
    position: int = 0
    note: str = ""
    at: int = 0
    by_pit: bool = False


@quick
@dataclass(frozen=True, slots=True)
class IncidentConfirmed:
    by: str = ""
    at: int = 0


@quick
@dataclass(frozen=True, slots=True)
class IncidentResolved:
    """What an incident led to: `void`, `redeal`, `burn`, `go_on`, `choice`."""

    incident: str = ""
    outcome: str = ""


@quick
@dataclass(frozen=True, slots=True)
class HandRuledVoid:
    """Management voids an unsettled hand (TAB-12)."""

    by: str = ""
    note: str = ""
    at: int = 0

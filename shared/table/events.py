"""The events of a table as the pure core knows them: one frozen dataclass a message of
`croupier/table/v1/events.proto`, same names, times as microseconds since 1970, cards in the clear.

An input is a fact from outside (a command, a card, the clock); `decide` judges it and adds the
derived events that the rules make of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from shared.cards import Card
from shared.games.play import Face


@dataclass(frozen=True, slots=True)
class Clocks:
    betting_ms: int = 0
    decision_warn_ms: int = 0
    decision_default_ms: int = 0
    cut_ms: int = 0
    seed_ms: int = 0
    entry_ms: int = 0
    consent_ms: int = 0
    grace_ms: int = 0


@dataclass(frozen=True, slots=True)
class TableOpened:
    table_id: str = ""
    name: str = ""
    game: str = ""
    rules_version: int = 0
    rules_json: str = ""
    currency: str = ""
    clocks: Clocks = Clocks()
    seats: int = 0
    at: int = 0
    ante: int = 0
    open_joining: bool = False


@dataclass(frozen=True, slots=True)
class TableClaimed:
    node: str = ""
    epoch: int = 0
    at: int = 0


@dataclass(frozen=True, slots=True)
class DeadlineMoved:
    """A running clock was moved on because a node or the log was away."""

    deadline: int = 0
    warn_at: int = 0
    clock: str = ""


@dataclass(frozen=True, slots=True)
class PlayResumed:
    at: int = 0


@dataclass(frozen=True, slots=True)
class TableClosing:
    by: str = ""
    note: str = ""
    at: int = 0


@dataclass(frozen=True, slots=True)
class TableClosed:
    pass


@dataclass(frozen=True, slots=True)
class ClockExpired:
    """The one event of time: the clock that the state was waiting on ran out. What follows
    from it is derived."""

    deadline: int = 0
    at: int = 0
    clock: str = ""


@dataclass(frozen=True, slots=True)
class JoinAsked:
    player: str = ""
    at: int = 0


@dataclass(frozen=True, slots=True)
class ConsentAsked:
    """TAB-10: those who are seated may object until then; silence is consent."""

    player: str = ""
    deadline: int = 0


@dataclass(frozen=True, slots=True)
class JoinObjected:
    by: str = ""
    player: str = ""
    at: int = 0


@dataclass(frozen=True, slots=True)
class JoinFailed:
    """A join came to nothing: somebody objected, or the seats or the table are gone."""

    player: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class PlayerJoined:
    player: str = ""


@dataclass(frozen=True, slots=True)
class LeaveRequested:
    player: str = ""
    at: int = 0


@dataclass(frozen=True, slots=True)
class PlayerLeft:
    """All chips of the player have been asked back from the table (CashOutRequested precedes
    it)."""

    player: str = ""


@dataclass(frozen=True, slots=True)
class SitOutChanged:
    player: str = ""
    sitting_out: bool = False
    at: int = 0


@dataclass(frozen=True, slots=True)
class ChipsRequested:
    """A buy-in the wallet is asked for. Its event id is the request id."""

    player: str = ""
    amount: int = 0
    at: int = 0


@dataclass(frozen=True, slots=True)
class ChipsArrived:
    player: str = ""
    amount: int = 0
    request_id: str = ""
    at: int = 0


@dataclass(frozen=True, slots=True)
class ChipsDenied:
    player: str = ""
    amount: int = 0
    request_id: str = ""
    reason: str = ""
    at: int = 0


@dataclass(frozen=True, slots=True)
class CashOutAsked:
    """A player asked for chips back; CashOutRequested follows if there are any."""

    player: str = ""
    amount: int = 0
    at: int = 0


@dataclass(frozen=True, slots=True)
class CashOutRequested:
    """Chips have left the table for the player's account; the wallet pays them out."""

    player: str = ""
    amount: int = 0


@dataclass(frozen=True, slots=True)
class ShoeRequested:
    shoe_id: str = ""
    decks: int = 0
    publish_seed: bool = False


@dataclass(frozen=True, slots=True)
class ShoeOffered:
    shoe_id: str = ""
    commitment: bytes = b""
    at: int = 0


@dataclass(frozen=True, slots=True)
class SeedPledged:
    player: str = ""
    commitment: bytes = b""
    at: int = 0


@dataclass(frozen=True, slots=True)
class SeedRevealed:
    player: str = ""
    seed: bytes = b""
    at: int = 0


@dataclass(frozen=True, slots=True)
class CutOffered:
    """TAB-09: who may cut, from where to where, until when. Without a player the dealer cuts."""

    player: str = ""
    box: int = 0
    minimum: int = 0
    maximum: int = 0
    deadline: int = 0


@dataclass(frozen=True, slots=True)
class CutChosen:
    player: str = ""
    place: int = 0
    at: int = 0


@dataclass(frozen=True, slots=True)
class CutRecorded:
    """Shuffle has put the cut on record; from here on players may reveal the seeds they
    pledged."""

    shoe_id: str = ""
    place: int = 0
    at: int = 0


@dataclass(frozen=True, slots=True)
class SeedsDue:
    """Until when pledged seeds may be revealed."""

    deadline: int = 0


@dataclass(frozen=True, slots=True)
class CutLeftToDealer:
    """The dealer cuts: shuffle takes the place from its DRBG."""


@dataclass(frozen=True, slots=True)
class ShoeReady:
    shoe_id: str = ""
    root: bytes = b""
    size: int = 0
    cut_place: int = 0
    seeds_used: tuple[str, ...] = ()
    seeds_left_out: tuple[str, ...] = ()
    at: int = 0


@dataclass(frozen=True, slots=True)
class ShoeFinished:
    """No more cards will be asked of the shoe; shuffle is told to retire it."""

    shoe_id: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class ShoePutAway:
    shoe_id: str = ""
    at: int = 0


@dataclass(frozen=True, slots=True)
class BettingOpened:
    hand_id: str = ""
    number: int = 0
    shoe_id: str = ""
    next_position: int = 0
    entry: str = ""
    entry_amount: int = 0
    carried_pot: int = 0


@dataclass(frozen=True, slots=True)
class WindowPassed:
    """DRW-10: an entry window passed in which nobody entered; the pot waits."""

    windows: int = 0


@dataclass(frozen=True, slots=True)
class PotShare:
    player: str = ""
    amount: int = 0


@dataclass(frozen=True, slots=True)
class PotPaid:
    """A carried pot leaves the table without a hand: to the lone entrant, or back to those who
    paid it."""

    shares: tuple[PotShare, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class BetPlaced:
    """The stake is the whole of this wager: placed again while betting is open, it replaces
    the earlier one."""

    player: str = ""
    box: int = 0
    wager: str = ""
    stake: int = 0
    blind: bool = False
    at: int = 0


@dataclass(frozen=True, slots=True)
class BettingClockStarted:
    deadline: int = 0


@dataclass(frozen=True, slots=True)
class BetsTakenBack:
    player: str = ""
    box: int = 0
    at: int = 0


@dataclass(frozen=True, slots=True)
class BettorAdmitted:
    """A box owner lets a further bettor in (TAB-02)."""

    owner: str = ""
    box: int = 0
    bettor: str = ""
    at: int = 0


@dataclass(frozen=True, slots=True)
class BetsDone:
    """This player has no more bets to make."""

    player: str = ""
    at: int = 0


@dataclass(frozen=True, slots=True)
class BetsReturned:
    """Bets that do not stand as betting closes go back (too small, OAS-04)."""

    player: str = ""
    box: int = 0
    why: str = ""


@dataclass(frozen=True, slots=True)
class BettingClosed:
    pass


@dataclass(frozen=True, slots=True)
class BetLine:
    player: str = ""
    wager: str = ""
    stake: int = 0


@dataclass(frozen=True, slots=True)
class BoxBets:
    box: int = 0
    owner: str = ""
    bets: tuple[BetLine, ...] = ()
    blind: bool = False


@dataclass(frozen=True, slots=True)
class Stack:
    player: str = ""
    chips: int = 0


@dataclass(frozen=True, slots=True)
class Entry:
    box: int = 0
    amount: int = 0


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


@dataclass(frozen=True, slots=True)
class CardsDue:
    """What the table waits for in shuffle's answer: committed before the cards are asked for."""

    shoe_id: str = ""
    slots: tuple[CardSlot, ...] = ()


@dataclass(frozen=True, slots=True)
class CardSlot:
    position: int = 0
    hand: str = ""
    face: Face = Face.DOWN
    viewer: str = ""


@dataclass(frozen=True, slots=True)
class DealtCard:
    position: int = 0
    hand: str = ""
    face: Face = Face.DOWN
    viewer: str = ""
    card: Card | None = None


@dataclass(frozen=True, slots=True)
class CardsDealt:
    request_id: str = ""
    cards: tuple[DealtCard, ...] = ()
    at: int = 0


@dataclass(frozen=True, slots=True)
class DecisionsDue:
    phase: str = ""
    boxes: tuple[int, ...] = ()
    players: tuple[str, ...] = ()
    warn_at: int = 0
    deadline: int = 0


@dataclass(frozen=True, slots=True)
class InsuranceStake:
    player: str = ""
    stake: int = 0


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


@dataclass(frozen=True, slots=True)
class DecisionDefaulted:
    """A box was decided for by the clock (TAB-06)."""

    box: int = 0
    action: str = ""


@dataclass(frozen=True, slots=True)
class SettledLine:
    box: int = 0
    player: str = ""
    wager: str = ""
    stake: int = 0
    returned: int = 0


@dataclass(frozen=True, slots=True)
class CommissionBooked:
    player: str = ""
    amount: int = 0


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


@dataclass(frozen=True, slots=True)
class HandVoided:
    hand_id: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class HandRedealt:
    """TAB-08: antes, entries and a carried pot stay, later stakes go back; the same players, a
    new shoe."""

    hand_id: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class CommissionTaken:
    """Owed commission was taken from the player's chips, rounded (BAC-11)."""

    player: str = ""
    owed: int = 0
    taken: int = 0


@dataclass(frozen=True, slots=True)
class IncidentReported:
    by: str = ""
    incident: str = ""
    position: int = 0
    note: str = ""
    at: int = 0
    by_pit: bool = False


@dataclass(frozen=True, slots=True)
class IncidentConfirmed:
    by: str = ""
    at: int = 0


@dataclass(frozen=True, slots=True)
class IncidentResolved:
    """What an incident led to: `void`, `redeal`, `burn`, `go_on`, `choice`."""

    incident: str = ""
    outcome: str = ""


@dataclass(frozen=True, slots=True)
class HandRuledVoid:
    """Management voids an unsettled hand (TAB-12)."""

    by: str = ""
    note: str = ""
    at: int = 0


@dataclass(frozen=True, slots=True)
class PenaltyGiven:
    """DRW-15: `warning`, `fine` (FineTaken follows) or `removal` (between hands)."""

    by: str = ""
    player: str = ""
    penalty: str = ""
    amount: int = 0
    note: str = ""
    at: int = 0


@dataclass(frozen=True, slots=True)
class FineTaken:
    """Chips go from the player to the house."""

    player: str = ""
    amount: int = 0


Input = (
    TableOpened
    | TableClaimed
    | PlayResumed
    | TableClosing
    | ClockExpired
    | JoinAsked
    | JoinObjected
    | LeaveRequested
    | SitOutChanged
    | ChipsRequested
    | ChipsArrived
    | ChipsDenied
    | CashOutAsked
    | ShoeOffered
    | SeedPledged
    | SeedRevealed
    | CutChosen
    | CutRecorded
    | ShoeReady
    | ShoePutAway
    | BetPlaced
    | BetsTakenBack
    | BettorAdmitted
    | BetsDone
    | CardsDealt
    | DecisionMade
    | IncidentReported
    | IncidentConfirmed
    | HandRuledVoid
    | PenaltyGiven
)

Derived = (
    DeadlineMoved
    | TableClosed
    | ConsentAsked
    | JoinFailed
    | PlayerJoined
    | PlayerLeft
    | CashOutRequested
    | ShoeRequested
    | CutOffered
    | SeedsDue
    | CutLeftToDealer
    | ShoeFinished
    | BettingOpened
    | WindowPassed
    | PotPaid
    | BettingClockStarted
    | BetsReturned
    | BettingClosed
    | HandOpened
    | CardsDue
    | DecisionsDue
    | DecisionDefaulted
    | HandSettled
    | HandVoided
    | HandRedealt
    | CommissionTaken
    | IncidentResolved
    | FineTaken
)

Event = Input | Derived

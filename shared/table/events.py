"""The events of a table as the pure core knows them: one frozen dataclass a message of
`croupier/table/v1/events.proto`, same names, times as microseconds since 1970, cards in the clear.

An input is a fact from outside (a command, a card, the clock); `decide` judges it and adds the
derived events that the rules make of it.
"""

from __future__ import annotations

from shared.table.events_hand import (
    BetLine,
    BoxBets,
    CardsDealt,
    CardsDue,
    CardSlot,
    CommissionBooked,
    DealtCard,
    DecisionDefaulted,
    DecisionMade,
    DecisionsDue,
    Entry,
    HandOpened,
    HandRedealt,
    HandRuledVoid,
    HandSettled,
    HandVoided,
    IncidentConfirmed,
    IncidentReported,
    IncidentResolved,
    InsuranceStake,
    SettledLine,
    Stack,
)
from shared.table.events_seats import (
    CashOutAsked,
    CashOutRequested,
    ChipsArrived,
    ChipsDenied,
    ChipsRequested,
    ClockExpired,
    Clocks,
    CommissionTaken,
    ConsentAsked,
    DeadlineMoved,
    FineTaken,
    JoinAsked,
    JoinFailed,
    JoinObjected,
    LeaveRequested,
    PenaltyGiven,
    PlayerJoined,
    PlayerLeft,
    PlayResumed,
    ShoesLost,
    SitOutChanged,
    TableClaimed,
    TableClosed,
    TableClosing,
    TableOpened,
)
from shared.table.events_shoe import (
    BetPlaced,
    BetsDone,
    BetsReturned,
    BetsTakenBack,
    BettingClockStarted,
    BettingClosed,
    BettingOpened,
    BettorAdmitted,
    CutChosen,
    CutLeftToDealer,
    CutOffered,
    CutRecorded,
    PotPaid,
    PotShare,
    SeedPledged,
    SeedRevealed,
    SeedsDue,
    ShoeFinished,
    ShoeOffered,
    ShoePutAway,
    ShoeReady,
    ShoeRequested,
    WindowPassed,
)

Input = (
    TableOpened
    | TableClaimed
    | PlayResumed
    | ShoesLost
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
    | PenaltyGiven
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
)

Derived = (
    DeadlineMoved
    | TableClosed
    | ConsentAsked
    | JoinFailed
    | PlayerJoined
    | PlayerLeft
    | CashOutRequested
    | CommissionTaken
    | FineTaken
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
    | IncidentResolved
)

Event = Input | Derived

__all__ = [
    "BetLine",
    "BetPlaced",
    "BetsDone",
    "BetsReturned",
    "BetsTakenBack",
    "BettingClockStarted",
    "BettingClosed",
    "BettingOpened",
    "BettorAdmitted",
    "BoxBets",
    "CardSlot",
    "CardsDealt",
    "CardsDue",
    "CashOutAsked",
    "CashOutRequested",
    "ChipsArrived",
    "ChipsDenied",
    "ChipsRequested",
    "ClockExpired",
    "Clocks",
    "CommissionBooked",
    "CommissionTaken",
    "ConsentAsked",
    "CutChosen",
    "CutLeftToDealer",
    "CutOffered",
    "CutRecorded",
    "DeadlineMoved",
    "DealtCard",
    "DecisionDefaulted",
    "DecisionMade",
    "DecisionsDue",
    "Derived",
    "Entry",
    "Event",
    "FineTaken",
    "HandOpened",
    "HandRedealt",
    "HandRuledVoid",
    "HandSettled",
    "HandVoided",
    "IncidentConfirmed",
    "IncidentReported",
    "IncidentResolved",
    "Input",
    "InsuranceStake",
    "JoinAsked",
    "JoinFailed",
    "JoinObjected",
    "LeaveRequested",
    "PenaltyGiven",
    "PlayResumed",
    "PlayerJoined",
    "PlayerLeft",
    "PotPaid",
    "PotShare",
    "SeedPledged",
    "SeedRevealed",
    "SeedsDue",
    "SettledLine",
    "ShoeFinished",
    "ShoeOffered",
    "ShoePutAway",
    "ShoeReady",
    "ShoeRequested",
    "ShoesLost",
    "SitOutChanged",
    "Stack",
    "TableClaimed",
    "TableClosed",
    "TableClosing",
    "TableOpened",
    "WindowPassed",
]

"""Events of a table about itself, its seats and the chips on it (see `shared.table.events`)."""

from __future__ import annotations

from dataclasses import dataclass

from shared.quick import quick


@quick
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


@quick
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


@quick
@dataclass(frozen=True, slots=True)
class TableClaimed:
    node: str = ""
    epoch: int = 0
    at: int = 0


@quick
@dataclass(frozen=True, slots=True)
class DeadlineMoved:
    """A running clock was moved on because a node or the log was away."""

    deadline: int = 0
    warn_at: int = 0
    clock: str = ""


@quick
@dataclass(frozen=True, slots=True)
class PlayResumed:
    at: int = 0


@quick
@dataclass(frozen=True, slots=True)
class ShoesLost:
    """No card may be dealt from the shoes at hand any more: the log lost its tail, and what was
    dealt since may have been seen ("log_recovered"); or shuffle has retired one, `shoe_id`
    ("shoe_retired")."""

    why: str = ""
    at: int = 0
    shoe_id: str = ""


@quick
@dataclass(frozen=True, slots=True)
class TableClosing:
    by: str = ""
    note: str = ""
    at: int = 0


@quick
@dataclass(frozen=True, slots=True)
class TableClosed:
    pass


@quick
@dataclass(frozen=True, slots=True)
class ClockExpired:
    """The one event of time: the clock that the state was waiting on ran out. What follows
    from it is derived."""

    deadline: int = 0
    at: int = 0
    clock: str = ""


@quick
@dataclass(frozen=True, slots=True)
class JoinAsked:
    player: str = ""
    at: int = 0


@quick
@dataclass(frozen=True, slots=True)
class ConsentAsked:
    """TAB-10: those who are seated may object until then; silence is consent."""

    player: str = ""
    deadline: int = 0


@quick
@dataclass(frozen=True, slots=True)
class JoinObjected:
    by: str = ""
    player: str = ""
    at: int = 0


@quick
@dataclass(frozen=True, slots=True)
class JoinFailed:
    """A join came to nothing: somebody objected, or the seats or the table are gone."""

    player: str = ""
    why: str = ""


@quick
@dataclass(frozen=True, slots=True)
class PlayerJoined:
    player: str = ""


@quick
@dataclass(frozen=True, slots=True)
class LeaveRequested:
    player: str = ""
    at: int = 0


@quick
@dataclass(frozen=True, slots=True)
class PlayerLeft:
    """All chips of the player have been asked back from the table (CashOutRequested precedes
    it)."""

    player: str = ""


@quick
@dataclass(frozen=True, slots=True)
class SitOutChanged:
    player: str = ""
    sitting_out: bool = False
    at: int = 0


@quick
@dataclass(frozen=True, slots=True)
class ChipsRequested:
    """A buy-in the wallet is asked for. Its event id is the request id."""

    player: str = ""
    amount: int = 0
    at: int = 0


@quick
@dataclass(frozen=True, slots=True)
class ChipsArrived:
    player: str = ""
    amount: int = 0
    request_id: str = ""
    at: int = 0


@quick
@dataclass(frozen=True, slots=True)
class ChipsDenied:
    player: str = ""
    amount: int = 0
    request_id: str = ""
    reason: str = ""
    at: int = 0


@quick
@dataclass(frozen=True, slots=True)
class CashOutAsked:
    """A player asked for chips back; CashOutRequested follows if there are any."""

    player: str = ""
    amount: int = 0
    at: int = 0


@quick
@dataclass(frozen=True, slots=True)
class CashOutRequested:
    """Chips have left the table for the player's account; the wallet pays them out."""

    player: str = ""
    amount: int = 0


@quick
@dataclass(frozen=True, slots=True)
class CommissionTaken:
    """Owed commission was taken from the player's chips, rounded (BAC-11)."""

    player: str = ""
    owed: int = 0
    taken: int = 0


@quick
@dataclass(frozen=True, slots=True)
class PenaltyGiven:
    """DRW-15: `warning`, `fine` (FineTaken follows) or `removal` (between hands)."""

    by: str = ""
    player: str = ""
    penalty: str = ""
    amount: int = 0
    note: str = ""
    at: int = 0


@quick
@dataclass(frozen=True, slots=True)
class FineTaken:
    """Chips go from the player to the house."""

    player: str = ""
    amount: int = 0

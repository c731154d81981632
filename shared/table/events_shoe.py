"""Events of a table about its shoe and its betting window (see `shared.table.events`)."""

from __future__ import annotations

from dataclasses import dataclass

from shared.quick import quick


@quick
@dataclass(frozen=True, slots=True)
class ShoeRequested:
    """The shoe to deal from where the table has none, else the one that follows on it."""

    shoe_id: str = ""
    decks: int = 0
    publish_seed: bool = False


@quick
@dataclass(frozen=True, slots=True)
class ShoeOffered:
    shoe_id: str = ""
    commitment: bytes = b""
    at: int = 0


@quick
@dataclass(frozen=True, slots=True)
class SeedPledged:
    player: str = ""
    commitment: bytes = b""
    at: int = 0
    shoe_id: str = ""


@quick
@dataclass(frozen=True, slots=True)
class SeedRevealed:
    player: str = ""
    seed: bytes = b""
    at: int = 0


@quick
@dataclass(frozen=True, slots=True)
class CutOffered:
    """TAB-09: who may cut, from where to where, until when. Without a player the dealer cuts."""

    player: str = ""
    box: int = 0
    minimum: int = 0
    maximum: int = 0
    deadline: int = 0


@quick
@dataclass(frozen=True, slots=True)
class CutChosen:
    player: str = ""
    place: int = 0
    at: int = 0


@quick
@dataclass(frozen=True, slots=True)
class CutRecorded:
    """Shuffle has put the cut on record; from here on players may reveal the seeds they
    pledged."""

    shoe_id: str = ""
    place: int = 0
    at: int = 0


@quick
@dataclass(frozen=True, slots=True)
class SeedsDue:
    """Until when pledged seeds may be revealed."""

    deadline: int = 0


@quick
@dataclass(frozen=True, slots=True)
class CutLeftToDealer:
    """The dealer cuts: shuffle takes the place from its DRBG."""


@quick
@dataclass(frozen=True, slots=True)
class ShoeReady:
    shoe_id: str = ""
    root: bytes = b""
    size: int = 0
    cut_place: int = 0
    seeds_used: tuple[str, ...] = ()
    seeds_left_out: tuple[str, ...] = ()
    at: int = 0


@quick
@dataclass(frozen=True, slots=True)
class ShoeFinished:
    """No more cards will be asked of the shoe; shuffle is told to retire it. The next one takes its
    place."""

    shoe_id: str = ""
    why: str = ""


@quick
@dataclass(frozen=True, slots=True)
class ShoePutAway:
    shoe_id: str = ""
    at: int = 0


@quick
@dataclass(frozen=True, slots=True)
class BettingOpened:
    hand_id: str = ""
    number: int = 0
    shoe_id: str = ""
    next_position: int = 0
    entry: str = ""
    entry_amount: int = 0
    carried_pot: int = 0


@quick
@dataclass(frozen=True, slots=True)
class WindowPassed:
    """DRW-10: an entry window passed in which nobody entered; the pot waits."""

    windows: int = 0


@quick
@dataclass(frozen=True, slots=True)
class PotShare:
    player: str = ""
    amount: int = 0


@quick
@dataclass(frozen=True, slots=True)
class PotPaid:
    """A carried pot leaves the table without a hand: to the lone entrant, or back to those who
    paid it."""

    shares: tuple[PotShare, ...] = ()
    why: str = ""


@quick
@dataclass(frozen=True, slots=True)
class BetPlaced:
    """The stake is the whole of this wager: placed again while betting is open, it replaces
    the earlier one. `done`: the player has no more bets to make."""

    player: str = ""
    box: int = 0
    wager: str = ""
    stake: int = 0
    blind: bool = False
    at: int = 0
    done: bool = False


@quick
@dataclass(frozen=True, slots=True)
class BettingClockStarted:
    deadline: int = 0


@quick
@dataclass(frozen=True, slots=True)
class BetsTakenBack:
    player: str = ""
    box: int = 0
    at: int = 0


@quick
@dataclass(frozen=True, slots=True)
class BettorAdmitted:
    """A box owner lets a further bettor in (TAB-02)."""

    owner: str = ""
    box: int = 0
    bettor: str = ""
    at: int = 0


@quick
@dataclass(frozen=True, slots=True)
class BetsDone:
    """This player has no more bets to make."""

    player: str = ""
    at: int = 0


@quick
@dataclass(frozen=True, slots=True)
class BetsReturned:
    """Bets that do not stand as betting closes go back (too small, OAS-04)."""

    player: str = ""
    box: int = 0
    why: str = ""


@quick
@dataclass(frozen=True, slots=True)
class BettingClosed:
    pass

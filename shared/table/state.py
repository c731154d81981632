"""What a table is at one version of its stream: frozen dataclasses, changed only by `evolve`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from shared.games.play import Cell, Game, Setup, ShoeRules
from shared.table.events import BoxBets, CardSlot, Clocks, HandSettled


class Status(Enum):
    """Whether a table takes part in anything."""

    OPEN = 1
    CLOSING = 2
    CLOSED = 3


@dataclass(frozen=True, slots=True)
class Config:
    """What `TableOpened` fixed: the game with its checked settings, currency, clocks and seats."""

    table_id: str
    name: str
    game: Game
    rules_json: str
    settings: Any
    currency: str
    clocks: Clocks
    seats: int
    decks: int
    shoe_rules: ShoeRules


@dataclass(frozen=True, slots=True)
class Seat:
    """A player at the table. `chips` is all that lies in his escrow and has arrived, stakes of the
    running hand included; `owed` the commission booked and not yet taken (BAC-10); `requests` the
    buy-ins under way as (request id, amount)."""

    player: str
    chips: int = 0
    owed: int = 0
    sitting_out: bool = False
    leaving: bool = False
    done: bool = False
    requests: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Shoe:
    """The shoe in use, from the request on. `next_position` counts from 0 after the cut;
    `burn_left` are the cards still to burn at its start; a `spoiled` one saw a void hand and is
    changed."""

    shoe_id: str
    request_version: int
    offered: bool = False
    commitment: bytes = b""
    pledges: tuple[tuple[str, bytes], ...] = ()
    reveals: tuple[tuple[str, bytes], ...] = ()
    cut_player: str = ""
    cut_box: int = 0
    cut_deadline: int = 0
    cut_decided: bool = False
    cut_place: int = 0
    cut_recorded: bool = False
    seeds_deadline: int = 0
    seeds_over: bool = False
    root: bytes = b""
    size: int = 0
    next_position: int = 0
    burn_started: bool = False
    burn_left: int = 0
    spoiled: bool = False

    @property
    def sealed(self) -> bool:
        return bool(self.root)


@dataclass(frozen=True, slots=True)
class Betting:
    """An open betting window. Bets in the order placed as (box, player, wager, stake)."""

    hand_id: str
    number: int
    bets: tuple[tuple[int, str, str, int], ...] = ()
    blind: frozenset[int] = frozenset()
    owners: Mapping[int, str] = field(default_factory=dict)
    admitted: frozenset[tuple[int, str]] = frozenset()
    deadline: int = 0
    expired: bool = False
    closed: bool = False


@dataclass(frozen=True, slots=True)
class Hand:
    """A hand from `HandOpened` to its end; `play` is the game's own state, `public` the positions
    of the cards that everybody has seen."""

    hand_id: str
    number: int
    setup: Setup
    play: Any
    public: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class CardsAwaited:
    """Cards that are due: asked of shuffle under the event id of version `version`."""

    version: int
    slots: tuple[CardSlot, ...]


@dataclass(frozen=True, slots=True)
class Deciding:
    """Decisions that are due, by box, and their clock (TAB-06)."""

    phase: str
    players: Mapping[int, str]
    warn_at: int
    deadline: int
    expired: bool = False


@dataclass(frozen=True, slots=True)
class TableState:
    """All of a table. `now` is the time of the last input, in microseconds since 1970."""

    version: int = 0
    now: int = 0
    config: Config | None = None
    status: Status = Status.OPEN
    node: str = ""
    epoch: int = 0
    seats: Mapping[str, Seat] = field(default_factory=dict)
    shoe: Shoe | None = None
    putting_away: tuple[tuple[str, str, int], ...] = ()
    """Shoes that are over and shuffle has not retired: (shoe id, why, version of ShoeFinished)."""
    late_chips: tuple[tuple[str, str, int], ...] = ()
    """Buy-ins of players who have left: (request id, player, amount)."""
    going_back: tuple[tuple[str, int], ...] = ()
    """Late chips that have arrived and go straight back: (player, amount)."""
    betting: Betting | None = None
    hand: Hand | None = None
    cards: CardsAwaited | None = None
    deciding: Deciding | None = None
    voided: str = ""
    """Why the running hand is to be voided."""
    incident: str = ""
    """A pit incident whose consequence is still to be put on record (TAB-08)."""
    moved: tuple[int, int] | None = None
    """A clock moved on by a claim or an outage: (deadline, warn at) still to be put on record."""
    hands_played: int = 0
    last_cut_box: int = 0
    last_boxes: tuple[BoxBets, ...] = ()
    last_result: HandSettled | None = None
    last_cells: Mapping[str, tuple[Cell, ...]] = field(default_factory=dict)
    last_public: frozenset[int] = frozenset()

    @property
    def table(self) -> Config:
        """The table's configuration; it exists from the first event on."""
        if self.config is None:
            raise LookupError("the table has not been opened")
        return self.config


def staked(state: TableState, player: str) -> int:
    """Minor units of the player's chips that lie in bets of the open window or the running hand."""
    if state.hand is not None:
        amount: int = state.table.game.staked(state.hand.play).get(player, 0)
        return amount
    if state.betting is not None:
        return sum(stake for _, bettor, _, stake in state.betting.bets if bettor == player)
    return 0


def free_chips(state: TableState, player: str) -> int:
    """What the player may stake or cash now: without stakes of this hand and commission owed
    (BAC-10)."""
    seat = state.seats[player]
    return seat.chips - seat.owed - staked(state, player)


def open_deadline(state: TableState) -> int:
    """The running clock's deadline (microseconds), 0 when no clock runs. One runs at most."""
    if state.deciding is not None and not state.deciding.expired:
        return state.deciding.deadline
    if state.betting is not None:
        if not state.betting.closed:
            return 0 if state.betting.expired else state.betting.deadline
        if state.shoe is not None:
            if not state.shoe.cut_decided:
                return state.shoe.cut_deadline
            if not state.shoe.seeds_over:
                return state.shoe.seeds_deadline
    return 0

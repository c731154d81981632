"""What a table is at one version of its stream: frozen dataclasses, changed only by `evolve`. They
have no slots for the sake of `shared.table.replace`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeVar

from shared.games import battle
from shared.games.play import Cell, Game, Setup, ShoeRules
from shared.quick import quick
from shared.table.events import BoxBets, CardSlot, Clocks, HandSettled

ENTRY = "entry"
"""The wager by which a draw poker player pays to be dealt in (DRW-01)."""

MOST_CHIPS = 2**53
"""The most minor units that one buy-in or one bet may be: exact in every client's numbers, and what
it wins at 1,000:1 is so in 64 bits."""

ASKED = -1
"""A join that was asked for and on which nothing has been put on record yet."""


class Status(Enum):
    """Whether a table takes part in anything."""

    OPEN = 1
    CLOSING = 2
    CLOSED = 3


@dataclass(frozen=True)
class Config:
    """What `TableOpened` fixed: the game with its checked settings, currency, clocks and seats.
    `ante` and `open_joining` are draw poker's."""

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
    ante: int
    open_joining: bool

    @property
    def between_players(self) -> bool:
        """Draw poker: players pay to be dealt in and play for pots, not against the house."""
        return not self.game.WAGERS


@quick
@dataclass(frozen=True)
class Seat:
    """A player at the table. `chips` is all that lies in his escrow and has arrived, stakes of the
    running hand included; `owed` the commission booked and not yet taken (BAC-10); `requests` the
    buy-ins under way as (request id, amount); `box` the draw poker player's own, 0 until chosen."""

    player: str
    chips: int = 0
    owed: int = 0
    sitting_out: bool = False
    leaving: bool = False
    done: bool = False
    requests: tuple[tuple[str, int], ...] = ()
    box: int = 0


@dataclass(frozen=True)
class Shoe:
    """The shoe in use or the next one, from the request on. `next_position` counts from 0 after
    the cut; `burn_left` are the cards still to burn at its start; a `spoiled` one saw a void or
    dead hand and is changed."""

    shoe_id: str
    request_version: int
    offered: bool = False
    commitment: bytes = b""
    pledges: tuple[tuple[str, bytes], ...] = ()
    reveals: tuple[tuple[str, bytes], ...] = ()
    cut_offered: bool = False
    cut_player: str = ""
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


@quick
@dataclass(frozen=True)
class Betting:
    """An open betting window. Bets in the order placed as (box, player, wager, stake). `entry` and
    `entry_amount` are what a draw poker player pays to be dealt in. `passed_on`: the box that went
    to its next bettor as its owner's bets went back last."""

    hand_id: str
    number: int
    bets: tuple[tuple[int, str, str, int], ...] = ()
    blind: frozenset[int] = frozenset()
    owners: Mapping[int, str] = field(default_factory=dict)
    admitted: frozenset[tuple[int, str]] = frozenset()
    deadline: int = 0
    expired: bool = False
    closed: bool = False
    entry: str = ""
    entry_amount: int = 0
    passed_on: int = 0


@quick
@dataclass(frozen=True)
class Hand:
    """A hand from `HandOpened` to its end; `play` is the game's own state, `public` the positions
    of the cards that everybody has seen."""

    hand_id: str
    number: int
    setup: Setup
    play: Any
    public: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Pot:
    """What draw poker carries from hand to hand: the pot nobody played for, what the next entry is
    (`ante`, `half_pot`), who paid how much of it, the boxes that won the last pot, and how many
    entry windows have passed (DRW-02, DRW-03, DRW-06, DRW-10)."""

    carried: int = 0
    entry: str = "ante"
    paid: Mapping[str, int] = field(default_factory=dict)
    winners: tuple[int, ...] = ()
    windows: int = 0


@quick
@dataclass(frozen=True)
class CardsAwaited:
    """Cards that are due: asked of shuffle under the event id of version `version`."""

    version: int
    slots: tuple[CardSlot, ...]


@quick
@dataclass(frozen=True)
class Deciding:
    """Decisions that are due, by box, and their clock (TAB-06)."""

    phase: str
    players: Mapping[int, str]
    warn_at: int
    deadline: int
    expired: bool = False


@dataclass(frozen=True)
class Incident:
    """What the pit reported and is not over yet (TAB-08). `choosing`: the player concerned keeps
    the card or asks for a redeal."""

    name: str
    position: int
    confirmed: bool
    choosing: bool = False


@dataclass(frozen=True)
class TableState:
    """All of a table. `now` is the time of the last input, in microseconds since 1970."""

    version: int = 0
    now: int = 0
    config: Config | None = None
    status: Status = Status.OPEN
    node: str = ""
    epoch: int = 0
    seats: Mapping[str, Seat] = field(default_factory=dict)
    joining: Mapping[str, int] = field(default_factory=dict)
    """Who has asked to join: `ASKED` just now, else when silence becomes consent, 0 once it has
    (TAB-10)."""
    objections: Mapping[str, str] = field(default_factory=dict)
    """Who may not join, and why, until that is on record."""
    removed: frozenset[str] = frozenset()
    """Players that the pit removed (DRW-15)."""
    shoe: Shoe | None = None
    next_shoe: Shoe | None = None
    """Made ready while the present one is played, as two decks alternate on a table: opened, and
    pledged for. It is cut and sealed once its first hand's betting is over (TAB-09)."""
    putting_away: tuple[tuple[str, str, int], ...] = ()
    """Shoes that are over and shuffle has not retired: (shoe id, why, version of ShoeFinished)."""
    late_chips: tuple[tuple[str, str, int], ...] = ()
    """Buy-ins of players who have left: (request id, player, amount)."""
    going_back: tuple[tuple[str, int], ...] = ()
    """Chips on their way out of the table: (player, amount)."""
    fines: tuple[tuple[str, int], ...] = ()
    """Fines given and not yet taken: (player, amount)."""
    betting: Betting | None = None
    hand: Hand | None = None
    pot: Pot = Pot()
    cards: CardsAwaited | None = None
    deciding: Deciding | None = None
    voided: str = ""
    """Why the running hand is to be voided."""
    lost: str = ""
    """Why the shoes at hand are to be put away, whatever they still hold."""
    redealt: str = ""
    """Why the running hand is to be dealt again."""
    paused: tuple[int, int] | None = None
    """What is left of the decision clock, to its warning and to its end (microseconds), while the
    cards that an owner looks at are on their way, a card is burned, or somebody chooses about an
    exposed one: none of it starts a clock again (TAB-06, OAS-05)."""
    incident: Incident | None = None
    to_burn: int = 0
    """How many cards the pit has burned that are still to be asked for, as soon as they may be."""
    moved: tuple[tuple[str, int, int], ...] = ()
    """Clocks that a claim or an outage moves on, still to be put on record: (clock, deadline,
    warn at) each."""
    hands_played: int = 0
    last_cut_box: int = 0
    last_boxes: tuple[BoxBets, ...] = ()
    last_result: HandSettled | None = None
    last_cells: Mapping[str, tuple[Cell, ...]] = field(default_factory=dict)
    last_public: frozenset[int] = frozenset()

    @property
    def table(self) -> Config:
        """The table's configuration; it exists from the first event on."""
        return there(self.config)


Part = TypeVar("Part")


def there(part: Part | None) -> Part:
    """A part of a table that an event is about. `decide` lets no event through without it: where it
    is missing, what is read is no table's history (`LookupError`)."""
    if part is None:
        raise LookupError("an event is about what is not at the table")
    return part


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
    (BAC-10), with what a coup of battle has paid already (BTL-03)."""
    seat = state.seats[player]
    free = seat.chips - seat.owed - staked(state, player)
    if state.hand is not None and state.table.game.NAME == battle.NAME:
        free += battle.paid(state.hand.play).get(player, 0)
    return free


def clocks(state: TableState) -> dict[str, int]:
    """The clocks that run, by name, and their deadlines (microseconds): `join/<player>`, and at
    most one of `decision`, `betting`, `cut` and `seeds`."""
    running = {
        f"join/{player}": deadline for player, deadline in state.joining.items() if deadline > 0
    }
    shoe = state.shoe
    if state.deciding is not None:
        running["decision"] = state.deciding.deadline
    elif state.betting is not None and not state.betting.closed:
        if state.betting.deadline:
            running["betting"] = state.betting.deadline
    elif shoe is not None and not shoe.cut_decided:
        if shoe.cut_deadline:
            running["cut"] = shoe.cut_deadline
    elif shoe is not None and shoe.seeds_deadline and not shoe.seeds_over:
        running["seeds"] = shoe.seeds_deadline
    return running


def next_clock(state: TableState) -> tuple[str, int]:
    """The clock that runs out first and its deadline; ("", 0) when none runs."""
    return min(clocks(state).items(), key=lambda clock: clock[1], default=("", 0))


def open_deadline(state: TableState) -> int:
    """The next deadline (microseconds), 0 when no clock runs."""
    return next_clock(state)[1]

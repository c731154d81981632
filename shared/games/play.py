"""What a game and whoever plays it (a live table, a hand script, a simulation) say to each other.

A hand is played by asking `next_step` what it waits for and answering: cards for a `Deal`, values for a
`Show`, somebody's `Decision` for `Decisions`; `Done` carries the result. The game never sees a card that
its players could not see or that the rules have not turned up: an unseen card is a `Cell` whose `card`
is `None`, and no result may depend on one (architecture, promise 2).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

from shared.cards import Card


class Face(Enum):
    """Who sees a card as it is dealt or turned."""

    UP = "up"
    DOWN = "down"
    OWNER = "owner"


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a card goes: `hand` is `box<n>`, `dealer`, `board`, `player`, `banker` or `burn`."""

    hand: str
    face: Face


@dataclass(frozen=True, slots=True)
class Cell:
    """One dealt card: its position in the shoe (or script deck) and its value once it was shown."""

    position: int
    card: Card | None = None


@dataclass(frozen=True, slots=True)
class Deal:
    """Cards are due now, one a slot, in this order, each from the next position of the shoe."""

    slots: tuple[Slot, ...]


@dataclass(frozen=True, slots=True)
class Turn:
    """One dealt card to be shown: which hand it lies in, its position, and to whom."""

    hand: str
    position: int
    face: Face


@dataclass(frozen=True, slots=True)
class Show:
    """Cards already dealt are now shown: `UP` to all, `OWNER` to the owner of the box."""

    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Option:
    """One thing a box may do now, with its price and bounds in minor units (0 where it has none).

    `counts` lists how many cards an exchange may name; `prices` the price for each count, in step;
    `insurance_max` each bettor's greatest insurance stake (OAS-14).
    """

    do: str
    price: int = 0
    minimum: int = 0
    maximum: int = 0
    counts: tuple[int, ...] = ()
    prices: tuple[int, ...] = ()
    insurance_max: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Due:
    """A box whose decision is due, who decides, and what may be decided."""

    box: int
    player: str
    options: tuple[Option, ...]


@dataclass(frozen=True, slots=True)
class Decisions:
    """The hand waits for decisions. `together`: one common clock (BTL-05, CHE-02), else one at a time.

    With `together` any of the boxes may be decided by a live table in any order of arrival; the game records them in its
    own order. `phase` names the moment for players: `fight`, `bet`, `exchange`, `final`, `betting1` …
    """

    phase: str
    due: tuple[Due, ...]
    together: bool


@dataclass(frozen=True, slots=True)
class Line:
    """What became of one wager of one bettor on one box, in minor units (`returned` includes the stake)."""

    box: int
    player: str
    bet: str
    stake: int
    returned: int


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a hand: lines in box order, bettors in the order they bet, wagers by name."""

    result: str
    lines: tuple[Line, ...]
    commission: tuple[tuple[str, int], ...] = ()
    carried_pot: int = 0
    next_entry: str | None = None
    winners: tuple[int, ...] = ()
    """Draw poker: the boxes that took the pot (DRW-02, DRW-03)."""
    clauses: tuple[str, ...] = ()
    """The clauses that decided it, e.g. `("BAC-05", "BAC-09")`, for people."""


Step = Deal | Show | Decisions | Done


@dataclass(frozen=True, slots=True)
class Decision:
    """What a box does: the word, an amount (draw: the total of this round), cards named, insurance by bettor."""

    box: int
    do: str
    amount: int = 0
    cards: tuple[Card, ...] = ()
    insurance: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Box:
    """A box as betting closes: bets in the order they were made as (bettor, wager, stake in minor units)."""

    number: int
    owner: str
    bets: tuple[tuple[str, str, int], ...]
    blind: bool = False


@dataclass(frozen=True, slots=True)
class Setup:
    """All that a hand starts from. `stacks`: chips of each player before the first stakes; a player who
    is not in it never runs out. The last four are draw poker's (DRW-03, DRW-06, DRW-10)."""

    boxes: tuple[Box, ...]
    stacks: Mapping[str, int] = field(default_factory=dict)
    ante: int = 0
    first: int = 0
    carried_pot: int = 0
    entries: tuple[tuple[int, int], ...] = ()
    entry: str = "ante"


class Game(Protocol):
    """What every module of `shared/games` that is a game offers.

    `settings` checks raw settings (JSON values) and raises `SettingError` with the field; everything after works on
    its result. `check_bets` raises the `RuleError` that the set-up reasons of the hand script call for and is used both bet by
    bet as they are placed (`complete=False`: minimum not yet asked of a growing box) and once as betting closes. `start` checks everything again and gives the hand.
    All else takes a hand and gives a new one, or raises `RuleError` and changes nothing.
    """

    NAME: str
    VERSION: int
    WAGERS: tuple[str, ...]

    def settings(self, raw: Mapping[str, Any]) -> Any: ...
    def decks(self, settings: Any) -> int: ...
    def check_bets(self, settings: Any, setup: Setup, complete: bool = True) -> None: ...
    def start(self, settings: Any, setup: Setup) -> Any: ...
    def next_step(self, hand: Any) -> Step: ...
    def dealt(self, hand: Any, cells: tuple[Cell, ...]) -> Any: ...
    def shown(self, hand: Any, cells: tuple[Cell, ...]) -> Any: ...
    def decide(self, hand: Any, decision: Decision) -> Any: ...
    def default(self, hand: Any, box: int) -> Decision: ...
    def cells(self, hand: Any) -> Mapping[str, tuple[Cell, ...]]: ...
    def staked(self, hand: Any) -> Mapping[str, int]: ...

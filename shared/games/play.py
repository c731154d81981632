"""What a game and whoever plays it (a live table, a hand script, a simulation) say to each other.

A hand is played by asking `next_step` what it waits for and answering: cards for a `Deal`, values
for a `Show`, somebody's `Decision` for `Decisions`; `Done` carries the result. The game never sees
a card that its players could not see or that the rules have not turned up: an unseen card is a
`Cell` whose `card` is `None`, and no result may depend on one (architecture, promise 2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

from shared.cards import Card
from shared.quick import quick


class Face(Enum):
    """Who sees a card as it is dealt or turned."""

    UP = "up"
    DOWN = "down"
    OWNER = "owner"


@quick
@dataclass(frozen=True, slots=True)
class Slot:
    """Where a card goes: `hand` is `box<n>`, `dealer`, `board`, `player`, `banker` or `burn`."""

    hand: str
    face: Face


@quick
@dataclass(frozen=True, slots=True)
class Cell:
    """One dealt card: its position in the shoe (or script deck) and its value once it was shown."""

    position: int
    card: Card | None = None


def known(cells: Iterable[Cell]) -> tuple[Card, ...]:
    """The cards of those cells that have been shown."""
    return tuple([cell.card for cell in cells if cell.card is not None])


@quick
@dataclass(frozen=True, slots=True)
class Deal:
    """Cards are due now, one a slot, in this order, each from the next position of the shoe."""

    slots: tuple[Slot, ...]


@quick
@dataclass(frozen=True, slots=True)
class Turn:
    """One dealt card to be shown: which hand it lies in, its position, and to whom."""

    hand: str
    position: int
    face: Face


@quick
@dataclass(frozen=True, slots=True)
class Show:
    """Cards already dealt are now shown: `UP` to all, `OWNER` to the owner of the box."""

    turns: tuple[Turn, ...]


@quick
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


@quick
@dataclass(frozen=True, slots=True)
class Due:
    """A box whose decision is due, who decides, and what may be decided."""

    box: int
    player: str
    options: tuple[Option, ...]


@quick
@dataclass(frozen=True, slots=True)
class Decisions:
    """The hand waits for decisions. `together`: one common clock (BTL-05, CHE-02), else one at a
    time.

    A live table may decide any of the boxes in `due` in the order of arrival; the game takes them
    in its own order. A script decides the first of `due` when `together`, else any of them (OAS-05:
    `vip` and `private` list several). `phase` names the moment for players: `fight`, `bet`,
    `exchange`, `final`, `betting1` …
    """

    phase: str
    due: tuple[Due, ...]
    together: bool


@quick
@dataclass(frozen=True, slots=True)
class Line:
    """What became of one wager of one bettor on one box, in minor units.

    `returned` is what goes back to him, the stake included: 0 lost, = stake returned, more won.
    """

    box: int
    player: str
    bet: str
    stake: int
    returned: int


@quick
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
    rake: int = 0
    """Draw poker: what the house took of the pots, in minor units (DRW-01)."""
    carried_by: tuple[tuple[str, int], ...] = ()
    """Draw poker: what each player of this hand has left in the carried pot (DRW-10)."""
    clauses: tuple[str, ...] = ()
    """The clauses that decided it, e.g. `("BAC-05", "BAC-09")`, for people."""


Step = Deal | Show | Decisions | Done


TIMEOUT = "timeout"
"""The clock's word where it may do what no player may: in draw poker fold in any phase (TAB-06). It
is never an option, and whoever takes decisions from players refuses it."""


@quick
@dataclass(frozen=True, slots=True)
class Decision:
    """What a box does: the word, an amount (draw: the total of this round), the cards named, the
    insurance by bettor.

    Amounts come unchecked: the game answers one that is not positive with `BAD_STAKE`, in its turn
    among the checks. A named card may be one that does not exist: nobody holds it (`BAD_EXCHANGE`).
    """

    box: int
    do: str
    amount: int = 0
    cards: tuple[Card, ...] = ()
    insurance: tuple[tuple[str, int], ...] = ()


@quick
@dataclass(frozen=True, slots=True)
class Box:
    """A box as betting closes: bets in the order they were made, each (bettor, wager, stake in
    minor units)."""

    number: int
    owner: str
    bets: tuple[tuple[str, str, int], ...]
    blind: bool = False


@quick
@dataclass(frozen=True, slots=True)
class Setup:
    """All that a hand starts from: boxes in ascending order. `stacks`: chips of each player before
    the first stakes; a player who is not in it never runs out. `ante` and what follows are draw
    poker's (DRW-03, DRW-06, DRW-10): `entries` are (box, amount) where a seat's own entry replaces
    the common one."""

    boxes: tuple[Box, ...]
    stacks: Mapping[str, int] = field(default_factory=dict)
    ante: int = 0
    first: int = 0
    carried_pot: int = 0
    entries: tuple[tuple[int, int], ...] = ()
    entry: str = "ante"


@quick
@dataclass(frozen=True, slots=True)
class ShoeRules:
    """How a game treats its shoe; the table reads it between hands.

    A cut's place is the number of cards above it. `burn` cards go face down as a shoe starts;
    with `burn_by` the first card is turned up instead and `burn_by(card)` more are burned face down
    (BAC-03). `burn_on_dealer_change`: TAB-08. `publish_seed`: whether the server seed may be
    published when the shoe retires (DRW-14 and folded cards forbid it elsewhere).
    """

    cut_min_from_top: int
    cut_min_from_bottom: int
    every_hand: bool
    publish_seed: bool
    cut_in_top_half: bool = False
    burn: int = 0
    burn_by: Callable[[Card], int] | None = None
    burn_on_dealer_change: int = 0
    cards_behind_cut_card: int = 0

    def cut_range(self, size: int) -> tuple[int, int]:
        """The lowest and the highest place where a shoe of `size` cards may be cut (TAB-09)."""
        highest = size - self.cut_min_from_bottom
        if self.cut_in_top_half:
            highest = min(highest, size // 2)
        return self.cut_min_from_top, highest

    def cut_allowed(self, place: int, size: int) -> bool:
        """Whether a cut with `place` cards above it is far enough from the edges (TAB-09)."""
        lowest, highest = self.cut_range(size)
        return lowest <= place <= highest

    def another_hand(self, remaining: int) -> bool:
        """Whether the shoe serves one more hand with `remaining` cards left in it (BAC-12, BTL-09):
        the hand that meets the cut card is the last."""
        return not self.every_hand and remaining >= self.cards_behind_cut_card


class Game(Protocol):
    """What every module of `shared/games` that is a game offers.

    `settings` checks raw settings (JSON values) and raises `SettingError` with the field;
    everything after works on its result. `check_bets` raises the `RuleError` that the set-up
    reasons of the hand script call for and is used both bet by bet as they are placed
    (`complete=False`: minimum not yet asked of a growing box) and once as betting closes. `start`
    checks everything again and gives the hand. All else takes a hand and gives a new one, or raises
    `RuleError` and changes nothing.

    `default` is what the clock decides for a box (TAB-06): a word of the game or `TIMEOUT`. `cells`
    are the dealt cards by hand, as they lie; `staked` what each player has staked in the hand so
    far, in minor units.
    """

    NAME: str
    VERSION: int
    WAGERS: tuple[str, ...]
    SHOE: ShoeRules

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

"""One shoe as its events make it. Pure; holds no secret: the order is elsewhere (`SealedShoe`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum
from typing import Any

from shared.proofs.shoe_order import DECK_CARDS


class Phase(Enum):
    """What a shoe waits for; the values are those of `croupier.shuffle.v1.ShoePhase`."""

    OPEN = 1
    CUT = 2
    SEALED = 3
    RETIRED = 4


class Use(Enum):
    """What becomes of a card; the values are those of `croupier.shuffle.v1.Use`."""

    DOWN = 1
    PLAYER = 2
    OPEN = 3
    BURN = 4
    BURN_OPEN = 5
    EXPOSED = 6


BURNED = frozenset({Use.BURN, Use.BURN_OPEN})


class RetireReason(Enum):
    """The values are those of `croupier.shuffle.v1.RetireReason`."""

    PLAYED = 1
    REDEAL = 2
    TABLE_CLOSED = 3
    ABORTED = 4
    LOG_RECOVERED = 5


class Purpose(Enum):
    """The values are those of `croupier.shuffle.v1.DisclosurePurpose`."""

    CHECK = 1
    PERSON = 2


@dataclass(frozen=True, slots=True)
class Mark:
    """What has become of a dealt card, for which hand, and the first player shown it ("": none)."""

    use: Use
    hand_id: str
    player: str = ""
    exposed: bool = False


@dataclass(frozen=True, slots=True)
class PlayerSeed:
    """A player's part; `seed` is `None` until it is opened, and stays so if it was `reused`."""

    player: str
    commitment: bytes
    seed: bytes | None = field(default=None, repr=False)
    reused: bool = False


@dataclass(frozen=True, slots=True)
class Shoe:
    """A shoe between two events. `marks` has one entry a dealt position; the rest is undealt."""

    shoe_id: str
    table_id: str
    epoch: int
    decks: int
    scheme: int
    commitment: bytes
    cut_min_top: int
    cut_min_bottom: int
    behind_cut_card: int
    publish: bool
    phase: Phase = Phase.OPEN
    seeds: tuple[PlayerSeed, ...] = ()
    cut_at: int = 0
    root: bytes = b""
    marks: tuple[Mark | None, ...] = ()
    cut_card_reached: bool = False
    server_seed: bytes = field(default=b"", repr=False)
    """Only once it is published."""

    @property
    def size(self) -> int:
        """Cards in the whole shoe."""
        return self.decks * DECK_CARDS

    @property
    def next_position(self) -> int:
        """The position that is dealt next."""
        return len(self.marks)

    @property
    def opened_seeds(self) -> tuple[tuple[str, bytes], ...]:
        """(player, seed) of those that are in the order, as they were committed."""
        return tuple((each.player, each.seed) for each in self.seeds if each.seed is not None)

    def seed_of(self, player: str) -> PlayerSeed | None:
        """The player's part, if he has one."""
        return next((each for each in self.seeds if each.player == player), None)

    def positions(self, uses: Iterable[Use]) -> tuple[int, ...]:
        """Dealt positions whose cards have come to one of `uses`."""
        wanted = frozenset(uses)
        return tuple(at for at, mark in enumerate(self.marks) if mark and mark.use in wanted)


@dataclass(frozen=True, slots=True)
class ShoeOpened:
    shoe_id: str
    table_id: str
    epoch: int
    decks: int
    scheme: int
    commitment: bytes
    cut_min_top: int
    cut_min_bottom: int
    behind_cut_card: int
    publish: bool
    at: datetime


@dataclass(frozen=True, slots=True)
class SeedCommitted:
    player: str
    commitment: bytes
    epoch: int


@dataclass(frozen=True, slots=True)
class ShoeCut:
    by: str
    at: int
    epoch: int


@dataclass(frozen=True, slots=True)
class SeedOpened:
    player: str
    seed: bytes = field(repr=False)
    epoch: int


@dataclass(frozen=True, slots=True)
class SeedReused:
    player: str
    epoch: int


@dataclass(frozen=True, slots=True)
class ShoeSealed:
    root: bytes
    used: tuple[str, ...]
    withheld: tuple[str, ...]
    epoch: int


@dataclass(frozen=True, slots=True)
class CardsTaken:
    positions: tuple[int, ...]
    hand_id: str
    epoch: int


@dataclass(frozen=True, slots=True)
class Showing:
    """A position and who sees its card: one player, or everybody ("")."""

    position: int
    player: str


@dataclass(frozen=True, slots=True)
class CardsShown:
    cards: tuple[Showing, ...]
    hand_id: str
    epoch: int


@dataclass(frozen=True, slots=True)
class CardsBurned:
    down: tuple[int, ...]
    open: tuple[int, ...]
    hand_id: str
    epoch: int


@dataclass(frozen=True, slots=True)
class CardsExposed:
    positions: tuple[int, ...]
    hand_id: str
    epoch: int


@dataclass(frozen=True, slots=True)
class CutCardReached:
    position: int


@dataclass(frozen=True, slots=True)
class ShoeClaimed:
    epoch: int


@dataclass(frozen=True, slots=True)
class ShoeRetired:
    reason: RetireReason
    server_seed: bytes = field(repr=False)
    dealt_to: int
    burned: tuple[int, ...]
    exposed: tuple[int, ...]
    epoch: int
    at: datetime


@dataclass(frozen=True, slots=True)
class ShoeDisclosed:
    purpose: Purpose
    to: str
    why: str
    at: datetime


Event = (
    ShoeOpened
    | SeedCommitted
    | ShoeCut
    | SeedOpened
    | SeedReused
    | ShoeSealed
    | CardsTaken
    | CardsShown
    | CardsBurned
    | CardsExposed
    | CutCardReached
    | ShoeClaimed
    | ShoeRetired
    | ShoeDisclosed
)


def opened(event: ShoeOpened) -> Shoe:
    """The shoe that its first event makes."""
    return Shoe(
        event.shoe_id,
        event.table_id,
        event.epoch,
        event.decks,
        event.scheme,
        event.commitment,
        event.cut_min_top,
        event.cut_min_bottom,
        event.behind_cut_card,
        event.publish,
    )


def evolve(shoe: Shoe | None, event: Event) -> Shoe:
    """The shoe after `event`. `ValueError` unless `ShoeOpened` comes first and once."""
    if isinstance(event, ShoeOpened):
        if shoe is not None:
            raise ValueError("a shoe is opened once")
        return opened(event)
    if shoe is None:
        raise ValueError(f"{type(event).__name__} before ShoeOpened")
    return _evolve(_at_epoch(shoe, event), event)


def _at_epoch(shoe: Shoe, event: Event) -> Shoe:
    if isinstance(event, CutCardReached | ShoeDisclosed) or event.epoch == shoe.epoch:
        return shoe
    return replace(shoe, epoch=event.epoch)


def _evolve(shoe: Shoe, event: Event) -> Shoe:
    match event:
        case CardsTaken(positions, hand_id):
            return _marked(shoe, {at: Mark(Use.DOWN, hand_id) for at in positions})
        case CardsShown(cards, hand_id):
            return _marked(shoe, {card.position: _shown(card, hand_id) for card in cards})
        case CardsBurned(down, up, hand_id):
            marks = {at: Mark(Use.BURN, hand_id) for at in down}
            return _marked(shoe, marks | {at: Mark(Use.BURN_OPEN, hand_id) for at in up})
        case CardsExposed(positions, hand_id):
            marks = {at: Mark(Use.EXPOSED, hand_id, exposed=True) for at in positions}
            return _marked(shoe, marks)
        case CutCardReached():
            return replace(shoe, cut_card_reached=True)
        case SeedCommitted(player, commitment):
            return replace(shoe, seeds=(*shoe.seeds, PlayerSeed(player, commitment)))
        case ShoeCut(_, at):
            return replace(shoe, phase=Phase.CUT, cut_at=at)
        case SeedOpened(player, seed):
            return _with_seed(shoe, player, seed=seed)
        case SeedReused(player):
            return _with_seed(shoe, player, reused=True)
        case ShoeSealed(root):
            return replace(shoe, phase=Phase.SEALED, root=root)
        case ShoeRetired(_, server_seed):
            return replace(shoe, phase=Phase.RETIRED, server_seed=server_seed)
        case _:
            return shoe


def _with_seed(shoe: Shoe, player: str, **changes: Any) -> Shoe:
    seeds = tuple(
        replace(each, **changes) if each.player == player else each for each in shoe.seeds
    )
    return replace(shoe, seeds=seeds)


def _shown(card: Showing, hand_id: str) -> Mark:
    return Mark(Use.PLAYER if card.player else Use.OPEN, hand_id, card.player)


def _marked(shoe: Shoe, new: dict[int, Mark]) -> Shoe:
    """Between the events of one append a position may still be missing: `None` stands for it."""
    marks: list[Mark | None] = list(shoe.marks)
    for position, mark in new.items():
        marks.extend([None] * (position + 1 - len(marks)))
        before = marks[position]
        if before is not None:
            mark = replace(
                mark,
                player=mark.player or before.player,
                exposed=mark.exposed or before.exposed,
            )
        marks[position] = mark
    return replace(shoe, marks=tuple(marks))

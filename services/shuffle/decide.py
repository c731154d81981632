"""What may be asked of a shoe, in which order, and the events that come of it. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from services.shuffle.shoe import (
    BURNED,
    CardsBurned,
    CardsExposed,
    CardsShown,
    CardsTaken,
    CutCardReached,
    Event,
    Mark,
    Phase,
    Purpose,
    RetireReason,
    SeedCommitted,
    SeedOpened,
    SeedReused,
    Shoe,
    ShoeClaimed,
    ShoeCut,
    ShoeDisclosed,
    ShoeOpened,
    ShoeRetired,
    ShoeSealed,
    Showing,
    Use,
)
from shared.errors import CroupierError
from shared.plain import plain
from shared.proofs.seeds import (
    COMMITMENT_BYTES,
    MAX_PLAYER_SEED_BYTES,
    MAX_PLAYER_SEEDS,
    MIN_PLAYER_SEED_BYTES,
    player_seed_commitment,
)
from shared.proofs.shoe_order import DECK_CARDS, MAX_DECKS, SCHEME

MAX_DRAWS = 128
MAX_WHY_CHARACTERS = 200
SHOE_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""Of a shoe, a table or a player."""
_HAND_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")


@dataclass(frozen=True, slots=True)
class Asker:
    """Which table asks, of which owner: every command of a table has it."""

    table_id: str
    epoch: int


@dataclass(frozen=True, slots=True)
class Open:
    """`commitment` is that of a fresh server seed."""

    asker: Asker
    shoe_id: str
    decks: int
    cut_min_top: int
    cut_min_bottom: int
    behind_cut_card: int
    publish: bool
    commitment: bytes


@dataclass(frozen=True, slots=True)
class CommitSeed:
    asker: Asker
    player: str
    commitment: bytes


@dataclass(frozen=True, slots=True)
class Cut:
    """Without a `player` the dealer cuts, and `at` is what his DRBG says."""

    asker: Asker
    player: str
    at: int


@dataclass(frozen=True, slots=True)
class OpenSeed:
    asker: Asker
    player: str
    seed: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class NoteReuse:
    """The seed that this player has told is one that he used before."""

    asker: Asker
    player: str


@dataclass(frozen=True, slots=True)
class Seal:
    """`root` is what the seeds opened by now and the cut give."""

    asker: Asker
    root: bytes


@dataclass(frozen=True, slots=True)
class Draw:
    """One card asked for; `player` goes with `Use.PLAYER`."""

    position: int
    use: Use
    player: str = ""


@dataclass(frozen=True, slots=True)
class Deal:
    """`hand_id` is "" outside a hand."""

    asker: Asker
    hand_id: str
    draws: tuple[Draw, ...]


@dataclass(frozen=True, slots=True)
class Claim:
    asker: Asker


@dataclass(frozen=True, slots=True)
class Retire:
    """`server_seed` is told where the shoe was opened to be published."""

    asker: Asker
    reason: RetireReason
    server_seed: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Disclose:
    """The seed of a retired shoe, for `to`: the service that checks it, or the person who looks."""

    purpose: Purpose
    to: str
    why: str


Command = Open | CommitSeed | Cut | OpenSeed | NoteReuse | Seal | Deal | Claim | Retire | Disclose

# What a dealt card may still come to. Whoever has seen a card has seen it: an audience only grows,
# from nobody over one player to everybody, and a burned card stays where it is.
_MAY_BECOME: Mapping[Use, frozenset[Use]] = {
    Use.DOWN: frozenset(Use) - {Use.DOWN},
    Use.PLAYER: frozenset(Use) - {Use.DOWN, Use.PLAYER},
    Use.OPEN: frozenset({Use.BURN_OPEN}),
    Use.EXPOSED: frozenset({Use.BURN_OPEN}),
    Use.BURN: frozenset(),
    Use.BURN_OPEN: frozenset(),
}


def admit(shoe: Shoe | None, asker: Asker) -> Shoe:
    """The shoe, for its own table and no owner older than the last one that spoke.

    Refuses with SHOE_NOT_FOUND, WRONG_TABLE or STALE_EPOCH: whoever is refused here learns nothing
    of the shoe, not even by repeating a request that was once granted.
    """
    if shoe is None:
        raise CroupierError("SHOE_NOT_FOUND", "there is no such shoe", "shoe_id")
    if shoe.table_id != asker.table_id:
        raise CroupierError("WRONG_TABLE", "the shoe belongs to another table", "table_id")
    if asker.epoch < shoe.epoch:
        raise CroupierError("STALE_EPOCH", f"epoch {shoe.epoch} has spoken already", "epoch")
    return shoe


def decide(shoe: Shoe | None, command: Command, now: datetime) -> tuple[Event, ...]:
    """The events that `command` brings about at `now`, or a `CroupierError` (shuffle.proto)."""
    if isinstance(command, Open):
        return _open(shoe, command, now)
    if isinstance(command, Disclose):
        return _disclose(shoe, command, now)
    shoe = admit(shoe, command.asker)
    if isinstance(command, Claim):
        return _claim(shoe, command)
    if shoe.phase is Phase.RETIRED:
        raise CroupierError("SHOE_RETIRED", "the shoe is over", "shoe_id")
    match command:
        case Deal():
            return _deal(shoe, command)
        case CommitSeed():
            return _commit_seed(shoe, command)
        case Cut():
            return _cut(shoe, command)
        case OpenSeed():
            return _open_seed(shoe, command)
        case NoteReuse():
            return _note_reuse(shoe, command)
        case Seal():
            return _seal(shoe, command)
        case _:
            return _retire(shoe, command, now)


def _open(shoe: Shoe | None, command: Open, now: datetime) -> tuple[Event, ...]:
    for name, value in (("shoe_id", command.shoe_id), ("table_id", command.asker.table_id)):
        if not SHOE_ID.fullmatch(value):
            raise CroupierError("BAD_REQUEST", "letters, digits, - and _, 1 to 64", name)
    if command.asker.epoch < 1:
        raise CroupierError("BAD_REQUEST", "epochs begin at 1", "epoch")
    if not 1 <= command.decks <= MAX_DECKS:
        raise CroupierError("BAD_REQUEST", f"a shoe has 1 to {MAX_DECKS} decks", "decks")
    size = command.decks * DECK_CARDS
    for name, least in (
        ("cut_min_top", command.cut_min_top),
        ("cut_min_bottom", command.cut_min_bottom),
    ):
        if least < 1:
            raise CroupierError("BAD_REQUEST", "a cut leaves a card on either side", name)
    if command.cut_min_top + command.cut_min_bottom > size:
        raise CroupierError("BAD_REQUEST", "no place is left to cut", "cut_min_bottom")
    if not 0 <= command.behind_cut_card < size:
        raise CroupierError("BAD_REQUEST", "the cut card is in the shoe", "behind_cut_card")
    if shoe is not None:
        raise CroupierError("SHOE_EXISTS", "there is such a shoe already", "shoe_id")
    return (
        ShoeOpened(
            command.shoe_id,
            command.asker.table_id,
            command.asker.epoch,
            command.decks,
            SCHEME,
            command.commitment,
            command.cut_min_top,
            command.cut_min_bottom,
            command.behind_cut_card,
            command.publish,
            now,
        ),
    )


def _commit_seed(shoe: Shoe, command: CommitSeed) -> tuple[Event, ...]:
    if not SHOE_ID.fullmatch(command.player):
        raise CroupierError("BAD_REQUEST", "letters, digits, - and _, 1 to 64", "player")
    if len(command.commitment) != COMMITMENT_BYTES:
        raise CroupierError("BAD_REQUEST", f"{COMMITMENT_BYTES} bytes", "commitment")
    if shoe.phase is not Phase.OPEN:
        raise CroupierError("SEED_REFUSED", "the shoe is cut already")
    if shoe.seed_of(command.player) is not None:
        raise CroupierError("SEED_REFUSED", "one seed a player", "player")
    if len(shoe.seeds) == MAX_PLAYER_SEEDS:
        raise CroupierError("SEED_REFUSED", f"at most {MAX_PLAYER_SEEDS} seeds a shoe")
    return (SeedCommitted(command.player, command.commitment, command.asker.epoch),)


def _cut(shoe: Shoe, command: Cut) -> tuple[Event, ...]:
    if shoe.phase is not Phase.OPEN:
        raise CroupierError("SHOE_CUT", "the shoe is cut already", "shoe_id")
    if command.player and not SHOE_ID.fullmatch(command.player):
        raise CroupierError("BAD_REQUEST", "letters, digits, - and _, 1 to 64", "player")
    least, most = cut_range(shoe)
    if not least <= command.at <= most:
        raise CroupierError("CUT_TOO_NEAR_EDGE", f"cut from {least} to {most}", "at")
    return (ShoeCut(command.player, command.at, command.asker.epoch),)


def cut_range(shoe: Shoe) -> tuple[int, int]:
    """The least and the greatest number of cards that a cut may take from the top."""
    return shoe.cut_min_top, shoe.size - shoe.cut_min_bottom


def _open_seed(shoe: Shoe, command: OpenSeed) -> tuple[Event, ...]:
    if not MIN_PLAYER_SEED_BYTES <= len(command.seed) <= MAX_PLAYER_SEED_BYTES:
        allowed = f"{MIN_PLAYER_SEED_BYTES} to {MAX_PLAYER_SEED_BYTES} bytes"
        raise CroupierError("BAD_REQUEST", allowed, "seed")
    if shoe.phase is Phase.OPEN:
        raise CroupierError("SHOE_NOT_CUT", "seeds are opened after the cut")
    if shoe.phase is Phase.SEALED:
        raise CroupierError("SHOE_SEALED", "the order is fixed already")
    committed = shoe.seed_of(command.player)
    if committed is None:
        raise CroupierError("SEED_REFUSED", "this player has committed no seed", "player")
    if committed.seed is not None:
        raise CroupierError("SEED_REFUSED", "this player's seed is open already", "player")
    if committed.reused:
        raise reused()
    commitment = player_seed_commitment(shoe.shoe_id, command.player, command.seed)
    if commitment != committed.commitment:
        raise CroupierError("SEED_MISMATCH", "another seed than was committed", "seed")
    return (SeedOpened(command.player, command.seed, command.asker.epoch),)


def _note_reuse(shoe: Shoe, command: NoteReuse) -> tuple[Event, ...]:
    if shoe.phase is Phase.SEALED:
        # Another process has sealed it since the seed was looked up: it is withheld there.
        raise CroupierError("SHOE_SEALED", "the order is fixed already")
    return (SeedReused(command.player, command.asker.epoch),)


def reused() -> CroupierError:
    """Why a seed that a player has used in any shoe is not taken."""
    return CroupierError("SEED_REUSED", "the player has used this seed before", "seed")


def _seal(shoe: Shoe, command: Seal) -> tuple[Event, ...]:
    if shoe.phase is Phase.OPEN:
        raise CroupierError("SHOE_NOT_CUT", "a shoe is cut before it is sealed")
    if shoe.phase is Phase.SEALED:
        raise CroupierError("SHOE_SEALED", "the order is fixed already")
    used = tuple(player for player, _ in shoe.opened_seeds)
    withheld = tuple(each.player for each in shoe.seeds if each.seed is None)
    return (ShoeSealed(command.root, used, withheld, command.asker.epoch),)


def _deal(shoe: Shoe, command: Deal) -> tuple[Event, ...]:
    if shoe.phase is not Phase.SEALED:
        raise CroupierError("SHOE_NOT_SEALED", "no card leaves a shoe before it is sealed")
    if not 1 <= len(command.draws) <= MAX_DRAWS:
        raise CroupierError("BAD_REQUEST", f"1 to {MAX_DRAWS} cards in one request", "draws")
    if command.hand_id and not _HAND_ID.fullmatch(command.hand_id):
        raise CroupierError("BAD_REQUEST", "letters, digits, - and _, 1 to 128", "hand_id")
    due, previous = shoe.next_position, -1
    for draw in command.draws:
        if draw.position <= previous:
            raise CroupierError("BAD_POSITION", "positions ascend, each once", "draws")
        previous = draw.position
        _check_audience(draw, command.hand_id)
        if draw.position < due:
            _check_growth(shoe.marks[draw.position], draw, command.hand_id)
        elif draw.position >= shoe.size:
            raise CroupierError("DECK_TOO_SHORT", f"the shoe has {shoe.size} cards", "draws")
        elif draw.position > due:
            raise CroupierError("BAD_POSITION", f"position {due} comes first", "draws")
        else:
            due += 1
    return (*_dealt(command), *_cut_card(shoe, due))


def _check_audience(draw: Draw, hand_id: str) -> None:
    if draw.use is not Use.PLAYER:
        if draw.player:
            raise CroupierError("BAD_REQUEST", "only a private card has a player", "draws")
        return
    if not SHOE_ID.fullmatch(draw.player):
        raise CroupierError("BAD_REQUEST", "a private card has a player", "draws")
    if not hand_id:
        raise CroupierError("AUDIENCE_NOT_ALLOWED", "outside a hand no card is private", "hand_id")


def _check_growth(mark: Mark | None, draw: Draw, hand_id: str) -> None:
    if mark is None or draw.use not in _MAY_BECOME[mark.use]:
        raise CroupierError(
            "AUDIENCE_NOT_ALLOWED", f"position {draw.position} has been shown or burned", "draws"
        )
    if mark.hand_id != hand_id:
        raise CroupierError(
            "AUDIENCE_NOT_ALLOWED", f"position {draw.position} is of another hand", "hand_id"
        )


def _dealt(command: Deal) -> tuple[Event, ...]:
    at: defaultdict[Use, list[int]] = defaultdict(list)
    for draw in command.draws:
        at[draw.use].append(draw.position)
    hand_id, epoch = command.hand_id, command.asker.epoch
    seen = tuple(
        Showing(draw.position, draw.player)
        for draw in command.draws
        if draw.use in (Use.PLAYER, Use.OPEN)
    )
    down, up = tuple(at[Use.BURN]), tuple(at[Use.BURN_OPEN])
    events: list[Event] = []
    if at[Use.DOWN]:
        events.append(CardsTaken(tuple(at[Use.DOWN]), hand_id, epoch))
    if seen:
        events.append(CardsShown(seen, hand_id, epoch))
    if down or up:
        events.append(CardsBurned(down, up, hand_id, epoch))
    if at[Use.EXPOSED]:
        events.append(CardsExposed(tuple(at[Use.EXPOSED]), hand_id, epoch))
    return tuple(events)


def _cut_card(shoe: Shoe, next_position: int) -> tuple[Event, ...]:
    first_behind = shoe.size - shoe.behind_cut_card
    if not shoe.behind_cut_card or shoe.cut_card_reached or next_position <= first_behind:
        return ()
    return (CutCardReached(first_behind),)


def _claim(shoe: Shoe, command: Claim) -> tuple[Event, ...]:
    epoch = command.asker.epoch
    if shoe.phase is Phase.RETIRED or epoch == shoe.epoch:
        return ()  # A shoe that is over has nothing to be fenced from.
    return (ShoeClaimed(epoch),)


def _retire(shoe: Shoe, command: Retire, now: datetime) -> tuple[Event, ...]:
    return (
        ShoeRetired(
            command.reason,
            command.server_seed if shoe.publish else b"",
            shoe.next_position,
            shoe.positions(BURNED),
            tuple(at for at, mark in enumerate(shoe.marks) if mark and mark.exposed),
            command.asker.epoch,
            now,
        ),
    )


def _disclose(shoe: Shoe | None, command: Disclose, now: datetime) -> tuple[Event, ...]:
    if not SHOE_ID.fullmatch(command.to):
        raise CroupierError("BAD_REQUEST", "letters, digits, - and _, 1 to 64", "person")
    if not plain(command.why, MAX_WHY_CHARACTERS, "why"):
        raise CroupierError("BAD_REQUEST", f"1 to {MAX_WHY_CHARACTERS} characters", "why")
    if shoe is None:
        raise CroupierError("SHOE_NOT_FOUND", "there is no such shoe", "shoe_id")
    if shoe.phase is not Phase.RETIRED:
        raise CroupierError("SHOE_NOT_RETIRED", "cards of this shoe may still be dealt", "shoe_id")
    return (ShoeDisclosed(command.purpose, command.to, command.why, now),)

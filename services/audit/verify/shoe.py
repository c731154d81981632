"""A shoe as its own stream tells it, checked event by event: seeds, cut, seal, each card's proof.

The record that comes out of it is what a table's cards are then compared with (`cards`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar
from uuid import UUID

from croupier.shuffle.v1 import events_pb2 as shuffle
from croupier.type.v1 import card_pb2
from google.protobuf.message import DecodeError

from services.audit.verify.findings import Check, Finding, Read
from shared.cards import Card, parse_card
from shared.proofs.sealed_shoe import SealedShoe
from shared.proofs.seeds import player_seed_commitment, server_seed_commitment
from shared.proofs.shoe_order import DECK_CARDS, dealer_cut
from shared.proofs.shown_card import ShownCard, shown_card_holds
from shared.quick import quick
from shared.sealing import Keyring, Sealed, UnsealError, card_place, player_audience

EVERYBODY = ""
_NOT_OPENED = shuffle.ShoeOpened()
_C = TypeVar("_C")


@quick
@dataclass(frozen=True, slots=True, order=True)
class Use:
    """What became of a card: `open`, `player`, `down`, `burn`, `burn_open` or `exposed`.

    `viewer` is the one player who sees it (with `player`).
    """

    position: int
    use: str
    viewer: str = ""


@quick
@dataclass(frozen=True, slots=True)
class Request:
    """All that shuffle wrote for one request: what became of which card, and where it stands."""

    first: Read
    uses: tuple[Use, ...]


@dataclass(slots=True)
class ShoeRecord:
    """A shoe from its stream. `keyring` opens the private cards. With a `hand_id` only the cards
    of that hand are proved, which is most of the work."""

    shoe_id: str
    keyring: Keyring
    hand_id: str = ""
    version: int = 0
    opening: Read | None = None
    commitments: dict[str, bytes] = field(default_factory=dict)
    seeds: dict[str, bytes] = field(default_factory=dict, repr=False)
    reused: set[str] = field(default_factory=set)
    cut: Read | None = None
    sealed: Read | None = None
    retired: Read | None = None
    requests: dict[UUID, Request] = field(default_factory=dict)
    shown: dict[tuple[int, str], Card] = field(default_factory=dict, repr=False)

    @property
    def opened(self) -> shuffle.ShoeOpened:
        """What the shoe was opened with; nothing of it is set before that."""
        return self.opening.body if self.opening is not None else _NOT_OPENED

    @property
    def cards(self) -> int:
        """How many cards the shoe has; 0 before it is opened."""
        return self.opened.decks * DECK_CARDS

    @property
    def root(self) -> bytes:
        """The seal, 32 bytes; empty before it."""
        return bytes(self.sealed.body.root) if self.sealed is not None else b""

    def value(self, position: int, viewer: str) -> Card | None:
        """The card that everybody or `viewer` was shown at `position` with a proof that holds."""
        everybody = self.shown.get((position, EVERYBODY))
        return everybody if everybody is not None else self.shown.get((position, viewer))

    def step(self, read: Read) -> Iterator[Finding]:
        """The next event of the shoe's stream."""
        self.version = read.event.version
        check = _STEPS.get(read.event.type)
        if self.opening is None and read.event.type != "ShoeOpened":
            yield read.finding(Check.SHOE, "the shoe's stream does not begin with its opening")
        elif self.retired is not None and read.event.type != "ShoeDisclosed":
            yield read.finding(Check.SHOE, "this came after the shoe was retired")
        elif check is not None:
            yield from check(self, read)


def _opened(record: ShoeRecord, read: Read) -> Iterator[Finding]:
    if record.opening is not None:
        yield read.finding(Check.SHOE, "the shoe was opened twice")
        return
    record.opening = read
    if read.body.shoe_id != record.shoe_id:
        yield read.finding(Check.SHOE, f"another shoe, {read.body.shoe_id}, in this stream")


def _seed_committed(record: ShoeRecord, read: Read) -> Iterator[Finding]:
    committed = read.body
    if record.cut is not None:
        yield read.finding(Check.SHOE, "a seed was committed after the cut")
    if committed.player in record.commitments:
        yield read.finding(Check.SHOE, "a second seed of one player")
    record.commitments[committed.player] = committed.commitment


def _cut(record: ShoeRecord, read: Read) -> Iterator[Finding]:
    if record.cut is not None:
        yield read.finding(Check.SHOE, "the shoe was cut twice")
    record.cut = read
    opened = record.opened
    if not opened.cut_min_top <= read.body.at <= record.cards - opened.cut_min_bottom:
        yield read.finding(Check.SHOE, f"the cut at {read.body.at} is too near an edge")


def _seed_opened(record: ShoeRecord, read: Read) -> Iterator[Finding]:
    told = read.body
    if record.cut is None or record.sealed is not None:
        yield read.finding(Check.SHOE, "a seed was opened before the cut or after the seal")
    commitment = player_seed_commitment(record.shoe_id, told.player, told.seed)
    if record.commitments.get(told.player) != commitment:
        yield read.finding(Check.SHOE, "the seed is not the one that was committed")
    record.seeds[told.player] = told.seed


def _seed_reused(record: ShoeRecord, read: Read) -> Iterator[Finding]:
    if record.cut is None or record.sealed is not None:
        yield read.finding(Check.SHOE, "a seed was opened before the cut or after the seal")
    if read.body.player not in record.commitments:
        yield read.finding(Check.SHOE, "a seed was reused that was not committed")
    record.reused.add(read.body.player)


def _sealed(record: ShoeRecord, read: Read) -> Iterator[Finding]:
    if record.sealed is not None:
        yield read.finding(Check.SHOE, "the shoe was sealed twice")
    record.sealed = read
    if record.cut is None:
        yield read.finding(Check.SHOE, "the shoe was sealed before it was cut")
    used = [player for player in record.commitments if player in record.seeds]
    withheld = [player for player in record.commitments if player not in record.seeds]
    if (list(read.body.used), list(read.body.withheld)) != (used, withheld):
        yield read.finding(Check.SHOE, "other seeds are in the seal than were opened")


def _cards_taken(record: ShoeRecord, read: Read) -> Iterator[Finding]:
    yield from _use(record, read, (Use(position, "down") for position in read.body.positions))


def _cards_shown(record: ShoeRecord, read: Read) -> Iterator[Finding]:
    for card in _to_prove(record, read, read.body.cards):
        if card.WhichOneof("value") == "open":
            yield from _proof(record, read, card.open, card.position, card.player)
        else:
            yield from _private_proof(record, read, card)
    uses = (
        Use(card.position, "player" if card.player else "open", card.player)
        for card in read.body.cards
    )
    yield from _use(record, read, uses)


def _cards_burned(record: ShoeRecord, read: Read) -> Iterator[Finding]:
    for proof in _to_prove(record, read, read.body.open):
        yield from _proof(record, read, proof, proof.position, EVERYBODY)
    uses = [Use(position, "burn") for position in read.body.positions]
    uses += [Use(proof.position, "burn_open") for proof in read.body.open]
    yield from _use(record, read, uses)


def _cards_exposed(record: ShoeRecord, read: Read) -> Iterator[Finding]:
    for proof in _to_prove(record, read, read.body.open):
        yield from _proof(record, read, proof, proof.position, EVERYBODY)
    yield from _use(record, read, (Use(proof.position, "exposed") for proof in read.body.open))


def _to_prove(record: ShoeRecord, read: Read, cards: Iterable[_C]) -> Iterable[_C]:
    return cards if record.hand_id in ("", read.event.hand_id) else ()


def _use(record: ShoeRecord, read: Read, uses: Iterable[Use]) -> Iterator[Finding]:
    if record.sealed is None:
        yield read.finding(Check.CARDS_DUE, "cards left the shoe before it was sealed")
    cause = read.event.causation_id
    if cause is None:
        yield read.finding(Check.CARDS_DUE, "cards left the shoe and nobody asked for them")
        return
    known = record.requests.get(cause)
    first, before = (known.first, known.uses) if known is not None else (read, ())
    record.requests[cause] = Request(first, (*before, *uses))


def _private_proof(record: ShoeRecord, read: Read, card: shuffle.ShownCard) -> Iterator[Finding]:
    sealed = Sealed(card.sealed.key_id, card.sealed.nonce, card.sealed.ciphertext)
    proof = card_pb2.CardProof()
    try:
        proof.ParseFromString(
            record.keyring.unseal_field(
                sealed,
                read.body.hand_id,
                player_audience(card.player),
                card_place(record.shoe_id, card.position),
            )
        )
    except (UnsealError, DecodeError):
        yield read.finding(
            Check.PROOFS, f"the private card at position {card.position} does not open"
        )
    else:
        yield from _proof(record, read, proof, card.position, card.player)


def _proof(
    record: ShoeRecord, read: Read, proof: card_pb2.CardProof, position: int, viewer: str
) -> Iterator[Finding]:
    try:
        card = parse_card(proof.card)
    except ValueError:
        yield read.finding(Check.PROOFS, f"there is no card at position {position}")
        return
    shown = ShownCard(position, card, proof.salt, tuple(proof.path))
    if proof.position != position or not shown_card_holds(
        record.root, record.shoe_id, record.cards, shown
    ):
        yield read.finding(
            Check.PROOFS, f"the card at position {position} does not prove against the seal"
        )
    else:
        record.shown[position, viewer] = card


def _retired(record: ShoeRecord, read: Read) -> Iterator[Finding]:
    record.retired = read
    opened = record.opened
    uses = [use for request in record.requests.values() for use in request.uses]
    if {use.position for use in uses} != set(range(read.body.dealt_to)):
        yield read.finding(
            Check.SHOE, f"not every position below {read.body.dealt_to} is accounted for, once"
        )
    burned = sorted({use.position for use in uses if use.use in ("burn", "burn_open")})
    exposed = sorted({use.position for use in uses if use.use == "exposed"})
    if (list(read.body.burned), list(read.body.exposed)) != (burned, exposed):
        yield read.finding(Check.SHOE, "other cards were burned or exposed than is said at the end")
    if bool(read.body.server_seed) != opened.publish:
        yield read.finding(
            Check.SHOE,
            "the seed was to be published" if opened.publish else "the seed was to stay secret",
        )
    if read.body.server_seed:
        yield from check_seed(record, read, read.body.server_seed)


def check_seed(record: ShoeRecord, read: Read, server_seed: bytes) -> Iterator[Finding]:
    """Whether a server seed is the committed one and gives the cut and the seal of the record.

    `read` is the event that the findings are about. A shoe that was never cut or never sealed has
    only as much to be checked.
    """
    opened, cut = record.opened, record.cut.body if record.cut is not None else None
    if server_seed_commitment(record.shoe_id, server_seed) != opened.commitment:
        yield read.finding(Check.SHOE, "the server seed is not the one that was committed to")
        return
    if cut is None:
        return
    if not cut.by:
        least, most = opened.cut_min_top, record.cards - opened.cut_min_bottom
        if least > most or cut.at != dealer_cut(server_seed, record.shoe_id, least, most):
            yield read.finding(Check.SHOE, "the dealer's cut does not follow from the server seed")
    if record.sealed is None:
        return
    seeds = [
        (player, record.seeds[player]) for player in record.commitments if player in record.seeds
    ]
    derived = SealedShoe(server_seed, record.shoe_id, seeds, opened.decks, cut.at)
    if derived.root != record.root:
        yield read.finding(Check.SHOE, "the seeds do not give the order that was sealed")


_Step = Callable[[ShoeRecord, Read], Iterator[Finding]]

_STEPS: Mapping[str, _Step] = {
    "ShoeOpened": _opened,
    "SeedCommitted": _seed_committed,
    "ShoeCut": _cut,
    "SeedOpened": _seed_opened,
    "SeedReused": _seed_reused,
    "ShoeSealed": _sealed,
    "CardsTaken": _cards_taken,
    "CardsShown": _cards_shown,
    "CardsBurned": _cards_burned,
    "CardsExposed": _cards_exposed,
    "ShoeRetired": _retired,
}

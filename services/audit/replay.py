"""A hand step by step, and what each party could see after each step. Pure.

Who sees what, when: the table service what shuffle shows it, once that is on record; players and
onlookers what the table has dealt, once that is; the auditor whatever has been shown to anybody.
Nobody sees a card that lies face down.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from croupier.shuffle.v1 import events_pb2 as shuffle
from croupier.table.v1 import events_pb2 as table
from croupier.type.v1 import card_pb2, sealed_pb2
from google.protobuf.message import DecodeError

from services.audit.verify.findings import Read
from services.audit.words import words_of
from shared.cards import DECK
from shared.events import event_type, to_json
from shared.log import RecordedEvent
from shared.sealing import Keyring, Sealed, UnsealError, card_place, player_audience
from shared.table.sealer import KeyringSealer

PUBLIC = "public"
TABLE = "table"
AUDITOR = "auditor"
FACE_DOWN = "??"


@dataclass(frozen=True, slots=True)
class Step:
    """One event, its body as JSON, words, and the cards by party and hand after it."""

    event: RecordedEvent
    derived: bool
    body_json: str
    text: str
    sights: Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Replay:
    """A hand. `opened` and `ended` are its HandOpened (the last, where it was dealt again) and its
    HandSettled or HandVoided, as far as there are any. `shoe_id` is the shoe that it was played
    from in the end, `proofs` those of all cards of it that were shown, by position."""

    steps: tuple[Step, ...]
    proofs: tuple[card_pb2.CardProof, ...]
    opened: Read | None
    ended: Read | None
    players: tuple[str, ...]
    shoe_id: str


def replay(reads: Sequence[Read], keyring: Keyring | None) -> Replay:
    """All events of a hand (table, shuffle, wallet), in the order in which they were recorded.

    Private cards are opened with `keyring`; without one they stay sealed, and unseen in the
    auditor's sight too.
    """
    opened = next((read for read in reversed(reads) if read.event.type == "HandOpened"), None)
    ended = next((read for read in reads if read.event.type in ("HandSettled", "HandVoided")), None)
    players = _players(reads)
    shoe_ids = [read.body.shoe_id for read in reads if read.event.type in _NAMES_THE_SHOE]
    shoe_id = shoe_ids[-1] if shoe_ids else ""
    board = _Board(players)
    opener = _Opener(keyring)
    steps = []
    proofs: dict[tuple[int, str], card_pb2.CardProof] = {}
    for read in reads:
        board.step(read, opener)
        if read.event.stream == f"shuffle/{shoe_id}":
            proofs.update(_proofs(read, opener))
        steps.append(
            Step(
                read.event,
                event_type(read.event.type).derived,
                json.dumps(opener.body(read), ensure_ascii=False, separators=(",", ":")),
                opener.told(read),
                board.sights(),
            )
        )
    ordered = tuple(proofs[key] for key in sorted(proofs))
    return Replay(tuple(steps), ordered, opened, ended, players, shoe_id)


_NAMES_THE_SHOE = ("HandOpened", "CardsDue", "BettingOpened")


def _proofs(read: Read, opener: _Opener) -> dict[tuple[int, str], card_pb2.CardProof]:
    if read.event.type == "CardsShown":
        return opener.proofs(read)
    if read.event.type in ("CardsBurned", "CardsExposed"):
        return {(proof.position, ""): proof for proof in read.body.open}
    return {}


def _players(reads: Iterable[Read]) -> tuple[str, ...]:
    """Everybody who staked, or tried to."""
    named = {read.body.player for read in reads if read.event.type == "BetPlaced"}
    for read in reads:
        if read.event.type == "HandOpened":
            named |= {bet.player for box in read.body.boxes for bet in box.bets}
            named |= {box.owner for box in read.body.boxes}
    return tuple(sorted(named - {""}))


@dataclass(frozen=True, slots=True)
class _Opener:
    """Opens private cards, for those who may see them all."""

    keyring: Keyring | None

    def proofs(self, read: Read) -> dict[tuple[int, str], card_pb2.CardProof]:
        """The proofs in a CardsShown, by position and viewer, as far as they can be opened."""
        body: shuffle.CardsShown = read.body
        shoe_id = read.event.stream.removeprefix("shuffle/")
        found = {}
        for card in body.cards:
            sealed = card.WhichOneof("value") != "open"
            proof = self._proof(shoe_id, card, body) if sealed else card.open
            if proof is not None:
                found[card.position, card.player] = proof
        return found

    def _proof(
        self, shoe_id: str, card: shuffle.ShownCard, body: shuffle.CardsShown
    ) -> card_pb2.CardProof | None:
        if self.keyring is None:
            return None
        sealed = Sealed(card.sealed.key_id, card.sealed.nonce, card.sealed.ciphertext)
        place = card_place(shoe_id, card.position)
        try:
            return card_pb2.CardProof.FromString(
                self.keyring.unseal_field(sealed, body.hand_id, player_audience(card.player), place)
            )
        except (UnsealError, DecodeError):
            return None

    def dealt(self, card: table.DealtCard, hand_id: str) -> str | None:
        """The value of a card that the table dealt; None where it lies face down or is sealed."""
        if card.card_plus_one:
            return str(DECK[card.card_plus_one - 1])
        if self.keyring is None or not card.HasField("sealed"):
            return None
        sealer = KeyringSealer(self.keyring)
        try:
            return str(DECK[sealer.open(hand_id, card.viewer, card.position, card.sealed)])
        except UnsealError:
            return None

    def note(self, read: Read) -> str:
        """What the house wrote beside the event, as far as it can be opened (TAB-08)."""
        if self.keyring is None or "note" not in read.body.DESCRIPTOR.fields_by_name:
            return ""
        sealed = read.body.note
        if not isinstance(sealed, sealed_pb2.Sealed) or not sealed.ciphertext:
            return ""
        try:
            return KeyringSealer(self.keyring).open_text(read.event.hand_id or "", sealed)
        except UnsealError:
            return ""

    def told(self, read: Read) -> str:
        """The event in words, its note with them."""
        note = self.note(read)
        words = words_of(read.event.type, read.body)
        return f"{words} (“{note}”)" if note else words

    def body(self, read: Read) -> Any:
        """The event's JSON, with `opened` beside each private card, and each note, that could be
        opened."""
        body = to_json(read.body)
        if note := self.note(read):
            body["opened"] = note
        if read.event.type == "CardsShown":
            proofs = self.proofs(read)
            for card in body["cards"]:
                proof = proofs.get((card["position"], card["player"]))
                if card["sealed"] is not None and proof is not None:
                    card["opened"] = to_json(proof)
        elif read.event.type == "CardsDealt":
            for card, message in zip(body["cards"], read.body.cards, strict=True):
                if card["sealed"] is not None:
                    card["opened"] = self.dealt(message, read.event.hand_id or "")
        return body


@dataclass(slots=True)
class _Board:
    """What lies where, and who has seen it."""

    players: Sequence[str]
    shoe_id: str = ""
    due: dict[int, str] = field(default_factory=dict)
    """The hand that each position goes to."""
    laid: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    """By party and hand: positions, in the order they came."""
    seen: dict[tuple[str, int], str] = field(default_factory=dict)
    """By party and position: the card, where the party has seen it."""

    def step(self, read: Read, opener: _Opener) -> None:
        """What an event puts on the table, or shows."""
        match read.event.type:
            case "CardsDue":
                if read.body.shoe_id != self.shoe_id:
                    # The first cards, or the hand is dealt again: what lay there is gone.
                    self.shoe_id = read.body.shoe_id
                    self.laid, self.seen = {}, {}
                self.due.update({slot.position: slot.hand for slot in read.body.slots})
            case "CardsTaken":
                for position in read.body.positions:
                    self._lay((TABLE, AUDITOR), position)
            case "CardsBurned":
                for position in read.body.positions:
                    self._lay((TABLE, AUDITOR), position)
                for proof in read.body.open:
                    self._show((TABLE, AUDITOR), proof.position, proof.card)
            case "CardsExposed":
                for proof in read.body.open:
                    self._show((TABLE, AUDITOR), proof.position, proof.card)
            case "CardsShown":
                proofs = opener.proofs(read)
                for card in read.body.cards:
                    proof = proofs.get((card.position, card.player))
                    self._show(
                        (TABLE, AUDITOR), card.position, proof.card if proof is not None else None
                    )
            case "CardsDealt":
                for card in read.body.cards:
                    self._dealt(card, opener.dealt(card, read.event.hand_id or ""))
            case _:
                pass

    def sights(self) -> dict[str, dict[str, str]]:
        """By party: the cards of each hand as it sees them now."""
        parties = (PUBLIC, *(f"player:{player}" for player in self.players), TABLE, AUDITOR)
        return {
            party: {
                hand: " ".join(self.seen.get((party, position), FACE_DOWN) for position in laid)
                for hand, laid in self.laid.get(party, {}).items()
            }
            for party in parties
        }

    def _dealt(self, card: table.DealtCard, value: str | None) -> None:
        everybody = (PUBLIC, *(f"player:{player}" for player in self.players))
        self.due[card.position] = card.hand
        self._show(everybody, card.position, value if card.face == table.FACE_UP else None)
        if card.face == table.FACE_OWNER:
            self._show((f"player:{card.viewer}",), card.position, value)

    def _show(self, parties: Iterable[str], position: int, card: str | None) -> None:
        self._lay(parties, position)
        if card is not None:
            self.seen.update({(party, position): card for party in parties})

    def _lay(self, parties: Iterable[str], position: int) -> None:
        hand = self.due.get(position, "?")
        for party in parties:
            places = self.laid.setdefault(party, {}).setdefault(hand, [])
            if position not in places:
                places.append(position)

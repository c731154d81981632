"""Events of a shoe as the log holds them: to protobuf, with cards that may be seen, and back."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from croupier.shuffle.v1 import events_pb2 as pb
from croupier.type.v1 import card_pb2, sealed_pb2
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from services.shuffle.shoe import (
    CardsBurned,
    CardsExposed,
    CardsShown,
    CardsTaken,
    CutCardReached,
    Event,
    Purpose,
    RetireReason,
    SeedCommitted,
    SeedOpened,
    SeedReused,
    ShoeClaimed,
    ShoeCut,
    ShoeDisclosed,
    ShoeOpened,
    ShoeRetired,
    ShoeSealed,
    Showing,
)
from shared.proofs.sealed_shoe import SealedShoe
from shared.sealing import Keyring, card_place, player_audience


class Writer:
    """Turns events into messages. `cards` is the sealed shoe, needed where any are shown."""

    def __init__(self, shoe_id: str, cards: SealedShoe | None, keys: Keyring) -> None:
        self._shoe_id = shoe_id
        self._cards = cards
        self._keys = keys

    def message(self, event: Event) -> Message:
        """The message of `event`; its name is the event's type in the log."""
        match event:
            case CardsShown(cards, hand_id, epoch):
                shown = [self._shown(card, hand_id) for card in cards]
                return pb.CardsShown(cards=shown, hand_id=hand_id, epoch=epoch)
            case CardsTaken(positions, hand_id, epoch):
                return pb.CardsTaken(positions=positions, hand_id=hand_id, epoch=epoch)
            case CardsBurned(down, up, hand_id, epoch):
                return pb.CardsBurned(
                    positions=down, open=self._proofs(up), hand_id=hand_id, epoch=epoch
                )
            case CardsExposed(positions, hand_id, epoch):
                return pb.CardsExposed(open=self._proofs(positions), hand_id=hand_id, epoch=epoch)
            case ShoeOpened():
                return pb.ShoeOpened(
                    shoe_id=event.shoe_id,
                    table_id=event.table_id,
                    epoch=event.epoch,
                    decks=event.decks,
                    scheme=event.scheme,
                    commitment=event.commitment,
                    cut_min_top=event.cut_min_top,
                    cut_min_bottom=event.cut_min_bottom,
                    behind_cut_card=event.behind_cut_card,
                    publish=event.publish,
                    at=_timestamp(event.at),
                )
            case SeedCommitted(player, commitment, epoch):
                return pb.SeedCommitted(player=player, commitment=commitment, epoch=epoch)
            case ShoeCut(by, at, epoch):
                return pb.ShoeCut(by=by, at=at, epoch=epoch)
            case SeedOpened(player, seed, epoch):
                return pb.SeedOpened(player=player, seed=seed, epoch=epoch)
            case SeedReused(player, epoch):
                return pb.SeedReused(player=player, epoch=epoch)
            case ShoeSealed(root, used, withheld, epoch):
                return pb.ShoeSealed(root=root, used=used, withheld=withheld, epoch=epoch)
            case CutCardReached(position):
                return pb.CutCardReached(position=position)
            case ShoeClaimed(epoch):
                return pb.ShoeClaimed(epoch=epoch)
            case ShoeRetired():
                return pb.ShoeRetired(
                    retire_reason=pb.RetireReason.ValueType(event.reason.value),
                    server_seed=event.server_seed,
                    dealt_to=event.dealt_to,
                    burned=event.burned,
                    exposed=event.exposed,
                    epoch=event.epoch,
                    at=_timestamp(event.at),
                )
            case _:
                return pb.ShoeDisclosed(
                    purpose=pb.DisclosurePurpose.ValueType(event.purpose.value),
                    to=event.to,
                    why=event.why,
                    at=_timestamp(event.at),
                )

    def _shown(self, card: Showing, hand_id: str) -> pb.ShownCard:
        proof = self.proof(card.position)
        if not card.player:
            return pb.ShownCard(position=card.position, open=proof)
        sealed = self._keys.seal_field(
            proof.SerializeToString(deterministic=True),
            hand_id,
            player_audience(card.player),
            card_place(self._shoe_id, card.position),
        )
        return pb.ShownCard(
            position=card.position,
            player=card.player,
            sealed=sealed_pb2.Sealed(
                key_id=sealed.key_id, nonce=sealed.nonce, ciphertext=sealed.ciphertext
            ),
        )

    def _proofs(self, positions: Iterable[int]) -> list[card_pb2.CardProof]:
        return [self.proof(position) for position in positions]

    def proof(self, position: int) -> card_pb2.CardProof:
        """The card at `position` with salt and path, in the clear."""
        assert self._cards is not None
        shown = self._cards.show(position)
        return card_pb2.CardProof(
            position=position, card=str(shown.card), salt=shown.salt, path=shown.path
        )


def read(name: str, payload: bytes) -> Event:
    """The event that the log holds as `name`; values of cards are left where they are."""
    match name:
        case "ShoeOpened":
            opened = pb.ShoeOpened.FromString(payload)
            return ShoeOpened(
                opened.shoe_id,
                opened.table_id,
                opened.epoch,
                opened.decks,
                opened.scheme,
                opened.commitment,
                opened.cut_min_top,
                opened.cut_min_bottom,
                opened.behind_cut_card,
                opened.publish,
                _moment(opened.at),
            )
        case "SeedCommitted":
            committed = pb.SeedCommitted.FromString(payload)
            return SeedCommitted(committed.player, committed.commitment, committed.epoch)
        case "ShoeCut":
            cut = pb.ShoeCut.FromString(payload)
            return ShoeCut(cut.by, cut.at, cut.epoch)
        case "SeedOpened":
            seed = pb.SeedOpened.FromString(payload)
            return SeedOpened(seed.player, seed.seed, seed.epoch)
        case "SeedReused":
            again = pb.SeedReused.FromString(payload)
            return SeedReused(again.player, again.epoch)
        case "ShoeSealed":
            sealed = pb.ShoeSealed.FromString(payload)
            return ShoeSealed(sealed.root, tuple(sealed.used), tuple(sealed.withheld), sealed.epoch)
        case "CardsTaken":
            taken = pb.CardsTaken.FromString(payload)
            return CardsTaken(tuple(taken.positions), taken.hand_id, taken.epoch)
        case "CardsShown":
            shown = pb.CardsShown.FromString(payload)
            cards = tuple(Showing(card.position, card.player) for card in shown.cards)
            return CardsShown(cards, shown.hand_id, shown.epoch)
        case "CardsBurned":
            burned = pb.CardsBurned.FromString(payload)
            up = tuple(card.position for card in burned.open)
            return CardsBurned(tuple(burned.positions), up, burned.hand_id, burned.epoch)
        case "CardsExposed":
            exposed = pb.CardsExposed.FromString(payload)
            positions = tuple(card.position for card in exposed.open)
            return CardsExposed(positions, exposed.hand_id, exposed.epoch)
        case "CutCardReached":
            return CutCardReached(pb.CutCardReached.FromString(payload).position)
        case "ShoeClaimed":
            return ShoeClaimed(pb.ShoeClaimed.FromString(payload).epoch)
        case "ShoeRetired":
            retired = pb.ShoeRetired.FromString(payload)
            return ShoeRetired(
                RetireReason(retired.retire_reason),
                retired.server_seed,
                retired.dealt_to,
                tuple(retired.burned),
                tuple(retired.exposed),
                retired.epoch,
                _moment(retired.at),
            )
        case "ShoeDisclosed":
            disclosed = pb.ShoeDisclosed.FromString(payload)
            return ShoeDisclosed(
                Purpose(disclosed.purpose), disclosed.to, disclosed.why, _moment(disclosed.at)
            )
        case _:
            raise ValueError(f"no event of a shoe is called {name!r}")


def _timestamp(moment: datetime) -> Timestamp:
    stamp = Timestamp()
    stamp.FromDatetime(moment)
    return stamp


def _moment(stamp: Timestamp) -> datetime:
    return stamp.ToDatetime(tzinfo=UTC)

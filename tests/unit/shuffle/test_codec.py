"""Events of a shoe in the log: nothing lost on the way, nothing told that was not to be seen."""

from __future__ import annotations

from enum import Enum
from typing import get_args

import pytest
from croupier.event.v1 import event_pb2
from croupier.shuffle.v1 import events_pb2, shuffle_pb2
from croupier.type.v1.card_pb2 import CardProof

from services.shuffle.codec import Writer, read
from services.shuffle.shoe import (
    CardsBurned,
    CardsExposed,
    CardsShown,
    CardsTaken,
    CutCardReached,
    Event,
    Phase,
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
    Use,
)
from shared.cards import parse_card
from shared.proofs.sealed_shoe import SealedShoe
from shared.proofs.shown_card import ShownCard, shown_card_holds
from shared.sealing import Keyring, Sealed, UnsealError, card_place, player_audience
from tests.unit.shuffle.given import NOW

KEYS = Keyring("k1", {"k1": bytes(range(32))})
CARDS = SealedShoe(bytes(32), "shoe-1", [], 1, 20)
WRITER = Writer("shoe-1", CARDS, KEYS)

EVENTS: list[Event] = [
    ShoeOpened("shoe-1", "table-1", 3, 8, 1, b"c" * 32, 1, 2, 7, True, NOW),
    SeedCommitted("ann", b"h" * 32, 3),
    ShoeCut("ann", 20, 3),
    SeedOpened("ann", b"s" * 16, 3),
    SeedReused("bob", 3),
    ShoeSealed(b"r" * 32, ("ann",), ("bob",), 3),
    CardsTaken((3, 5), "hand-1", 3),
    CardsShown((Showing(1, ""), Showing(2, "ann")), "hand-1", 3),
    CardsBurned((7,), (6, 8), "hand-1", 3),
    CardsExposed((9,), "hand-1", 3),
    CutCardReached(45),
    ShoeClaimed(4),
    ShoeRetired(RetireReason.REDEAL, b"s" * 32, 10, (6, 7, 8), (9,), 4, NOW),
    ShoeDisclosed(Purpose.PERSON, "inspector", "complaint 17", NOW),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_event_comes_back_as_it_was(event: Event) -> None:
    payload = WRITER.message(event).SerializeToString()
    assert read(type(event).__name__, payload) == event


def test_every_event_is_known_here_and_marked_in_its_proto() -> None:
    names = {kind.__name__ for kind in get_args(Event)}
    assert names == {type(event).__name__ for event in EVENTS}
    marked = {
        name
        for name, message in events_pb2.DESCRIPTOR.message_types_by_name.items()
        if message.GetOptions().Extensions[event_pb2.kind] != event_pb2.KIND_UNSPECIFIED
    }
    assert marked == names


def test_an_unknown_event_is_not_read() -> None:
    with pytest.raises(ValueError, match="ShoeEaten"):
        read("ShoeEaten", b"")


@pytest.mark.parametrize(
    ("words", "prefix", "on_the_wire"),
    [
        (Use, "USE_", shuffle_pb2.Use.items()),
        (Phase, "SHOE_PHASE_", shuffle_pb2.ShoePhase.items()),
        (RetireReason, "RETIRE_REASON_", events_pb2.RetireReason.items()),
        (Purpose, "DISCLOSURE_PURPOSE_", events_pb2.DisclosurePurpose.items()),
    ],
)
def test_words_mean_the_same_here_and_on_the_wire(
    words: type[Enum], prefix: str, on_the_wire: list[tuple[str, int]]
) -> None:
    here = {prefix + word.name: word.value for word in words}
    assert here | {prefix + "UNSPECIFIED": 0} == dict(on_the_wire)


def holds(proof: CardProof) -> bool:
    shown = ShownCard(proof.position, parse_card(proof.card), proof.salt, tuple(proof.path))
    return shown_card_holds(CARDS.root, "shoe-1", 52, shown)


def test_an_open_card_stands_with_its_proof() -> None:
    message = WRITER.message(CardsShown((Showing(1, ""),), "hand-1", 3))
    assert isinstance(message, events_pb2.CardsShown)
    [card] = message.cards
    assert card.open.position == 1
    assert card.open.card == str(CARDS.show(1).card)
    assert holds(card.open)


def test_a_private_card_is_sealed_for_its_player_and_hand() -> None:
    message = WRITER.message(CardsShown((Showing(2, "ann"),), "hand-1", 3))
    assert isinstance(message, events_pb2.CardsShown)
    [card] = message.cards
    shown = CARDS.show(2)
    payload = message.SerializeToString()
    assert shown.salt not in payload
    assert str(shown.card).encode() not in payload
    assert card.WhichOneof("value") == "sealed"
    sealed = Sealed(card.sealed.key_id, card.sealed.nonce, card.sealed.ciphertext)
    place = card_place("shoe-1", 2)
    proof = CardProof.FromString(KEYS.unseal_field(sealed, "hand-1", player_audience("ann"), place))
    assert holds(proof)
    assert proof.position == 2
    with pytest.raises(UnsealError):
        KEYS.unseal_field(sealed, "hand-1", player_audience("bob"), place)


def test_cards_nobody_sees_leave_positions_only() -> None:
    for event in (CardsTaken((3, 5), "hand-1", 3), CardsBurned((3, 5), (), "hand-1", 3)):
        payload = WRITER.message(event).SerializeToString()
        for position in (3, 5):
            assert CARDS.show(position).salt not in payload
        assert Writer("shoe-1", None, KEYS).message(event).SerializeToString() == payload

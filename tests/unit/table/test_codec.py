"""Events of a table as bytes: nothing is lost, private cards are sealed for their viewer."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from croupier.event.v1 import event_pb2
from croupier.table.v1 import events_pb2

from shared.cards import DECK, parse_card
from shared.games.play import Face
from shared.sealing import Keyring, UnsealError
from shared.table import events as e
from shared.table.codec import EVENT_TYPES, INPUT_TYPES, TableCodec, microseconds, timestamp
from shared.table.sealer import KeyringSealer
from tests.unit.table.story import START, Story

KEYS = Keyring("k1", {"k1": bytes(range(32))})
CODEC = TableCodec(KeyringSealer(KEYS))
_MADE_BY_THE_CODEC = {"DealtCard": {"card": ("card_plus_one", "sealed")}}


def _nested(kind: type[Any]) -> list[type[Any]]:
    found = [kind]
    module = vars(e)
    for field in dataclasses.fields(kind):
        name = str(field.type).removeprefix("tuple[").partition(",")[0]
        if name in module and dataclasses.is_dataclass(module[name]):
            found.extend(_nested(module[name]))
    return found


@pytest.mark.parametrize("name", sorted(EVENT_TYPES))
def test_an_event_and_its_message_have_the_same_fields(name: str) -> None:
    for kind in _nested(EVENT_TYPES[name]):
        made = _MADE_BY_THE_CODEC.get(kind.__name__, {})
        fields: set[str] = set()
        for field in dataclasses.fields(kind):
            fields.update(made.get(field.name, (field.name,)))
        message = getattr(events_pb2, kind.__name__).DESCRIPTOR
        assert fields == set(message.fields_by_name)


@pytest.mark.parametrize("name", sorted(EVENT_TYPES))
def test_an_event_is_marked_as_what_it_is(name: str) -> None:
    options = getattr(events_pb2, name).DESCRIPTOR.GetOptions()
    marked = options.Extensions[event_pb2.kind]
    expected = event_pb2.KIND_INPUT if name in INPUT_TYPES else event_pb2.KIND_DERIVED
    assert marked == expected


def test_every_message_that_is_marked_is_an_event() -> None:
    marked = {
        name
        for name, message in events_pb2.DESCRIPTOR.message_types_by_name.items()
        if message.GetOptions().Extensions[event_pb2.kind] != event_pb2.KIND_UNSPECIFIED
    }
    assert marked == set(EVENT_TYPES)


def test_all_events_of_a_coup_survive_the_log() -> None:
    story = Story(chips=("ann", "bob"))
    story.hand(("ann", 1, "banker", 1_000), ("bob", 2, "tie", 50))
    assert len({type(event) for event in story.log}) > 15
    for event in story.log:
        payload = CODEC.encode(event, "t1-3")
        assert CODEC.decode(type(event).__name__, payload, "t1-3") == event


def test_a_private_card_is_sealed_and_opens_only_where_it_belongs() -> None:
    card = e.DealtCard(5, "box1", Face.OWNER, "ann", parse_card("As"))
    event = e.CardsDealt("r", (card, e.DealtCard(6, "dealer", Face.DOWN)), START)
    payload = CODEC.encode(event, "h1")
    message = events_pb2.CardsDealt.FromString(payload)
    assert message.cards[0].card_plus_one == 0
    assert len(message.cards[0].sealed.ciphertext) == 1 + 16
    assert not message.cards[1].HasField("sealed")
    assert CODEC.decode("CardsDealt", payload, "h1") == event
    with pytest.raises(UnsealError):
        CODEC.decode("CardsDealt", payload, "h2")
    message.cards[0].viewer = "bob"
    with pytest.raises(UnsealError):
        CODEC.decode("CardsDealt", message.SerializeToString(), "h1")


def test_the_same_private_card_never_looks_the_same() -> None:
    card = e.DealtCard(5, "box1", Face.OWNER, "ann", DECK[0])
    event = e.CardsDealt("r", (card,), START)
    assert CODEC.encode(event, "h1") != CODEC.encode(event, "h1")


@pytest.mark.parametrize(
    "event",
    [
        e.TableClosing("op", "a word about ann", START),
        e.IncidentReported("pit", "wrong_order", 3, "a word about ann", START, True),
        e.HandRuledVoid("pit", "a word about ann", START),
        e.PenaltyGiven("pit", "p1", "warning", 0, "a word about ann", START),
    ],
)
def test_free_text_is_sealed_for_the_house(event: Any) -> None:
    payload = CODEC.encode(event, "h1")
    assert b"ann" not in payload
    name = type(event).__name__
    assert CODEC.decode(name, payload, "h1") == event
    with pytest.raises(UnsealError):
        CODEC.decode(name, payload, "h2")
    bare = dataclasses.replace(event, note="")
    assert CODEC.decode(name, CODEC.encode(bare, "h1"), "h1") == bare


def test_an_event_of_a_later_version_is_not_guessed() -> None:
    with pytest.raises(KeyError):
        CODEC.decode("CardsJuggled", b"", "")


@pytest.mark.parametrize("moment", [0, 1, START, START + 999_999])
def test_times_keep_their_microseconds(moment: int) -> None:
    assert microseconds(timestamp(moment)) == moment

"""Events of a table as bytes of the log and back.

A private card is sealed on the way out and opened on the way in, so that the pure core has it in
the clear and the database, the bus and the wallet never do (architecture, 3, sealed fields).
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from croupier.table.v1 import events_pb2
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from shared.cards import DECK
from shared.games.play import Face
from shared.table import events as e

_FACES = {Face.UP: 1, Face.DOWN: 2, Face.OWNER: 3}
_FACES_BACK = {number: face for face, number in _FACES.items()}


class Sealer(Protocol):
    """Seals and opens private cards, each of a hand for one viewer, and free text, for the house
    and its auditors (`shared.table.sealer`)."""

    def seal(self, hand_id: str, viewer: str, position: int, card: int) -> Message: ...
    def open(self, hand_id: str, viewer: str, position: int, sealed: Any) -> int: ...
    def seal_text(self, hand_id: str, text: str) -> Message: ...
    def open_text(self, hand_id: str, sealed: Any) -> str: ...


def timestamp(microseconds: int) -> Timestamp:
    """Microseconds since 1970 as a protobuf timestamp."""
    seconds, rest = divmod(microseconds, 1_000_000)
    return Timestamp(seconds=seconds, nanos=rest * 1000)


def microseconds(stamp: Timestamp) -> int:
    """A protobuf timestamp as microseconds since 1970."""
    return stamp.seconds * 1_000_000 + stamp.nanos // 1000


EVENT_TYPES: Mapping[str, type[Any]] = {
    kind.__name__: kind for kind in (*typing.get_args(e.Input), *typing.get_args(e.Derived))
}
"""Every event of a table by its name."""

INPUT_TYPES: frozenset[str] = frozenset(kind.__name__ for kind in typing.get_args(e.Input))


_WITH_NOTE = (e.TableClosing, e.IncidentReported, e.HandRuledVoid, e.PenaltyGiven)


def to_message(event: Any) -> Any:
    """The message of `croupier.table.v1` that says the same as the dataclass. Private cards and
    free text are left out: `TableCodec` seals them."""
    return _WRITE[type(event)](event)


def from_message(kind: type[Any], message: Any) -> Any:
    """The dataclass that says the same as the message; see `to_message`."""
    return _READ[kind](message)


class TableCodec:
    """Encodes and decodes a table's events; `sealer` holds the deployment key."""

    def __init__(self, sealer: Sealer) -> None:
        self._sealer = sealer

    def message(self, event: e.Event, hand_id: str) -> Any:
        """The event as the log's message, private cards sealed for their viewers."""
        message = to_message(event)
        if isinstance(event, e.CardsDealt):
            for card, out in zip(event.cards, message.cards, strict=True):
                if card.face is Face.OWNER and card.card is not None:
                    out.sealed.CopyFrom(
                        self._sealer.seal(hand_id, card.viewer, card.position, card.card)
                    )
        elif isinstance(event, _WITH_NOTE) and event.note:
            message.note.CopyFrom(self._sealer.seal_text(hand_id, event.note))
        return message

    def encode(self, event: e.Event, hand_id: str) -> bytes:
        """The event's payload in the log."""
        payload: bytes = self.message(event, hand_id).SerializeToString(deterministic=True)
        return payload

    def decode(self, type_name: str, payload: bytes, hand_id: str) -> e.Event:
        """The event of a payload; `KeyError` for a type this version does not know."""
        message = getattr(events_pb2, type_name).FromString(payload)
        event = from_message(EVENT_TYPES[type_name], message)
        if isinstance(event, e.CardsDealt):
            event = dataclasses.replace(
                event,
                cards=tuple(
                    self._opened(card, raw, hand_id)
                    for card, raw in zip(event.cards, message.cards, strict=True)
                ),
            )
        elif isinstance(event, _WITH_NOTE) and message.HasField("note"):
            note = self._sealer.open_text(hand_id, message.note)
            event = dataclasses.replace(event, note=note)
        return typing.cast("e.Event", event)

    def _opened(self, card: e.DealtCard, raw: Any, hand_id: str) -> e.DealtCard:
        if not raw.HasField("sealed"):
            return card
        code = self._sealer.open(hand_id, card.viewer, card.position, raw.sealed)
        return dataclasses.replace(card, card=DECK[code])


def _write_card(card: e.DealtCard) -> Any:
    shown = card.card is not None and card.face is Face.UP
    return events_pb2.DealtCard(
        position=card.position,
        hand=card.hand,
        face=_FACES[card.face],  # type: ignore[arg-type]
        viewer=card.viewer,
        card_plus_one=int(card.card) + 1 if shown and card.card is not None else 0,
    )


def _read_card(message: Any) -> e.DealtCard:
    return e.DealtCard(
        position=message.position,
        hand=message.hand,
        face=_FACES_BACK[message.face],
        viewer=message.viewer,
        card=DECK[message.card_plus_one - 1] if message.card_plus_one else None,
    )


_WRITE: dict[type[Any], Callable[[Any], Any]] = {e.DealtCard: _write_card}
_READ: dict[type[Any], Callable[[Any], Any]] = {e.DealtCard: _read_card}


def _same(value: Any) -> Any:
    return value


def _left_out(value: Any) -> None:
    """A sealed field of a message that nobody has sealed yet."""


def _unread(value: Any) -> str:
    return ""


def _field_codec(
    message: Any, name: str, hint: Any
) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """How one field is written and read, by its type and that of the message's field."""
    if isinstance(hint, types.GenericAlias) and typing.get_origin(hint) is tuple:
        item = typing.get_args(hint)[0]
        write, read = _value_codec(item)
        if write is _same:
            return list, tuple
        return (
            lambda values: [write(value) for value in values],
            lambda values: tuple(read(value) for value in values),
        )
    kind = message.DESCRIPTOR.fields_by_name[name].message_type
    if kind is not None and kind.full_name == "google.protobuf.Timestamp":
        return timestamp, microseconds
    if kind is not None and kind.full_name == "croupier.type.v1.Sealed":
        return _left_out, _unread
    return _value_codec(hint)


def _value_codec(hint: Any) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    if hint is Face:
        return _FACES.__getitem__, _FACES_BACK.__getitem__
    if dataclasses.is_dataclass(hint):
        kind = typing.cast("type[Any]", hint)
        if kind not in _WRITE:
            _add(kind)
        return _WRITE[kind], _READ[kind]
    return _same, _same


def _add(kind: type[Any]) -> None:
    message = getattr(events_pb2, kind.__name__)
    hints = typing.get_type_hints(kind)
    fields = [
        (field.name, *_field_codec(message, field.name, hints[field.name]))
        for field in dataclasses.fields(kind)
    ]
    writers = tuple((name, write) for name, write, _ in fields)
    readers = tuple((name, read) for name, _, read in fields)

    def write_event(event: Any) -> Any:
        return message(**{name: write(getattr(event, name)) for name, write in writers})

    def read_event(raw: Any) -> Any:
        return kind(**{name: read(getattr(raw, name)) for name, read in readers})

    _WRITE[kind] = write_event
    _READ[kind] = read_event


for _kind in EVENT_TYPES.values():
    _add(_kind)

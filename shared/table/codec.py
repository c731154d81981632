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
    message = getattr(events_pb2, type(event).__name__)()
    write(event, message)
    return message


def write(event: Any, into: Any) -> None:
    """The same into a message that is there already, and empty."""
    _WRITE[type(event)](event, into)


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
        kind = EVENT_TYPES[type_name]
        message = getattr(events_pb2, type_name).FromString(payload)
        event: e.Event = from_message(kind, message)
        if isinstance(event, e.CardsDealt):
            if any(raw.HasField("sealed") for raw in message.cards):
                pairs = zip(event.cards, message.cards, strict=True)
                cards = tuple([self._opened(card, raw, hand_id) for card, raw in pairs])
                event = dataclasses.replace(event, cards=cards)
        elif isinstance(event, _WITH_NOTE) and message.HasField("note"):
            note = self._sealer.open_text(hand_id, message.note)
            event = dataclasses.replace(event, note=note)
        return event

    def _opened(self, card: e.DealtCard, raw: Any, hand_id: str) -> e.DealtCard:
        if not raw.HasField("sealed"):
            return card
        code = self._sealer.open(hand_id, card.viewer, card.position, raw.sealed)
        return dataclasses.replace(card, card=DECK[code])


# ---- One function a type that writes an event into its message, one that reads it, made from the
# ---- dataclass as `dataclasses` itself makes its methods: going through the fields of each event
# ---- anew took a third of what it costs to append and to tell of it.

_Write = Callable[[Any, Any], None]
_Read = Callable[[Any], Any]


def _write_card(card: e.DealtCard, into: Any) -> None:
    into.position = card.position
    into.hand = card.hand
    into.face = _FACES[card.face]
    into.viewer = card.viewer
    if card.card is not None and card.face is Face.UP:
        into.card_plus_one = card.card + 1


def _read_card(message: Any) -> e.DealtCard:
    return e.DealtCard(
        message.position,
        message.hand,
        _FACES_BACK[message.face],
        message.viewer,
        DECK[message.card_plus_one - 1] if message.card_plus_one else None,
    )


_WRITE: dict[type[Any], _Write] = {e.DealtCard: _write_card}
_READ: dict[type[Any], _Read] = {e.DealtCard: _read_card}


def _lines(kind: type[Any], names: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The statements that write each field of `event` into the message `into`, and the
    expressions that read it from the message `raw`; what they call goes into `names`."""
    message = getattr(events_pb2, kind.__name__)
    hints = typing.get_type_hints(kind)
    writes, reads = [], []
    for field in dataclasses.fields(kind):
        write, read = _line(message, field.name, hints[field.name], names)
        writes.append(write)
        reads.append(read)
    return writes, reads


def _line(message: Any, name: str, hint: Any, names: dict[str, Any]) -> tuple[str, str]:
    inner = message.DESCRIPTOR.fields_by_name[name].message_type
    full_name = None if inner is None else inner.full_name
    if full_name == "croupier.type.v1.Sealed":
        return "pass", "''"  # `TableCodec` seals and opens it
    if full_name == "google.protobuf.Timestamp":
        return (
            f"seconds, rest = divmod(event.{name}, 1000000); stamp = into.{name}; "
            "stamp.seconds = seconds; stamp.nanos = rest * 1000",
            f"raw.{name}.seconds * 1000000 + raw.{name}.nanos // 1000",
        )
    if hint is Face:
        return f"into.{name} = _FACES[event.{name}]", f"_FACES_BACK[raw.{name}]"
    if isinstance(hint, types.GenericAlias) and typing.get_origin(hint) is tuple:
        item = typing.get_args(hint)[0]
        if not dataclasses.is_dataclass(item):
            return f"into.{name}.extend(event.{name})", f"tuple(raw.{name})"
        write, read = _named(typing.cast("type[Any]", item), names)
        return (
            f"for item in event.{name}: {write}(item, into.{name}.add())",
            f"tuple([{read}(item) for item in raw.{name}])",
        )
    if dataclasses.is_dataclass(hint):
        write, read = _named(typing.cast("type[Any]", hint), names)
        return f"{write}(event.{name}, into.{name})", f"{read}(raw.{name})"
    return f"into.{name} = event.{name}", f"raw.{name}"


def _named(kind: type[Any], names: dict[str, Any]) -> tuple[str, str]:
    """The names of the functions for a dataclass inside another."""
    if kind not in _WRITE:
        _add(kind)
    write, read = f"_write_{kind.__name__}", f"_read_{kind.__name__}"
    names[write], names[read] = _WRITE[kind], _READ[kind]
    return write, read


def _add(kind: type[Any]) -> None:
    names: dict[str, Any] = {"kind": kind, "_FACES": _FACES, "_FACES_BACK": _FACES_BACK}
    writes, reads = _lines(kind, names)
    body = "\n    ".join(writes or ["pass"])
    source = f"def write(event, into):\n    {body}\ndef read(raw):\n    return kind("
    exec(source + ", ".join(reads) + ")", names)
    _WRITE[kind], _READ[kind] = names["write"], names["read"]


for _kind in EVENT_TYPES.values():
    _add(_kind)

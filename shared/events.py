"""Every kind of event that the log may hold: its message, where it comes from, its body as JSON.

The registry is read off the descriptors of the `events.proto` files, so that a new event is known
here as soon as it is in its proto.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC
from types import ModuleType
from typing import Any, cast

from croupier.audit.v1 import events_pb2 as audit_events
from croupier.event.v1 import event_pb2
from croupier.shuffle.v1 import events_pb2 as shuffle_events
from croupier.table.v1 import events_pb2 as table_events
from croupier.wallet.v1 import events_pb2 as wallet_events
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.timestamp_pb2 import Timestamp

from shared.cards import DECK

_FILES: Mapping[str, ModuleType] = {
    "table": table_events,
    "shuffle": shuffle_events,
    "wallet": wallet_events,
    "audit": audit_events,
}

Json = dict[str, Any]


class UnknownEventError(Exception):
    """This version of the software has no event of that name."""


class UnreadableEventError(Exception):
    """The payload is not a message of its type."""


@dataclass(frozen=True, slots=True)
class EventType:
    """One kind of event. `derived` events follow from the inputs before them (event.proto)."""

    name: str
    category: str
    message: type[Message]
    derived: bool


def _registry(files: Mapping[str, ModuleType]) -> dict[str, EventType]:
    types: dict[str, EventType] = {}
    for category, module in files.items():
        for name, descriptor in module.DESCRIPTOR.message_types_by_name.items():
            kind = descriptor.GetOptions().Extensions[event_pb2.kind]
            if kind == event_pb2.KIND_UNSPECIFIED:
                continue  # Not an event: a part of one.
            if name in types:
                raise ValueError(f"{name} is an event of {types[name].category} and of {category}")
            derived = kind == event_pb2.KIND_DERIVED
            types[name] = EventType(name, category, GetMessageClass(descriptor), derived)
    return types


EVENT_TYPES: Mapping[str, EventType] = _registry(_FILES)
"""By event type name, over all categories."""


def event_type(name: str) -> EventType:
    """What is known of the events called `name`; `UnknownEventError` where there are none."""
    known = EVENT_TYPES.get(name)
    if known is None:
        raise UnknownEventError(f"unknown event type {name!r}")
    return known


def decode(name: str, payload: bytes) -> Any:
    """The message in the payload of an event of type `name`.

    Raises `UnknownEventError`, or `UnreadableEventError` where the bytes are no such message.
    """
    message = event_type(name).message()
    try:
        message.ParseFromString(payload)
    except DecodeError as error:
        raise UnreadableEventError(f"the payload is no {name}") from error
    return message


def to_json(message: Message) -> Json:
    """A message as a JSON object, for people and for SQL.

    All fields are there, under their names in the proto; what is unset is null, "", 0, false or
    empty. 64-bit integers are numbers, bytes hexadecimal, times RFC 3339 in UTC with microseconds,
    enum values their names, and `card_plus_one` becomes `card`: "Td", or null where there is no
    value. Sealed fields stay sealed.
    """
    return _writer(cast(Descriptor, message.DESCRIPTOR))(message)


_Writer = Callable[[Any], Json]
_Value = Callable[[Any], Any]
_Getter = Callable[[Any], Any]

_writers: dict[Descriptor, _Writer] = {}


def _writer(descriptor: Descriptor) -> _Writer:
    writer = _writers.get(descriptor)
    if writer is None:
        parts = tuple(_part(field) for field in descriptor.fields)

        def writer(message: Any) -> Json:
            return {name: get(message) for name, get in parts}

        _writers[descriptor] = writer
    return writer


def _part(field: FieldDescriptor) -> tuple[str, _Getter]:
    name = field.name
    if name == "card_plus_one":
        return "card", lambda message: _card(getattr(message, name))
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        value = _value(field.message_type.fields_by_name["value"])
        return name, lambda message: {
            str(key): value(item) for key, item in sorted(getattr(message, name).items())
        }
    value = _value(field)
    if field.is_repeated:
        return name, lambda message: [value(item) for item in getattr(message, name)]
    if field.message_type is not None:
        return (
            name,
            lambda message: value(getattr(message, name)) if message.HasField(name) else None,
        )
    return name, lambda message: value(getattr(message, name))


def _value(field: FieldDescriptor) -> _Value:
    if field.message_type is Timestamp.DESCRIPTOR:
        return _time
    if field.message_type is not None:
        return _writer(field.message_type)
    if field.enum_type is not None:
        names = {value.number: value.name for value in field.enum_type.values}
        return lambda number: names.get(number, number)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return bytes.hex
    return _as_it_is


def _as_it_is(value: Any) -> Any:
    return value


def _card(card_plus_one: int) -> str | None:
    return str(DECK[card_plus_one - 1]) if card_plus_one else None


def _time(stamp: Timestamp) -> str:
    moment = stamp.ToDatetime(UTC)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")

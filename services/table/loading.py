"""A table out of its stream."""

from __future__ import annotations

from collections.abc import Iterable

from croupier.table.v1 import events_pb2

from shared.errors import CroupierError
from shared.games.registry import GAMES
from shared.log import EventLog, RecordedEvent
from shared.sealing import UnsealError
from shared.table.codec import EVENT_TYPES, TableCodec
from shared.table.evolve import evolve
from shared.table.state import TableState

READ_AT_ONCE = 5_000
EMPTY = TableState()


class NotKnownError(CroupierError):
    """A table whose rules or events are of a later version than this node, or sealed with a key
    that it has not: it is left to those that know them."""

    def __init__(self, what: str) -> None:
        super().__init__("NO_OWNER", f"this node does not know {what}", "table_id")


async def load(
    log: EventLog, codec: TableCodec, table_id: str, state: TableState = EMPTY
) -> TableState:
    """The table as its stream says; version 0 where there is none. `state` is an earlier one, from
    which it is read on.

    Raises `NotKnownError` for a table that this node cannot make sense of.
    """
    while True:
        recorded = await log.read_stream(f"table/{table_id}", state.version, READ_AT_ONCE)
        if recorded and state.config is None:
            _check_rules_known(recorded[0])
        _check_types_known(recorded)
        try:
            state = apply_recorded(state, codec, recorded)
        except UnsealError as error:
            raise NotKnownError(f"how to open what is sealed there: {error}") from error
        if len(recorded) < READ_AT_ONCE:
            return state


def apply_recorded(
    state: TableState, codec: TableCodec, recorded: Iterable[RecordedEvent]
) -> TableState:
    """The state after these events of its stream."""
    for event in recorded:
        state = evolve(state, codec.decode(event.type, event.payload, event.hand_id or ""))
    return state


def _check_rules_known(first: RecordedEvent) -> None:
    opened = events_pb2.TableOpened.FromString(first.payload)
    game = GAMES.get(opened.game)
    if game is None or opened.rules_version > game.VERSION:
        raise NotKnownError(f"rules version {opened.rules_version} of {opened.game}")


def _check_types_known(recorded: Iterable[RecordedEvent]) -> None:
    for event in recorded:
        if event.type not in EVENT_TYPES:
            raise NotKnownError(f"events of type {event.type}")

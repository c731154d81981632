"""The event log: docs/event-log.md."""

from shared.ids import event_id
from shared.log.chain import ChainFault, ChainReport, FaultKind, verify_chain
from shared.log.connecting import connect, session_settings
from shared.log.faults import is_infrastructure, is_unready
from shared.log.hashing import block_head, envelope_hash, event_hash, genesis
from shared.log.memory import MemoryLog
from shared.log.patience import on_connection
from shared.log.postgres import OnCommitted, PostgresLog, open_pool
from shared.log.statements import (
    Connection,
    append_on,
    lock_heads,
    partitions_of,
    read_blocks_on,
    read_partition_on,
    read_stream_on,
    stream_versions,
)
from shared.log.turns import Pauses, take_turn, turn_settings
from shared.log.types import (
    Append,
    Appended,
    Block,
    CommandKey,
    CommandRecord,
    EventLog,
    Head,
    LogDivergedError,
    LogOverloadedError,
    LogUnavailableError,
    NewEvent,
    Outcome,
    RecordedEvent,
    category_of,
)

__all__ = [
    "Append",
    "Appended",
    "Block",
    "ChainFault",
    "ChainReport",
    "CommandKey",
    "CommandRecord",
    "Connection",
    "EventLog",
    "FaultKind",
    "Head",
    "LogDivergedError",
    "LogOverloadedError",
    "LogUnavailableError",
    "MemoryLog",
    "NewEvent",
    "OnCommitted",
    "Outcome",
    "Pauses",
    "PostgresLog",
    "RecordedEvent",
    "append_on",
    "block_head",
    "category_of",
    "connect",
    "envelope_hash",
    "event_hash",
    "event_id",
    "genesis",
    "is_infrastructure",
    "is_unready",
    "lock_heads",
    "on_connection",
    "open_pool",
    "partitions_of",
    "read_blocks_on",
    "read_partition_on",
    "read_stream_on",
    "session_settings",
    "stream_versions",
    "take_turn",
    "turn_settings",
    "verify_chain",
]

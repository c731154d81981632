"""Whether what clients were told is what the log says (architecture, promises 1, 2 and 5).

`shown_by_the_log` builds every picture once more from the log and compares; `answers_in_the_log`
looks for every acknowledged command, and for none that was refused.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator
from uuid import UUID

from croupier.table.v1 import table_pb2 as pb
from google.protobuf.json_format import MessageToDict

from shared.log import EventLog, RecordedEvent
from shared.table.codec import TableCodec
from shared.table.evolve import evolve
from shared.table.state import TableState
from shared.table.view import event_view, player_view, public_view
from tests.chaos.recorder import Given, Recorder, Update

PAGE_EVENTS = 5_000
MOST_FINDINGS = 50

_INPUTS = {
    "join": "JoinAsked",
    "leave": "LeaveRequested",
    "sit_out": "SitOutChanged",
    "buy_chips": "ChipsRequested",
    "cash_out": "CashOutAsked",
    "place_bet": "BetPlaced",
    "take_back_bets": "BetsTakenBack",
    "admit_bettor": "BettorAdmitted",
    "done_betting": "BetsDone",
    "cut_shoe": "CutChosen",
    "pledge_seed": "SeedPledged",
    "reveal_seed": "SeedRevealed",
    "decide": "DecisionMade",
    "object_to_join": "JoinObjected",
    "report_incident": "IncidentReported",
    "confirm_incident": "IncidentConfirmed",
    "rule_void": "HandRuledVoid",
    "penalise": "PenaltyGiven",
}


async def compare(log: EventLog, codec: TableCodec, recorder: Recorder) -> list[str]:
    """Everything in which the record of the clients and the log differ, at most 50 of them."""
    findings = list(recorder.findings)
    for table_id in recorder.tables():
        async for finding in shown_by_the_log(log, codec, recorder, table_id):
            findings.append(finding)
            if len(findings) >= MOST_FINDINGS:
                return findings
    findings += [finding async for finding in answers_in_the_log(log, recorder)]
    return findings[:MOST_FINDINGS]


async def shown_by_the_log(
    log: EventLog, codec: TableCodec, recorder: Recorder, table_id: str
) -> AsyncIterator[str]:
    """Where a picture of the table, or an event in it, is not the one that the log gives."""
    by_version: dict[int, list[Update]] = defaultdict(list)
    for update in recorder.updates:
        if update.table_id == table_id:
            by_version[update.version].append(update)
    reads: dict[int, tuple[RecordedEvent, pb.TableEvent]] = {}
    state = TableState()
    async for event in events_of(log, f"table/{table_id}"):
        body = codec.decode(event.type, event.payload, event.hand_id or "")
        state = evolve(state, body)
        reads[event.version] = event, event_view(body, event.version, event.hand_id or "", "")
        due = by_version.pop(event.version, [])
        public = public_view(state) if due else None
        for update in due:
            told = recorder.read(update)
            where = f"{update.client} at {table_id}, version {update.version}"
            if told.table != public:
                yield f"{where}: another table was shown: {difference(told.table, public)}"
            own = player_view(state, update.client) if told.HasField("you") else None
            if own is not None and told.you != own:
                yield f"{where}: another hand was shown: {difference(told.you, own)}"
            for each in told.events:
                recorded = reads[each.version][0]
                body = codec.decode(recorded.type, recorded.payload, recorded.hand_id or "")
                hand_id = recorded.hand_id or ""
                true = event_view(body, each.version, hand_id, told.you.player)
                if each != true:
                    yield f"{where}: event {each.version} was another: {difference(each, true)}"
    for version, updates in by_version.items():
        yield f"{updates[0].client} at {table_id}: was told version {version}, which is not logged"


async def answers_in_the_log(log: EventLog, recorder: Recorder) -> AsyncIterator[str]:
    """Where an acknowledged command is not in the log, exactly once, as what it asked for; or a
    refused one is in it."""
    first_versions: dict[tuple[str, int], Given] = {}
    for given in recorder.commands.values():
        try:
            command_id = UUID(given.command.command_id)
        except ValueError:
            continue
        stream = f"table/{given.table_id}"
        record = await log.find_command(stream, given.client, command_id)
        where = f"{given.client} at {given.table_id}, {given.command.WhichOneof('action')}"
        if given.refused and record is not None:
            yield f"{where}: refused ({given.refused}), and in the log"
        if given.acknowledged is None:
            continue
        if record is None:
            yield f"{where}: acknowledged, and not in the log"
            continue
        if (record.first_version, record.last_version) != given.acknowledged:
            yield f"{where}: acknowledged as {given.acknowledged}, logged as {record}"
        twin = first_versions.setdefault((given.table_id, record.first_version), given)
        if twin is not given:
            yield f"{where}: {given.command.command_id} and {twin.command.command_id} are one"
        [event] = await log.read_stream(stream, record.first_version - 1, 1)
        kind = _INPUTS[given.command.WhichOneof("action") or ""]
        if event.type != kind or event.actor.partition(":")[2] != given.client:
            yield f"{where}: logged as {event.type} of {event.actor}"


async def events_of(log: EventLog, stream: str) -> AsyncIterator[RecordedEvent]:
    """All events of a stream."""
    version = 0
    while page := await log.read_stream(stream, version, PAGE_EVENTS):
        for event in page:
            yield event
        version = page[-1].version


def difference(told: object, true: object) -> str:
    """The fields in which two messages differ."""
    first, second = (
        MessageToDict(each, preserving_proto_field_name=True) if each is not None else {}  # type: ignore[arg-type]
        for each in (told, true)
    )
    return "; ".join(
        f"{name}: told {first.get(name)}, true {second.get(name)}"
        for name in sorted(first.keys() | second.keys())
        if first.get(name) != second.get(name)
    )

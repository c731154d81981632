"""What every `EventLog` promises; run over Postgres and memory."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import pytest

from shared.log import Append, CommandKey, EventLog, NewEvent, Outcome, event_hash, genesis
from tests.logs import BODY, OTHER_BODY, append, assert_sound, commanded, event, payloads


async def test_an_append_is_read_back_as_it_was_written(log: EventLog) -> None:
    full = NewEvent("CardsDealt", bytes(range(256)), "table@n1", 3, "h-1", uuid4(), uuid4())
    bare = NewEvent("BetPlaced", b"", "")
    [answer] = await log.append([Append(uuid4(), "table/a", 0, (full, bare))])
    first, second = await log.read_stream("table/a")
    assert (answer.outcome, answer.partition) == (Outcome.OK, "table.0")
    assert (answer.first_position, answer.first_version, answer.last_version) == (1, 1, 2)
    for new, recorded, version in ((full, first, 1), (bare, second, 2)):
        assert recorded.type == new.type
        assert recorded.payload == new.payload
        assert recorded.schema_version == new.schema_version
        assert recorded.hand_id == new.hand_id
        assert recorded.causation_id == new.causation_id
        assert recorded.correlation_id == new.correlation_id
        assert recorded.actor == new.actor
        assert recorded.hash == event_hash("table/a", version, new)
        assert (recorded.stream, recorded.version) == ("table/a", version)
        assert (recorded.partition, recorded.position) == ("table.0", version)
        assert recorded.recorded_at == answer.recorded_at


async def test_positions_run_through_all_streams_of_a_partition(log: EventLog) -> None:
    await log.append([append("table/a", 0, b"1", b"2"), append("table/b", 0, b"3")])
    await log.append([append("table/b", 1, b"4"), append("table/a", 2, b"5", b"6")])
    events = await assert_sound(log, "table.0")
    assert payloads(events) == [b"1", b"2", b"3", b"4", b"5", b"6"]


async def test_a_conflict_leaves_its_neighbours_in(log: EventLog) -> None:
    await log.append([append("table/b", 0, b"0")])
    answers = await log.append(
        [append("table/a", 0, b"1"), append("table/b", 0, b"no"), append("table/c", 0, b"2")]
    )
    assert [each.outcome for each in answers] == [Outcome.OK, Outcome.CONFLICT, Outcome.OK]
    assert answers[1].last_version == 1
    assert payloads(await assert_sound(log, "table.0")) == [b"0", b"1", b"2"]


@pytest.mark.parametrize("expected_version", [1, 7])
async def test_a_stream_does_not_begin_in_the_middle(log: EventLog, expected_version: int) -> None:
    [answer] = await log.append([append("table/a", expected_version)])
    assert answer.outcome is Outcome.CONFLICT
    assert (answer.last_version, answer.recorded_at) == (0, None)
    assert await log.read_stream("table/a") == []


async def test_a_repeated_append_gets_the_first_answer(log: EventLog) -> None:
    once = append("table/a", 0, b"1", b"2")
    [first] = await log.append([once])
    await log.append([append("table/a", 2, b"3")])
    [again] = await log.append([once])
    assert again.outcome is Outcome.SAME
    assert (again.partition, again.first_position) == (first.partition, first.first_position)
    assert (again.first_version, again.last_version) == (1, 2)
    assert again.recorded_at == first.recorded_at
    assert payloads(await assert_sound(log, "table.0")) == [b"1", b"2", b"3"]


async def test_an_append_id_is_known_whatever_version_it_expects_now(log: EventLog) -> None:
    once = append("table/a", 0)
    await log.append([once])
    [again] = await log.append([Append(once.id, "table/a", 1, once.events)])
    assert again.outcome is Outcome.SAME
    assert len(await log.read_stream("table/a")) == 1


async def test_a_repeated_command_gets_the_first_answer(log: EventLog) -> None:
    command_id = uuid4()
    await log.append([append("table/a", 0, b"before")])
    [first] = await log.append([commanded("table/a", 1, command_id)])
    await log.append([append("table/a", 2, b"after")])
    [again] = await log.append([commanded("table/a", 3, command_id)])
    assert again.outcome is Outcome.SAME
    assert (again.first_position, again.first_version, again.last_version) == (2, 2, 2)
    assert again.recorded_at == first.recorded_at
    assert len(await log.read_stream("table/a")) == 3


async def test_a_command_with_another_body_is_told_apart(log: EventLog) -> None:
    command_id = uuid4()
    await log.append([commanded("table/a", 0, command_id)])
    [again] = await log.append([commanded("table/a", 1, command_id, OTHER_BODY)])
    assert again.outcome is Outcome.BODY_DIFFERS
    assert (again.first_version, again.last_version) == (1, 1)
    assert len(await log.read_stream("table/a")) == 1


async def test_a_command_id_belongs_to_one_caller_and_stream(log: EventLog) -> None:
    command_id = uuid4()
    other_caller = CommandKey("player:8", command_id, OTHER_BODY)
    answers = [
        *await log.append([commanded("table/a", 0, command_id)]),
        *await log.append([commanded("table/b", 0, command_id, OTHER_BODY)]),
        *await log.append([Append(uuid4(), "table/a", 1, (event(),), other_caller)]),
    ]
    assert {each.outcome for each in answers} == {Outcome.OK}


async def test_a_refused_command_is_not_remembered(log: EventLog) -> None:
    command_id = uuid4()
    [refused] = await log.append([commanded("table/a", 5, command_id)])
    assert refused.outcome is Outcome.CONFLICT
    assert await log.find_command("table/a", "player:7", command_id) is None
    [taken] = await log.append([commanded("table/a", 0, command_id, OTHER_BODY)])
    assert taken.outcome is Outcome.OK


async def test_find_command_tells_where_its_events_are(log: EventLog) -> None:
    command_id = uuid4()
    await log.append([append("table/a", 0)])
    key = CommandKey("player:7", command_id, BODY)
    await log.append([Append(uuid4(), "table/a", 1, (event(), event()), key)])
    found = await log.find_command("table/a", "player:7", command_id)
    assert found is not None
    assert (found.body_hash, found.first_version, found.last_version) == (BODY, 2, 3)
    assert await log.find_command("table/b", "player:7", command_id) is None


async def test_two_appends_of_one_stream_at_once_take_turns(log: EventLog) -> None:
    answers = await asyncio.gather(
        *(log.append([append("table/a", 0), append(f"table/own-{n}", 0)]) for n in range(5))
    )
    assert sorted(answer[0].outcome.value for answer in answers) == ["conflict"] * 4 + ["ok"]
    assert {answer[1].outcome for answer in answers} == {Outcome.OK}
    await assert_sound(log, "table.0")


async def test_one_stream_twice_in_a_call_is_refused(log: EventLog) -> None:
    with pytest.raises(ValueError, match="one append a stream"):
        await log.append([append("table/a", 0), append("table/a", 1)])
    assert await log.read_stream("table/a") == []


async def test_reading_goes_page_by_page(log: EventLog) -> None:
    await log.append([append("table/a", 0, *(bytes([n]) for n in range(10)))])
    assert payloads(await log.read_stream("table/a", 4, 3)) == [b"\4", b"\5", b"\6"]
    assert payloads(await log.read_partition("table.0", 8, 3)) == [b"\x08", b"\x09"]
    assert await log.read_stream("table/a", 10) == []
    assert await log.read_stream("table/nobody") == []
    assert await log.read_partition("table.7", 0) == []


async def test_a_hand_is_found_in_all_its_streams(log: EventLog) -> None:
    await log.append([Append(uuid4(), "table/a", 0, (event(b"1", hand_id="h1"), event(b"x")))])
    await log.append([Append(uuid4(), "table/b", 0, (event(b"y", hand_id="h2"),))])
    await log.append([Append(uuid4(), "table/c", 0, (event(b"2", hand_id="h1"),))])
    assert payloads(await log.read_hand("h1")) == [b"1", b"2"]
    assert await log.read_hand("h3") == []


async def test_an_event_is_found_by_its_cause(log: EventLog) -> None:
    await log.append([append("table/a", 0)])
    [cause] = await log.read_stream("table/a")
    follows = NewEvent("ChipsFunded", b"f", "wallet", causation_id=cause.id)
    await log.append([Append(uuid4(), "table/b", 0, (event(), follows))])
    [found] = await log.find_by_causation([uuid4(), cause.id])
    assert (found.stream, found.version, found.causation_id) == ("table/b", 2, cause.id)
    assert await log.find_by_causation([]) == []


async def test_heads_follow_the_blocks(log: EventLog) -> None:
    before = await log.heads()
    assert set(before) == {"table.0", "shuffle.0", "wallet.0", "audit.0"}
    assert (before["table.0"].position, before["table.0"].hash) == (0, genesis("table.0"))
    await log.append([append("table/a", 0, b"1", b"2"), append("table/b", 0)])
    after = await log.heads()
    blocks = await log.read_blocks("table.0", 0)
    assert [(block.first_position, block.count) for block in blocks] == [(1, 2), (3, 1)]
    assert (after["table.0"].position, after["table.0"].hash) == (3, blocks[-1].head)
    assert after["table.0"].recorded_at == blocks[-1].recorded_at
    assert {name: head for name, head in after.items() if name != "table.0"} == {
        name: head for name, head in before.items() if name != "table.0"
    }


@pytest.mark.parametrize(
    "stream", ["table", "table/", "/a", "table/a b", "table/" + "x" * 65, "Table/a", "table/a/b"]
)
def test_names_that_are_no_streams(stream: str) -> None:
    with pytest.raises(ValueError, match="no stream"):
        append(stream, 0)

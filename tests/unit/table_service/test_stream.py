"""A client's stream over tables that are here, are not, or are not yet."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextvars import Context
from dataclasses import replace
from typing import Any
from uuid import UUID

import asyncpg
import pytest
from croupier.table.v1 import table_pb2 as pb

from services.table.playing import MOST_TABLES, Stream
from services.table.proposal import Answer, Proposal
from services.table.watching import Change, Viewer
from services.table.whereabouts import There
from shared.errors import CroupierError
from shared.rpc.access import Role
from shared.rpc.caller import Caller, bind
from tests.unit.table.story import Story
from tests.unit.table_service.test_link import Call

ANN = Caller("ann", Role.PLAYER, "token")


class Owner:
    """A table that shows its picture, and nothing more."""

    def __init__(self) -> None:
        self.state = Story().state
        self.viewers: set[Viewer] = set()
        self.proposed: list[str] = []

    async def watch(self, viewer: Viewer, after: int) -> None:
        self.viewers.add(viewer)
        viewer.begin(Change((), self.state), 0)

    def propose(self, proposal: Proposal) -> asyncio.Future[Answer]:
        assert proposal.command is not None
        self.proposed.append(str(proposal.command.command_id))
        proposal.succeed(Answer(1, 1))
        return proposal.done

    def unwatch(self, viewer: Viewer) -> None:
        self.viewers.discard(viewer)


class Node:
    """Has the tables that a test gives it."""

    def __init__(self) -> None:
        self.tables: dict[str, Any] = {}
        self.looked = 0
        self.node = self
        self.peers = self
        self.whereabouts = self
        self.gone_for_good = False
        self.there: There | None = None
        self.calls: list[Call] = []
        self.lost: list[Any] = []
        self.back = asyncio.Event()

    async def find(self, table_id: str) -> Any:
        self.looked += 1
        owner = self.tables.get(table_id)
        if owner is None and self.there is not None:
            facts = {"address": self.there.address, "epoch": str(self.there.epoch)}
            raise CroupierError("NOT_OWNER", "another one has it", "table_id", facts)
        if owner is None:
            raise CroupierError("NO_OWNER", "nobody has it", "table_id")
        return owner

    def play(self, address: str, token: str) -> Call:
        self.calls.append(Call(2))
        return self.calls[-1]

    def rely(self, table_id: str, address: str, lost: Any) -> Any:
        self.lost.append(lost)
        return lambda: None

    find_current = find

    def is_current(self, owner: Any) -> bool:
        return True

    async def moved(self, table_id: str, tried: object, within_s: float) -> None:
        """Nobody waits here, but for what has gone for good."""
        if self.gone_for_good:
            await self.back.wait()


@pytest.fixture
async def node() -> Node:
    return Node()


@pytest.fixture
async def stream(node: Node) -> AsyncIterator[Stream]:
    made = Stream(node, ANN, forwarded=False, plays=True)  # type: ignore[arg-type]
    yield made
    made.close()


async def heard(updates: AsyncIterator[pb.PlayResponse | bytes]) -> pb.PlayResponse:
    """What comes next, as the client reads it."""
    async with asyncio.timeout(5):
        answer = await anext(updates)
    return pb.PlayResponse.FromString(answer) if isinstance(answer, bytes) else answer


async def refusal(waiting: Any) -> tuple[str, str]:
    with pytest.raises(CroupierError) as refused:
        await waiting
    return refused.value.reason, refused.value.field


async def test_a_stream_watches_a_bounded_number_of_tables(node: Node, stream: Stream) -> None:
    for number in range(MOST_TABLES + 1):
        node.tables[f"t{number}"] = Owner()
    for number in range(MOST_TABLES):
        await stream.watch(f"t{number}", 0)
    assert await refusal(stream.watch(f"t{MOST_TABLES}", 0)) == ("BAD_REQUEST", "table_id")
    await stream.watch("t0", 0)
    stream.stop("t1")
    await stream.watch(f"t{MOST_TABLES}", 0)
    stream.close()
    assert not any(owner.viewers for owner in node.tables.values())


async def test_a_table_that_nobody_has_is_looked_for_five_times(node: Node, stream: Stream) -> None:
    assert await refusal(stream.watch("t1", 0)) == ("NO_OWNER", "table_id")
    assert node.looked == 5


async def test_a_table_that_left_is_followed_until_the_client_stops(
    node: Node, stream: Stream
) -> None:
    owner = node.tables["t1"] = Owner()
    await stream.watch("t1", 0)
    updates = stream.updates()
    assert (await heard(updates)).HasField("update")
    [viewer] = owner.viewers
    # It comes back elsewhere: the stream goes on there.
    there = node.tables["t1"] = Owner()
    viewer.end()
    assert (await heard(updates)).HasField("update")
    assert len(there.viewers) == 1
    # It leaves for good, and the client has no interest any more: the stream lives on.
    node.gone_for_good = True
    [viewer] = there.viewers
    del node.tables["t1"]
    viewer.end()
    waiting = asyncio.ensure_future(heard(updates))
    for _ in range(5):
        await asyncio.sleep(0)
    stream.stop("t1")
    node.tables["t2"] = Owner()
    await stream.watch("t2", 0)
    assert (await waiting).HasField("update")


async def test_a_stream_ends_when_nobody_takes_its_table_up(node: Node, stream: Stream) -> None:
    owner = node.tables["t1"] = Owner()
    await stream.watch("t1", 0)
    updates = stream.updates()
    await anext(updates)
    [viewer] = owner.viewers
    del node.tables["t1"]
    viewer.end()
    assert await refusal(anext(updates)) == ("NO_OWNER", "table_id")


async def test_a_stream_that_is_passed_on_leaves_the_search_to_the_other_node(node: Node) -> None:
    stream = Stream(node, ANN, forwarded=True, plays=True)  # type: ignore[arg-type]
    owner = node.tables["t1"] = Owner()
    await stream.watch("t1", 0)
    updates = stream.updates()
    await anext(updates)
    [viewer] = owner.viewers
    viewer.end()
    told = await heard(updates)
    assert (told.refusal.reason, told.refusal.table_id) == ("NO_OWNER", "t1")
    assert told.refusal.command_id == ""
    stream.close()


async def test_what_waits_for_its_table_holds_up_no_other_and_keeps_its_order(
    node: Node, stream: Stream
) -> None:
    here = node.tables["here"] = Owner()
    node.gone_for_good = True

    async def requests() -> AsyncIterator[pb.PlayRequest]:
        for number, table_id in enumerate(("away", "away", "here", "away")):
            command = pb.Command(command_id=str(UUID(int=number)), join=pb.JoinTable())
            yield pb.PlayRequest(table_id=table_id, command=command)
        await asyncio.Event().wait()

    stream.read(requests())
    updates = stream.updates()
    assert (await heard(updates)).acknowledgement.command_id == str(UUID(int=2))
    assert here.proposed == [str(UUID(int=2))]
    away = node.tables["away"] = Owner()
    node.back.set()
    answered = [(await heard(updates)).acknowledgement.command_id for _ in range(3)]
    assert answered == away.proposed == [str(UUID(int=number)) for number in (0, 1, 3)]


def said(table_id: str, number: int = 1, **action: Any) -> pb.PlayRequest:
    return pb.PlayRequest(
        table_id=table_id, command=pb.Command(command_id=str(UUID(int=number)), **action)
    )


async def say(*requests: pb.PlayRequest) -> AsyncIterator[pb.PlayRequest]:
    for request in requests:
        yield request
    await asyncio.Event().wait()


async def test_a_command_that_finds_its_table_claimed_anew_takes_the_watch_along(
    node: Node, stream: Stream
) -> None:
    node.there = There("n2:1", 1)
    await stream.watch("t1", 0)
    node.there = There("n2:1", 2)
    stream.read(say(said("t1", join=pb.JoinTable())))
    async with asyncio.timeout(5):
        while len(node.calls) < 2:
            await asyncio.sleep(0)
        await node.calls[1].all_written.wait()
    assert sorted(node.calls[1].written) == ["command", "watch"]


async def test_commands_to_other_nodes_count_where_they_are_under_way(
    node: Node, stream: Stream
) -> None:
    node.there = There("n2:1", 1)
    for number in range(MOST_TABLES - 1):
        await stream.watch(f"t{number}", 0)
    stream.read(say(said("more", join=pb.JoinTable()), said("too many", join=pb.JoinTable())))
    told = await heard(stream.updates())
    assert (told.refusal.reason, told.refusal.table_id) == ("BAD_REQUEST", "too many")
    assert len(node.calls) == MOST_TABLES


async def test_a_link_that_nothing_is_awaited_from_makes_room(node: Node, stream: Stream) -> None:
    node.there = There("n2:1", 1)
    for number in range(MOST_TABLES):
        await stream.watch(f"t{number}", 0)
    stream.stop("t3")
    await stream.watch("more", 0)
    assert await refusal(stream.watch("too many", 0)) == ("BAD_REQUEST", "table_id")


async def test_whoever_notices_that_a_table_left_its_commands_are_still_the_callers(
    node: Node,
) -> None:
    pete = Caller("pete", Role.PIT, "token")
    bind(pete, UUID(int=7))
    stream = Stream(node, pete, forwarded=False, plays=True)  # type: ignore[arg-type]
    node.there = There("n2:1", 1)
    stream.read(say(said("t1", report_incident=pb.ReportIncident(incident="dealer_change"))))
    async with asyncio.timeout(5):
        while not (node.calls and node.calls[0].written):
            await asyncio.sleep(0)
    here = node.tables["t1"] = Owner()
    [lost] = node.lost
    Context().run(lost)
    assert (await heard(stream.updates())).acknowledgement.command_id == str(UUID(int=1))
    assert here.proposed == [str(UUID(int=1))]
    stream.close()


async def until(check: Callable[[], object]) -> None:
    async with asyncio.timeout(5):
        while not check():
            await asyncio.sleep(0)


async def two_commands(moved: asyncio.Event) -> AsyncIterator[pb.PlayRequest]:
    """The second once the table has moved."""
    yield said("t1", 1, join=pb.JoinTable())
    await moved.wait()
    yield said("t1", 2, leave=pb.LeaveTable())
    await asyncio.Event().wait()


@pytest.mark.parametrize("there", [There("n2:1", 2), There("n3:1", 2), None])
async def test_no_command_overtakes_one_that_has_to_be_sent_again(
    node: Node, stream: Stream, there: There | None
) -> None:
    """The table is elsewhere, or claimed anew where it was, or here by now."""
    node.there = There("n2:1", 1)
    moved = asyncio.Event()
    stream.read(two_commands(moved))
    await until(lambda: node.calls and node.calls[0].commands)
    node.there, here = there, Owner()
    if there is None:
        node.tables["t1"] = here
    moved.set()
    ids = [str(UUID(int=1)), str(UUID(int=2))]
    await until(lambda: ids[1] in (here.proposed or node.calls[-1].commands))
    assert (here.proposed or node.calls[-1].commands) == ids


@pytest.mark.parametrize("reason", ["LOG_UNAVAILABLE", "SHUFFLE_UNAVAILABLE", "NO_OWNER"])
async def test_a_table_that_another_node_cannot_show_now_is_waited_for(
    node: Node, stream: Stream, reason: str
) -> None:
    node.there = There("n2:1", 1)
    await stream.watch("t1", 0)
    [call] = node.calls
    refusal = pb.Refusal(table_id="t1", reason=reason)
    call.answers.put_nowait(pb.PlayResponse(refusal=refusal))
    await until(lambda: call.written == ["watch", "watch"])


async def test_a_table_id_that_no_database_takes_costs_the_one_command(
    node: Node, stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = node.find

    async def found(table_id: str) -> Any:
        if "\0" in table_id:
            raise asyncpg.CharacterNotInRepertoireError
        return await find(table_id)

    monkeypatch.setattr(node, "find", found)
    monkeypatch.setattr(node, "find_current", found)
    node.tables["t1"] = Owner()
    watch = pb.PlayRequest(table_id="t\0", watch=pb.WatchRequest())
    stream.read(say(watch, said("t\0", 1, join=pb.JoinTable()), said("t1", 2, join=pb.JoinTable())))
    updates = stream.updates()
    for command_id in ("", str(UUID(int=1))):
        refused = (await heard(updates)).refusal
        assert (refused.reason, refused.field) == ("BAD_REQUEST", "table_id")
        assert refused.command_id == command_id
    assert (await heard(updates)).acknowledgement.command_id == str(UUID(int=2))


class Waiting(Owner):
    """A table where a command waits for its turn."""

    def propose(self, proposal: Proposal) -> asyncio.Future[Answer]:
        self.waits = proposal
        return proposal.done


@pytest.mark.parametrize("there", [There("n2:1", 2), None])
async def test_no_command_overtakes_one_that_waits_where_the_table_is_no_longer(
    node: Node, stream: Stream, there: There | None
) -> None:
    """It is held up there, by an append that comes to nothing, while others have the table."""
    here = node.tables["t1"] = Waiting()
    moved = asyncio.Event()
    stream.read(two_commands(moved))
    await until(lambda: hasattr(here, "waits"))
    anew = Owner()
    if there is None:
        node.tables["t1"] = anew
    else:
        del node.tables["t1"]
        node.there = there
    moved.set()
    for _ in range(20):
        await asyncio.sleep(0)
    assert not anew.proposed
    assert not node.calls
    here.waits.fail(CroupierError("NOT_OWNER", "another node has the table", "table_id"))
    ids = [str(UUID(int=1)), str(UUID(int=2))]
    await until(lambda: ids[1] in (anew.proposed or (node.calls and node.calls[0].commands) or []))
    assert (anew.proposed or node.calls[0].commands) == ids


async def test_who_has_nothing_more_to_say_hears_an_answer_behind_its_updates_as_well(
    node: Node, stream: Stream
) -> None:
    """The table was on its way when the answer came."""
    here = node.tables["t1"] = Owner()
    later = replace(here.state, version=here.state.version + 1)

    def propose(proposal: Proposal) -> asyncio.Future[Answer]:
        proposal.succeed(Answer(later.version, later.version))
        return proposal.done

    here.propose = propose  # type: ignore[method-assign]

    async def requests() -> AsyncIterator[pb.PlayRequest]:
        yield pb.PlayRequest(table_id="t1", watch=pb.WatchRequest())
        yield said("t1", join=pb.JoinTable())

    stream.read(requests())
    updates = stream.updates()
    assert (await heard(updates)).update.version == here.state.version
    following = asyncio.ensure_future(anext(updates))
    for _ in range(20):
        await asyncio.sleep(0)
    assert not following.done()
    [viewer] = here.viewers
    viewer.tell(Change((), later))
    told = await following
    assert isinstance(told, bytes)
    assert pb.PlayResponse.FromString(told).update.version == later.version
    assert (await heard(updates)).acknowledgement.version == later.version
    with pytest.raises(StopAsyncIteration):
        await anext(updates)


async def test_a_stream_that_is_over_opens_nothing(node: Node, stream: Stream) -> None:
    """Its table leaves while a command of it waits there for its turn."""
    here = node.tables["t1"] = Waiting()
    stream.read(say(said("t1", join=pb.JoinTable())))
    await until(lambda: hasattr(here, "waits"))
    stream.close()
    del node.tables["t1"]
    node.there = There("n2:1", 1)
    here.waits.fail(CroupierError("NOT_OWNER", "another node has the table", "table_id"))
    tasks = asyncio.all_tasks()
    for _ in range(10):
        await asyncio.sleep(0)
    assert not node.calls
    assert asyncio.all_tasks() <= tasks

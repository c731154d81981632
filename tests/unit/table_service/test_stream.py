"""A client's stream over tables that are here, are not, or are not yet."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest
from croupier.table.v1 import table_pb2 as pb

from services.table.playing import MOST_TABLES, Stream
from services.table.proposal import Answer, Proposal
from services.table.watching import Change, Viewer
from shared.errors import CroupierError
from shared.rpc.access import Role
from shared.rpc.caller import Caller
from tests.unit.table.story import Story

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
        self.peers = None
        self.whereabouts = self
        self.gone_for_good = False
        self.back = asyncio.Event()

    async def find(self, table_id: str) -> Any:
        self.looked += 1
        owner = self.tables.get(table_id)
        if owner is None:
            raise CroupierError("NO_OWNER", "nobody has it", "table_id")
        return owner

    def check_current(self, owner: Any) -> None:
        """It is."""

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

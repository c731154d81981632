"""What operators are told while they wait for a node to be empty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from croupier.table.v1 import nodes_pb2 as pb

from clients.api.errors import RefusedError
from clients.api.nodes import NodeClient


class Connection:
    """Answers `ListNodes` with one of these after the other."""

    channel = None

    def __init__(self, answers: Sequence[Sequence[pb.Node]]) -> None:
        self._answers = list(answers)

    async def call(self, *_: Any) -> pb.ListNodesResponse:
        return pb.ListNodesResponse(nodes=self._answers.pop(0))


@pytest.fixture
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clients.api.nodes.LOOK_EVERY_S", 0)


def client(monkeypatch: pytest.MonkeyPatch, *answers: Sequence[pb.Node]) -> NodeClient:
    connection: Any = Connection(answers)
    for stub in ("nodes_pb2_grpc.NodeServiceStub", "table_pb2_grpc.TableServiceStub"):
        monkeypatch.setattr(f"clients.api.nodes.{stub}", lambda channel: connection)
    connection.ListNodes = None
    return NodeClient(connection)


@pytest.mark.usefixtures("no_pause")
async def test_a_drain_tells_how_many_tables_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    other = pb.Node(node="b", tables=5)
    left = [[pb.Node(node="a", tables=count, drained=True), other] for count in (2, 2, 1, 0)]
    told: list[int] = []
    await client(monkeypatch, *left).emptied("a", told.append, 5)
    assert told == [2, 1, 0]


@pytest.mark.usefixtures("no_pause")
@pytest.mark.parametrize("other", [[], [pb.Node(node="b", drained=True)]], ids=["none", "drained"])
async def test_a_drain_that_nobody_can_help_ends_at_once(
    monkeypatch: pytest.MonkeyPatch, other: list[pb.Node]
) -> None:
    nodes = [pb.Node(node="a", tables=2, drained=True), *other]
    with pytest.raises(RefusedError) as refused:
        await client(monkeypatch, nodes).emptied("a", lambda left: None, 5)
    assert refused.value.reason == "NODE_NOT_FOUND"

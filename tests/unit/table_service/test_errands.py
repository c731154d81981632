"""Errands of tables that come and go, at a shuffle that answers when it is told to."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from services.table.errands import Errands
from services.table.owner import TableOwner
from shared.errors import CroupierError
from shared.table import events as e
from shared.table.next_step import Cards, OpenShoe, Waiting


class Owner:
    """A table that waits for one errand until it is told something."""

    table_id = "t1"

    def __init__(self, errand: Any) -> None:
        self.released = False
        self.told: list[Any] = []
        self.waiting = Waiting((errand,), "", 0)

    async def submit(self, proposal: Any) -> None:
        self.told.append(proposal.make(1))
        self.waiting = Waiting((), "", 0)


OPENING = OpenShoe("8b8a9b0c-0000-4000-8000-000000000001", "t1-s2", 8, 53, 363, 7, True)
DEAL = Cards("8b8a9b0c-0000-4000-8000-000000000002", "t1-s2", "t1-7", ())


class Shuffle(Errands):
    """Errands whose answers the test gives."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(cast("Any", None), "token")
        self.asked: list[asyncio.Future[Any]] = []
        self.came = asyncio.Event()
        for kind in (OpenShoe, Cards):
            monkeypatch.setitem(cast("Any", self._run), kind, self._answer)

    async def _answer(self, owner: TableOwner, errand: Any) -> Any:
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.asked.append(answer)
        self.came.set()
        return await answer

    async def next_asked(self) -> asyncio.Future[Any]:
        async with asyncio.timeout(5):
            await self.came.wait()
        self.came.clear()
        return self.asked[-1]


@pytest.fixture
async def shuffle(monkeypatch: pytest.MonkeyPatch) -> Shuffle:
    return Shuffle(monkeypatch)


def act(shuffle: Shuffle, owner: Owner) -> None:
    shuffle.act(cast("TableOwner", owner))


async def test_a_table_that_comes_back_asks_for_itself(shuffle: Shuffle) -> None:
    """What its owner of before, on the same node, had on the way is of no use to it."""
    before, after = Owner(OPENING), Owner(OPENING)
    act(shuffle, before)
    lost = await shuffle.next_asked()
    before.released = True
    act(shuffle, after)
    answer = await shuffle.next_asked()
    assert answer is not lost
    answer.set_result(lambda at: e.ShoeOffered("t1-s2", b"seed", at))
    lost.set_exception(CroupierError("LOG_UNAVAILABLE", "gone"))
    await asyncio.wait(list(shuffle._running.values()))
    assert (before.told, after.told) == ([], [e.ShoeOffered("t1-s2", b"seed", 1)])


async def test_a_shoe_that_is_over_and_that_the_table_waits_for_is_lost(shuffle: Shuffle) -> None:
    owner = Owner(DEAL)
    act(shuffle, owner)
    (await shuffle.next_asked()).set_exception(CroupierError("SHOE_RETIRED", "it is over"))
    await asyncio.wait(list(shuffle._running.values()))
    assert owner.told == [e.ShoesLost("shoe_retired", 1, "t1-s2")]


async def test_a_shoe_that_the_table_has_put_away_is_not_lost(shuffle: Shuffle) -> None:
    """The hand was void and its shoe retired before shuffle came to the cards of that hand."""
    owner = Owner(DEAL)
    act(shuffle, owner)
    asked = await shuffle.next_asked()
    owner.waiting = Waiting((), "", 0)
    asked.set_exception(CroupierError("SHOE_RETIRED", "it is over"))
    await shuffle.stop()
    assert owner.told == []

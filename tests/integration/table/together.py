"""Several people at one table, each with a stream of his own."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from croupier.table.v1 import table_pb2 as pb

from clients.api.sight import Sight
from tests.integration.table.gamblers import AtTable, Gambler
from tests.integration.table.house import House
from tests.integration.table.people import Person


class Table:
    """A table, and those who sit at it or look on."""

    def __init__(self, house: House, table_id: str = "t1") -> None:
        self._house = house
        self.table_id = table_id
        self._news = asyncio.Event()
        self.at: dict[str, AtTable] = {}
        self._gamblers: dict[str, Gambler] = {}

    async def seat(self, *names: str) -> None:
        """They sit down with chips, and watch."""
        for box, name in enumerate(names, 1):
            await self.watch(await self._house.seat(name, self.table_id), box)

    async def watch(self, person: Person, box: int = 1) -> None:
        gambler = self._gamblers[person.name] = Gambler(person, box, self._news)
        self.at[person.name] = await gambler.watch(self.table_id)

    async def leave(self, name: str) -> None:
        """Hangs up; the seat stays his."""
        await self._gamblers.pop(name).leave()

    async def do(self, name: str, *given: pb.Command) -> None:
        """What he does, and is done; all who are there have heard of it."""
        for one in given:
            answer = await self._gamblers[name].do(self.table_id, one)
            assert answer.HasField("acknowledgement"), answer
            await self._all_have(answer.acknowledgement.version)

    async def _all_have(self, version: int) -> None:
        for name, gambler in self._gamblers.items():
            await gambler.until(partial(_has, self.at[name], version))

    async def refused(self, name: str, given: pb.Command) -> str:
        return (await self._gamblers[name].do(self.table_id, given)).refusal.reason

    @property
    def heard(self) -> int:
        """How many updates all of them have had."""
        return sum(len(at.updates) for at in self.at.values())

    def sight(self, name: str) -> Sight:
        return self.at[name].sight

    def words(self, name: str, box: int) -> set[str]:
        """What he may decide for the box now."""
        return {one.word for one in self.sight(name).options("decide") if one.box == box}

    def events(self, name: str, kind: str) -> list[pb.TableEvent]:
        return [event for event in self.at[name].events if event.type == kind]

    def settled(self, name: str) -> int:
        """Of how many hands he has heard the end."""
        return len(self.events(name, "HandSettled"))

    async def until(self, name: str, check: Any) -> None:
        """Until it is so in his view."""
        await self._gamblers[name].until(lambda: check(self.sight(name)))

    async def happens(self, name: str, kind: str, times: int = 1) -> pb.TableEvent:
        """Until he has heard of so many of these; the last one."""
        await self._gamblers[name].until(lambda: len(self.events(name, kind)) >= times)
        return self.events(name, kind)[times - 1]

    async def update(self, name: str, kind: str) -> pb.Update:
        """Until he hears of one of these; the update that brought it, with the table as it was
        then."""
        await self.happens(name, kind)
        return next(
            update
            for update in self.at[name].updates
            if any(event.type == kind for event in update.events)
        )

    async def close(self) -> None:
        for name in list(self._gamblers):
            await self.leave(name)


def _has(at: AtTable, version: int) -> bool:
    return at.updates[-1].version >= version

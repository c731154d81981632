"""How fast shoes are shuffled, sealed and dealt on one core: `python -m tests.bench.shoes`.

The shuffle service runs as a process of its own, bound to one core; Postgres, NATS and the callers
have the others. What each was busy with tells what bounds it.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import uuid4

import grpc
import psutil
from croupier.shuffle.v1 import shuffle_pb2 as pb
from croupier.shuffle.v1.shuffle_pb2_grpc import ShuffleServiceStub

from deploy.embedded_nats import EmbeddedNats
from deploy.program import Program, free_port
from deploy.programs import serves
from shared.proofs.hmac_drbg import HmacDrbg
from shared.proofs.sealed_shoe import SealedShoe
from shared.proofs.shoe_order import BLOCK_BYTES, card_order, card_salts
from shared.rpc.access import Role
from tests.bench.places import durable_postgres, nats
from tests.polling import eventually
from tests.services import PUBLIC_KEY, bearer

MEASURE_S = 3.0
SIZES = {1: 52, 6: 312, 8: 416}
KEY = "A" * 43 + "="
CORE = 0


def per_second(work: Callable[[int], object]) -> float:
    """How often `work` runs in a second of this process's own time."""
    work(0)
    started, count = time.process_time(), 0
    while (passed := time.process_time() - started) < MEASURE_S:
        work(count)
        count += 1
    return count / passed


def shuffles() -> None:
    """The pure part: what a shoe costs before anybody asks for a card."""
    print("| cards | orders/s | salts/s | sealed shoes/s |")
    print("| --- | --- | --- | --- |")
    for decks, cards in SIZES.items():

        def order(number: int, decks: int = decks) -> object:
            return card_order(number.to_bytes(32, "big"), "shoe", [], decks, 9)

        def salts(number: int, cards: int = cards) -> object:
            return card_salts(number.to_bytes(32, "big"), "shoe", [], cards)

        def seal(number: int, decks: int = decks) -> object:
            return SealedShoe(number.to_bytes(32, "big"), "shoe", [], decks, 9)

        figures = (per_second(order), per_second(salts), per_second(seal))
        print(f"| {cards} | {' | '.join(f'{each:,.0f}' for each in figures)} |")
    drbg = HmacDrbg(bytes(32), bytes(16))
    blocks = per_second(lambda _: drbg.generate(BLOCK_BYTES))
    print(f"\nThe generator: {blocks * BLOCK_BYTES / 1e6:.1f} MB/s")


@dataclass(frozen=True, slots=True)
class Place:
    """The service on its core, and what is beside it."""

    stub: Any
    service: psutil.Process
    postgres: psutil.Process


@asynccontextmanager
async def service() -> AsyncIterator[Place]:
    """A shuffle process bound to one core; all others are kept off it."""
    others = [core for core in range(os.cpu_count() or 1) if core != CORE] or [CORE]
    psutil.Process().cpu_affinity(others)  # whatever is started from here on has the same
    async with durable_postgres() as postgres, nats() as bus:
        assert isinstance(bus.server, EmbeddedNats)
        assert postgres.process is not None
        database = await postgres.database()
        port = free_port()
        env = {
            "CROUPIER_NODE": "shuffle-1",
            "CROUPIER_LISTEN": f"127.0.0.1:{port}",
            "CROUPIER_METRICS_LISTEN": f"127.0.0.1:{free_port()}",
            "CROUPIER_TOKEN_PUBLIC_KEY": PUBLIC_KEY,
            "CROUPIER_DATABASE_DSN": database.dsn("croupier_shuffle"),
            "CROUPIER_NATS_URL": bus.server.url,
            "CROUPIER_DEPLOYMENT_KEY": KEY,
            "CROUPIER_SEED_KEY": KEY,
        }
        argv = (sys.executable, "-m", "deploy.serve", "shuffle")
        log = postgres.server.data.parent / "shuffle.log"
        process = Program("shuffle", argv, log, env).start()
        try:
            shuffle = psutil.Process(process.pid)
            shuffle.cpu_affinity([CORE])
            await eventually(lambda: serves(f"127.0.0.1:{port}"), within_s=60)
            for thread in shuffle.threads():
                os.sched_setaffinity(thread.id, {CORE})
            async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
                yield Place(
                    ShuffleServiceStub(channel), shuffle, psutil.Process(postgres.process.pid)
                )
        finally:
            process.terminate()
            process.wait(30)


def cpu_s(process: psutil.Process) -> float:
    """Processor seconds of a process and all its children so far."""
    total = 0.0
    for each in (process, *process.children(recursive=True)):
        times = each.cpu_times()
        total += times.user + times.system
    return total


@dataclass
class Caller:
    """A table: its shoes one after the other."""

    stub: Any
    number: int
    metadata: Any
    shoes: int = 0
    dealt: int = 416
    at_hand: dict[str, Any] = field(default_factory=dict)

    async def shoe(self) -> dict[str, Any]:
        """A shoe of eight decks, opened, cut by the dealer and sealed."""
        self.shoes += 1
        common: dict[str, Any] = {
            "shoe_id": f"t{self.number}-s{self.shoes}-{uuid4().hex[:8]}",
            "table_id": f"t{self.number}",
            "epoch": 1,
        }
        opening = pb.OpenShoeRequest(
            request_id=str(uuid4()),
            decks=8,
            cut_min_top=1,
            cut_min_bottom=1,
            publish=True,
            **common,
        )
        await self.stub.OpenShoe(opening, metadata=self.metadata)
        for method, kind in (("CutShoe", pb.CutShoeRequest), ("SealShoe", pb.SealShoeRequest)):
            request = kind(request_id=str(uuid4()), **common)
            await getattr(self.stub, method)(request, metadata=self.metadata)
        return common

    async def deal(self, until: float, cards: int) -> int:
        """Deals open cards, so many a call, shoe after shoe, from the one at hand on; how many
        calls were made."""
        calls = 0
        while time.perf_counter() < until:
            if self.dealt + cards > 416:
                self.at_hand, self.dealt = await self.shoe(), 0
            draws = [
                pb.DealRequest.Draw(position=at, use=pb.USE_OPEN)
                for at in range(self.dealt, self.dealt + cards)
            ]
            request = pb.DealRequest(
                request_id=str(uuid4()), hand_id="hand", draws=draws, **self.at_hand
            )
            await self.stub.Deal(request, metadata=self.metadata)
            self.dealt += cards
            calls += 1
        return calls

    async def make(self, until: float) -> int:
        """Makes shoes; how many."""
        made = 0
        while time.perf_counter() < until:
            await self.shoe()
            made += 1
        return made


async def served() -> None:
    """Cards and shoes a second through gRPC, who was busy with them, and how many it would be if
    the service had its core to itself and waited for nobody."""
    print("\n| tables | cards a call | calls/s | cards/s | service | Postgres | a full core |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    async with service() as place:
        metadata = bearer(Role.TABLE_SERVICE, ttl_s=3_600)
        for tables, cards in ((1, 4), (16, 4), (64, 4), (64, 1), (64, 16), (64, 52)):
            callers = [Caller(place.stub, number, metadata) for number in range(tables)]
            work = [partial(caller.deal, cards=cards) for caller in callers]
            calls, passed, busy, database = await _measured(place, work)
            a_second = calls * cards / passed
            print(
                f"| {tables} | {cards} | {calls / passed:,.0f} | {a_second:,.0f} | {busy:.0%} "
                f"| {database:.0%} | {a_second / busy:,.0f} cards/s |"
            )
        print("\n| tables | shoes of 416 cards made/s | service | Postgres | a full core |")
        print("| --- | --- | --- | --- | --- |")
        for tables in (1, 32):
            callers = [Caller(place.stub, 1_000 + number, metadata) for number in range(tables)]
            made, passed, busy, database = await _measured(place, [each.make for each in callers])
            print(
                f"| {tables} | {made / passed:,.0f} | {busy:.0%} | {database:.0%} "
                f"| {made / passed / busy:,.0f} shoes/s |"
            )


async def _measured(
    place: Place, work: Sequence[Callable[[float], Awaitable[int]]]
) -> tuple[int, float, float, float]:
    """What was done, in how many seconds, and the share of a core that the service and Postgres
    were busy meanwhile."""
    await asyncio.gather(*(each(time.perf_counter() + 1) for each in work))
    started, own, theirs = time.perf_counter(), cpu_s(place.service), cpu_s(place.postgres)
    done = sum(await asyncio.gather(*(each(started + MEASURE_S) for each in work)))
    passed = time.perf_counter() - started
    used, database = cpu_s(place.service) - own, cpu_s(place.postgres) - theirs
    return done, passed, used / passed, database / passed


def main() -> None:
    """Prints the figures."""
    shuffles()
    asyncio.run(served())


if __name__ == "__main__":
    main()

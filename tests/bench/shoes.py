"""How fast shoes are shuffled, sealed and dealt: `python -m tests.bench.shoes`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any
from uuid import uuid4

import grpc
from croupier.shuffle.v1 import shuffle_pb2 as pb
from croupier.shuffle.v1.shuffle_pb2_grpc import (
    ShuffleServiceStub,
    add_ShuffleServiceServicer_to_server,
)

from services.shuffle.server import Shuffle
from services.shuffle.shoes import Shoes
from services.shuffle.storage import ShoeStore
from shared.log import PostgresLog, open_pool
from shared.ops.settings import ShuffleSettings
from shared.proofs.sealed_shoe import SealedShoe
from shared.proofs.shoe_order import card_order
from shared.rpc.access import Role
from shared.rpc.server import Server
from shared.sealing import Keyring
from tests.servers import postgres_for_tests, remove, temporary_folder
from tests.services import PUBLIC_KEY, bearer

MEASURE_S = 2.0
CARDS_A_CALL = 4
KEY = "A" * 43 + "="


def per_second(work: Callable[[int], object]) -> float:
    """How often `work` runs in a second, over two."""
    started, count = time.perf_counter(), 0
    while (passed := time.perf_counter() - started) < MEASURE_S:
        work(count)
        count += 1
    return count / passed


def shuffles() -> None:
    """The pure part, on one core."""
    for decks in (1, 6, 8):

        def order(number: int, decks: int = decks) -> object:
            return card_order(number.to_bytes(32, "big"), "shoe", [], decks, 9)

        def seal(number: int, decks: int = decks) -> object:
            return SealedShoe(number.to_bytes(32, "big"), "shoe", [], decks, 9)

        print(f"{decks * 52:4} cards: {per_second(order):8.0f} orders/s", end="")
        print(f" {per_second(seal):8.0f} sealed shoes/s")


async def dealing(tables: int) -> None:
    """`tables` tables that each deal four open cards a call, one call at a time."""
    folder = temporary_folder()
    postgres = postgres_for_tests(folder)
    postgres.server.prepare()
    postgres.process = postgres.program.start()
    await postgres.server.ready(60)
    async with AsyncExitStack() as stack:
        stack.callback(remove, folder)
        stack.callback(postgres.stop)
        database = await postgres.database()
        pool = await open_pool(database.dsn("croupier_shuffle"), 4)
        stack.push_async_callback(pool.close)
        log = await stack.enter_async_context(PostgresLog(pool))
        keys = Keyring("k", {"k": bytes(32)})
        server = Server(
            ShuffleSettings(
                node="bench",
                listen="127.0.0.1:0",
                metrics_listen="127.0.0.1:0",
                token_public_key=PUBLIC_KEY,
                database_dsn="postgresql://unused",  # type: ignore[arg-type]
                nats_url="nats://unused",  # type: ignore[arg-type]
                deployment_key=KEY,  # type: ignore[arg-type]
                seed_key=KEY,  # type: ignore[arg-type]
            )
        )
        shuffle = Shuffle(Shoes(log, ShoeStore(pool, keys), keys))
        add_ShuffleServiceServicer_to_server(shuffle, server.grpc)
        port = await server.start()
        stack.push_async_callback(server.drain)
        channel = grpc.aio.insecure_channel(f"127.0.0.1:{port}")
        stack.push_async_callback(channel.close)
        stub, metadata = ShuffleServiceStub(channel), bearer(Role.TABLE_SERVICE)

        async def table(number: int, until: float) -> int:
            calls = 0
            while time.perf_counter() < until:
                shoe = f"shoe-{number}-{calls}"
                common: dict[str, Any] = {"shoe_id": shoe, "table_id": f"t{number}", "epoch": 1}
                await stub.OpenShoe(
                    pb.OpenShoeRequest(
                        request_id=str(uuid4()),
                        decks=8,
                        cut_min_top=1,
                        cut_min_bottom=1,
                        publish=True,
                        **common,
                    ),
                    metadata=metadata,
                )
                await stub.CutShoe(
                    pb.CutShoeRequest(request_id=str(uuid4()), **common), metadata=metadata
                )
                await stub.SealShoe(
                    pb.SealShoeRequest(request_id=str(uuid4()), **common), metadata=metadata
                )
                for first in range(0, 416, CARDS_A_CALL):
                    draws = [
                        pb.DealRequest.Draw(position=at, use=pb.USE_OPEN)
                        for at in range(first, first + CARDS_A_CALL)
                    ]
                    await stub.Deal(
                        pb.DealRequest(
                            request_id=str(uuid4()), hand_id="hand", draws=draws, **common
                        ),
                        metadata=metadata,
                    )
                    calls += 1
                    if time.perf_counter() >= until:
                        break
            return calls

        await table(10_000, time.perf_counter() + 0.5)
        started, cpu = time.perf_counter(), time.process_time()
        until = started + 3 * MEASURE_S
        calls = sum(await asyncio.gather(*(table(number, until) for number in range(tables))))
        passed, used = time.perf_counter() - started, time.process_time() - cpu
        print(
            f"{tables:4} tables: {calls / passed:7.0f} Deal/s, "
            f"{calls * CARDS_A_CALL / passed:7.0f} cards/s, this process busy {used / passed:.0%}"
        )


def main() -> None:
    """Prints the figures; server and clients share this process."""
    shuffles()
    for tables in (1, 16, 64):
        asyncio.run(dealing(tables))


if __name__ == "__main__":
    main()

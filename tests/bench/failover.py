"""How long a table stands still when its node is killed.

    python -m tests.bench.failover [KILLS]

Two table nodes with the house's own lease and heartbeat; a player at the one that lives waits for
the other's table to go on. Prints median and maximum of the seconds from kill -9 to that update.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from random import Random

from croupier.table.v1 import table_pb2 as pb

from deploy.embedded_nats import EmbeddedNats
from shared.ops.settings import TableSettings
from tests.bench.places import durable_postgres, nats
from tests.integration.table.house import House
from tests.integration.table.nodes import at, owned_by, table_of
from tests.integration.table.people import PlayCall, bet, command
from tests.integration.table.serving import Process
from tests.servers import remove, temporary_folder

KILLS = 50
LEASE_TTL_S = float(TableSettings.model_fields["lease_ttl_s"].default)
HEARTBEAT_S = float(TableSettings.model_fields["heartbeat_s"].default)


async def measure(kills: int) -> None:
    """Prints what was measured."""
    folder = temporary_folder()
    try:
        async with durable_postgres() as postgres, nats() as bus:
            assert isinstance(bus.server, EmbeddedNats)
            house = House(await postgres.database(), bus.server.url, folder)
            await asyncio.gather(house.shuffle_process(), house.wallet(), house.relay())
            own = {"lease_ttl_s": LEASE_TTL_S, "heartbeat_s": HEARTBEAT_S}
            victim = await house.node_process("node-a", **own)
            await house.node_process("node-b", **own)
            table_id = await house.open(table_of("node-a"), node="node-b")
            await owned_by(house, table_id, "node-a")
            ann = await house.seat("ann", table_id, node="node-b")
            took_s = [await _kill(house, victim, ann.play(), table_id) for _ in range(kills)]
            await house.stop()
    finally:
        remove(folder)
    within_s = LEASE_TTL_S + 1
    late = sum(each > within_s for each in took_s)
    print(
        f"{kills} kills: median {statistics.median(took_s):.2f} s, max {max(took_s):.2f} s, "
        f"{late} later than {within_s:g} s (lease of {LEASE_TTL_S:g} s and 1 s)"
    )


async def _kill(house: House, victim: Process, stream: PlayCall, table_id: str) -> float:
    """At any moment between two heartbeats; afterwards the table is where it was again."""
    await stream.watch(table_id)
    await stream.answered(await stream.command(table_id, bet(100)))
    await asyncio.sleep(Random().uniform(0, HEARTBEAT_S))
    began_s = time.monotonic()
    victim.kill()
    await stream.event("TableClaimed")
    took_s = time.monotonic() - began_s
    stream.cancel()
    # Between hands, so that it may move.
    back = command(take_back_bets=pb.TakeBackBets(box=1))
    await at(house, "node-b", "ann").execute(table_id, back)
    await victim.start()
    await owned_by(house, table_id, "node-a")
    return took_s


if __name__ == "__main__":
    asyncio.run(measure(int(sys.argv[1]) if len(sys.argv) > 1 else KILLS))

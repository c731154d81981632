"""What ten thousand open tables cost a node that nobody plays at.

    python -m tests.bench.idle_tables [TABLES] [SECONDS]

Prints the memory of a table and the processor's share while all of them idle, how long a node takes
to take them all up, and the same after it was killed and another one took them over.
"""

from __future__ import annotations

import asyncio
import sys
import time
from functools import partial
from uuid import uuid4

import psutil

from deploy.embedded_nats import EmbeddedNats
from services.table.opening import default_clocks
from services.table.proposal import Proposal, as_append, now_us
from shared.games.play import Game
from shared.games.registry import GAMES
from shared.log import Append, PostgresLog, open_pool
from shared.sealing import Keyring
from shared.table import events as e
from shared.table.codec import TableCodec
from shared.table.decide import decide
from shared.table.sealer import KeyringSealer
from shared.table.state import TableState
from tests.bench.places import durable_postgres, nats
from tests.integration.table.house import House
from tests.integration.table.serving import Process
from tests.polling import eventually
from tests.servers import remove, temporary_folder

TABLES = 10_000
SECONDS = 30.0
AT_ONCE = 200
PATIENCE_S = 1_200.0
READY = """
SELECT count(*) FROM tables.directory d JOIN tables.nodes n
    ON n.node = d.owner AND n.incarnation = d.incarnation AND n.lease_until > clock_timestamp()
WHERE n.node = $1
"""
OPENED = "SELECT count(*) FROM log.streams WHERE stream LIKE 'shuffle/%'"


async def measure(tables: int, seconds: float) -> None:
    """Prints what was measured."""
    folder = temporary_folder()
    try:
        async with durable_postgres() as postgres, nats() as bus:
            assert isinstance(bus.server, EmbeddedNats)
            house = House(await postgres.database(), bus.server.url, folder)
            await house.shuffle_process()
            first = await house.node_process("node-a", lease_ttl_s=3.0, heartbeat_s=1.0)
            empty = memory(first)
            await first.stop()
            await open_tables(house, tables)
            await first.start()
            took_s = await all_at(house, "node-a", tables)
            print(f"{tables} tables taken up for the first time in {took_s:.0f} s")
            await eventually(partial(all_shoes, house, tables), within_s=PATIENCE_S, every_s=0.5)
            await idle(first, empty, tables, seconds)
            second = await house.node_process("node-b", lease_ttl_s=3.0, heartbeat_s=1.0)
            empty = memory(second)
            first.kill()
            took_s = await all_at(house, "node-b", tables)
            print(f"all taken over from a killed node in {took_s:.0f} s, its lease of 3 s included")
            await idle(second, empty, tables, seconds)
            await house.stop()
    finally:
        remove(folder)


async def open_tables(house: House, tables: int) -> None:
    """Writes the first event of each; the node finds them in the log."""
    pool = await open_pool(house.database.dsn("croupier_table"))
    codec = TableCodec(KeyringSealer(Keyring("k1", {"k1": bytes(range(32))})))
    games = list(GAMES.values())
    async with PostgresLog(pool) as log:
        for first in range(0, tables, AT_ONCE):
            numbers = range(first, min(first + AT_ONCE, tables))
            await log.append([_opening(codec, f"t{n}", games[n % len(games)]) for n in numbers])
    await pool.close()


def _opening(codec: TableCodec, table_id: str, game: Game) -> Append:
    between_players = not game.WAGERS
    opened = e.TableOpened(
        table_id,
        f"Table {table_id}",
        game.NAME,
        game.VERSION,
        "{}",
        "EUR",
        default_clocks(grace_s=10.0),
        5 if between_players else 7,
        now_us(),
        100 if between_players else 0,
        False,
    )
    before = TableState()
    events, _ = decide(before, opened)
    proposal = Proposal(lambda at: opened, "bench", uuid4())
    append, _ = as_append(codec, f"table/{table_id}", before, events, proposal)
    return append


async def all_at(house: House, node: str, tables: int) -> float:
    """Waits until the node has all of them; how many seconds it took."""
    began_s = time.monotonic()

    async def there() -> bool:
        return bool((await house.sql(READY, node))[0][0] == tables)

    await eventually(there, within_s=PATIENCE_S, every_s=0.2)
    return time.monotonic() - began_s


async def all_shoes(house: House, tables: int) -> bool:
    """Whether each table's first shoe is opened."""
    return bool((await house.sql(OPENED))[0][0] >= tables)


async def idle(node: Process, empty_bytes: int, tables: int, seconds: float) -> None:
    """Prints memory and processor time while nothing happens."""
    await asyncio.sleep(5)
    process = psutil.Process(served_by(node))
    used = sum(process.cpu_times()[:2])
    await asyncio.sleep(seconds)
    share = (sum(process.cpu_times()[:2]) - used) / seconds
    each = (memory(node) - empty_bytes) / tables / 1024
    print(f"{node.settings.node}: {each:.1f} KiB a table, idle {100 * share:.1f} % of a core")


def memory(node: Process) -> int:
    """Bytes of the process that are its own."""
    return int(psutil.Process(served_by(node)).memory_full_info().uss)


def served_by(node: Process) -> int:
    """The pid of the service itself."""
    assert node.process is not None
    return node.process.pid


if __name__ == "__main__":
    asyncio.run(
        measure(
            int(sys.argv[1]) if len(sys.argv) > 1 else TABLES,
            float(sys.argv[2]) if len(sys.argv) > 2 else SECONDS,
        )
    )

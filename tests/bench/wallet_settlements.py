"""Settlements a second from a log full of them: `python -m tests.bench.wallet_settlements`.

The same Postgres then runs `pgbench -N` (one row changed, one added, a transaction), the usual
measure of a machine. Both write through to the disk.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from uuid import uuid4

import asyncpg
from croupier.table.v1 import events_pb2 as table_events
from google.protobuf.message import Message

from deploy.embedded_nats import EmbeddedNats
from deploy.embedded_postgres import EmbeddedPostgres, binary
from deploy.program import free_port
from services.wallet.cashier import Cashier
from services.wallet.following import apply
from services.wallet.orders import Command, Deposit, OpenAccount
from shared.bus.consumer import Consumer, Consuming
from shared.bus.stream import connect
from shared.log import Append, CommandKey, NewEvent, PostgresLog, open_pool
from shared.money import Money
from tests.ledger import assert_books_hold
from tests.servers import (
    PASSWORD,
    Database,
    PostgresForTests,
    in_own_loop,
    nats_for_tests,
    remove,
    temporary_folder,
)

TABLES = 50
PLAYERS = 5
HANDS_A_TABLE = 400
BOUGHT = 10_000_000
PGBENCH_S = 10
PGBENCH_SCALE = 10


def hand(table: str, number: int) -> Message:
    """A hand in which every player of the table won or lost."""
    return table_events.HandSettled(
        hand_id=f"{table}-{number}",
        lines=[
            table_events.SettledLine(
                box=seat, player=f"{table}p{seat}", wager="player", stake=100, returned=195 * won
            )
            for seat in range(PLAYERS)
            for won in [(number + seat) % 2]
        ],
    )


async def fill(database: Database) -> int:
    """Accounts, tables, buy-ins, then the hands; how many hands."""
    wallet = await open_pool(database.dsn("croupier_wallet"), max_size=2)
    cashier = Cashier(wallet, lambda moved: None)
    players = [f"t{table}p{seat}" for table in range(TABLES) for seat in range(PLAYERS)]

    def command(player: str, order: OpenAccount | Deposit) -> Command:
        return Command(CommandKey("bench", uuid4(), bytes(32)), uuid4(), player, order)

    await asyncio.gather(*(cashier.execute(command(p, OpenAccount("EUR"))) for p in players))
    money = Deposit(Money("EUR", BOUGHT), "")
    await asyncio.gather(*(cashier.execute(command(p, money)) for p in players))
    await wallet.close()

    pool = await open_pool(database.dsn("croupier_table"), max_size=2)
    async with PostgresLog(pool) as log:
        tables = [f"t{table}" for table in range(TABLES)]
        opening: dict[str, list[Message]] = {
            table: [
                table_events.TableOpened(currency="EUR", game="baccarat"),
                *(
                    table_events.ChipsRequested(player=f"{table}p{seat}", amount=BOUGHT)
                    for seat in range(PLAYERS)
                ),
            ]
            for table in tables
        }
        await write(log, 0, opening)
        for number in range(HANDS_A_TABLE):
            await write(log, 1 + PLAYERS + number, {t: [hand(t, number)] for t in tables})
    await pool.close()
    return TABLES * HANDS_A_TABLE


async def write(log: PostgresLog, version: int, bodies: dict[str, list[Message]]) -> None:
    """One append a table."""
    await log.append(
        [
            Append(
                uuid4(),
                f"table/{table}",
                version,
                tuple(
                    NewEvent(body.DESCRIPTOR.name, body.SerializeToString(), "table")
                    for body in events
                ),
            )
            for table, events in bodies.items()
        ]
    )


async def settle(database: Database, nats_url: str, hands: int) -> float:
    """Seconds from the consumer's first hand to the last."""
    root = await asyncpg.connect(database.dsn())
    head = await root.fetchval("SELECT position FROM log.partitions WHERE name = 'table.0'")
    client = await connect(nats_url, "bench")
    consuming = Consuming("wallet", "wallet", apply, lambda moved: None)
    consumer = Consumer(consuming, "table.0", database.dsn("croupier_wallet"), client)
    started = time.perf_counter()
    following = asyncio.create_task(consumer.run())
    while await root.fetchval("SELECT max(position) FROM wallet.consumer_positions") != head:
        await asyncio.sleep(0.02)
    passed_s = time.perf_counter() - started
    following.cancel()
    await asyncio.wait([following])
    await client.close()
    books = await assert_books_hold(root)
    assert len(books.transfers) >= hands
    await root.close()
    return passed_s


def pgbench(server: EmbeddedPostgres) -> float:
    """Transactions a second of `pgbench -N`, eight clients."""
    program = str(binary("pgbench"))
    environment = {**os.environ, "PGPASSWORD": server.password}
    there = ["-h", "127.0.0.1", "-p", str(server.port), "-U", "postgres"]
    in_own_loop(_make_database(server.dsn(), "pgbench"))
    subprocess.run(
        [program, *there, "-i", "-q", "-s", str(PGBENCH_SCALE), "pgbench"],
        env=environment,
        check=True,
        capture_output=True,
    )
    ran = subprocess.run(
        [program, *there, "-N", "-c", "8", "-j", "2", "-T", str(PGBENCH_S), "pgbench"],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    [line] = [line for line in ran.stdout.splitlines() if line.startswith("tps")]
    return float(line.split()[2])


async def _make_database(dsn: str, name: str) -> None:
    connection = await asyncpg.connect(dsn)
    await connection.execute(f"CREATE DATABASE {name}")
    await connection.close()


def main() -> None:
    """Measures and prints."""
    folder = temporary_folder()
    server = EmbeddedPostgres(folder / "postgres", free_port(), PASSWORD)
    folder.joinpath("postgres").mkdir()
    server.prepare()
    postgres = PostgresForTests(server.program(folder / "postgres.log"), server=server)
    nats = nats_for_tests(folder)
    postgres.start()
    nats.start()
    try:
        database = in_own_loop(postgres.database())
        hands = in_own_loop(fill(database))
        assert isinstance(nats.server, EmbeddedNats)
        passed_s = in_own_loop(settle(database, nats.server.url, hands))
        print(f"{hands} settlements of {PLAYERS + 1} legs in {passed_s:.2f} s", end=": ")
        print(f"{hands / passed_s:.0f} settlements/s")
        tps = pgbench(server)
        print(f"pgbench -N: {tps:.0f} transactions/s", end="; ")
        print(f"settlements are {hands / passed_s / tps:.2f} times that")
    finally:
        nats.stop()
        postgres.stop()
        remove(folder)


if __name__ == "__main__":
    main()

"""Settlements by the wallet's consumer, beside the best of pgbench on the same Postgres."""

from __future__ import annotations

import asyncio
import os
import time
from uuid import uuid4

import asyncpg
from croupier.table.v1 import events_pb2 as table_events
from google.protobuf.message import Message
from nats.aio.client import Client

from deploy.embedded_nats import EmbeddedNats
from deploy.embedded_postgres import EmbeddedPostgres, binary
from services.wallet.cashier import Cashier
from services.wallet.following import apply
from services.wallet.orders import Command, Deposit, OpenAccount
from services.wallet.table_events import MONEY_EVENTS
from shared.bus.consumer import Consumer, Consuming
from shared.bus.stream import connect
from shared.log import Append, CommandKey, NewEvent, PostgresLog, open_pool
from shared.money import Money
from tests.bench.figures import Effort, Figure
from tests.bench.places import durable_postgres, nats
from tests.ledger import assert_books_hold
from tests.polling import eventually
from tests.servers import Database

TABLES = 50
HANDS_A_TABLE = 400
BOUGHT_MINOR = 10_000_000
GIVE_UP_AFTER_S = 300.0
CLIENTS = (1, 2, 4, 8, 16, 32)
_PGBENCH_SCALE = 10


async def settlements(effort: Effort) -> list[Figure]:
    """One player and the house a hand, from a log full of hands."""
    figure = Figure(
        "settlements",
        "settlements a second: the wallet's consumer, one player and the house",
        "1/s",
        f"best of pgbench -N -M prepared, {CLIENTS[0]} to {CLIENTS[-1]} clients",
        1.0,
    )
    async with durable_postgres() as postgres, nats() as bus:
        assert isinstance(bus.server, EmbeddedNats)
        client = await connect(bus.server.url, "bench")
        await _prepare_pgbench(postgres.server)
        best = 0
        for _ in range(effort.turns):
            rates = {
                clients: await pgbench_rate(postgres.server, clients, effort.seconds)
                # The best of the first turn, and its neighbours, is enough for the others.
                for clients in CLIENTS
                if best == 0 or best / 2 <= clients <= 2 * best
            }
            best = max(rates, key=rates.__getitem__)
            database = await postgres.database()
            hands = await fill(database, TABLES, HANDS_A_TABLE)
            figure.add(hands / await settle(database, client, hands), rates[best])
            figure.notes.setdefault("pgbench", []).append(rates)
            await postgres.drop(database)
        await client.close()
    return [figure]


async def fill(database: Database, tables: int, hands_a_table: int, accounts: int = 0) -> int:
    """Accounts (those of the tables' players and so many others), tables, buy-ins, then hands; how
    many hands."""
    wallet = await open_pool(database.dsn("croupier_wallet"), max_size=2)
    cashier = Cashier(wallet, lambda moved: None)
    players = [f"t{table}p" for table in range(tables)]
    limit = asyncio.Semaphore(64)

    async def order(player: str, what: OpenAccount | Deposit) -> None:
        async with limit:
            key = CommandKey("bench", uuid4(), bytes(32))
            await cashier.execute(Command(key, uuid4(), player, what))

    everybody = [*players, *(f"other{number}" for number in range(accounts))]
    await asyncio.gather(*(order(player, OpenAccount("EUR")) for player in everybody))
    money = Deposit(Money("EUR", BOUGHT_MINOR), "")
    await asyncio.gather(*(order(player, money) for player in players))
    await wallet.close()

    pool = await open_pool(database.dsn("croupier_table"), max_size=2)
    async with PostgresLog(pool) as log:
        names = [f"t{table}" for table in range(tables)]
        opening: dict[str, list[Message]] = {
            table: [
                table_events.TableOpened(currency="EUR", game="baccarat"),
                table_events.ChipsRequested(player=f"{table}p", amount=BOUGHT_MINOR),
            ]
            for table in names
        }
        await _write(log, 0, opening)
        for number in range(hands_a_table):
            await _write(log, 2 + number, {table: [_hand(table, number)] for table in names})
    await pool.close()
    return tables * hands_a_table


async def settle(database: Database, client: Client, hands: int) -> float:
    """Seconds from the consumer's start to the last hand; then the books are checked."""
    root = await asyncpg.connect(database.dsn())
    head = await root.fetchval("SELECT position FROM log.partitions WHERE name = 'table.0'")
    consuming = Consuming("wallet", "wallet", apply, lambda moved: None, MONEY_EVENTS)
    consumer = Consumer(consuming, "table.0", database.dsn("croupier_wallet"), client)
    started = time.perf_counter()
    following = asyncio.create_task(consumer.run())

    async def settled() -> bool:
        position = await root.fetchval("SELECT max(position) FROM wallet.consumer_positions")
        return bool(position == head)

    await eventually(settled, within_s=GIVE_UP_AFTER_S, every_s=0.02)
    passed_s = time.perf_counter() - started
    following.cancel()
    await asyncio.wait([following])
    books = await assert_books_hold(root)
    assert len(books.transfers) >= hands
    await root.close()
    return passed_s


def _hand(table: str, number: int) -> Message:
    """A hand that its one player won or lost."""
    line = table_events.SettledLine(
        box=1, player=f"{table}p", wager="player", stake=100, returned=200 * (number % 2)
    )
    return table_events.HandSettled(hand_id=f"{table}-{number}", lines=[line])


async def _write(log: PostgresLog, version: int, bodies: dict[str, list[Message]]) -> None:
    """One append a table."""
    appends = [
        Append(
            uuid4(),
            f"table/{table}",
            version,
            tuple(
                NewEvent(body.DESCRIPTOR.name, body.SerializeToString(), "table") for body in events
            ),
        )
        for table, events in bodies.items()
    ]
    await log.append(appends)


async def _prepare_pgbench(server: EmbeddedPostgres) -> None:
    connection = await asyncpg.connect(server.dsn())
    await connection.execute("CREATE DATABASE pgbench")
    await connection.close()
    await _pgbench(server, "-i", "-q", "-s", str(_PGBENCH_SCALE))


async def pgbench_rate(server: EmbeddedPostgres, clients: int, seconds: float) -> float:
    """Transactions a second of `pgbench -N`: one row changed, one added."""
    words = ("-N", "-M", "prepared", "-c", str(clients), "-j", str(min(2, clients)))
    told = await _pgbench(server, *words, "-T", str(max(1, round(seconds))))
    [line] = [line for line in told.splitlines() if line.startswith("tps")]
    return float(line.split()[2])


async def _pgbench(server: EmbeddedPostgres, *words: str) -> str:
    program = await asyncio.create_subprocess_exec(
        str(binary("pgbench")),
        *("-h", "127.0.0.1", "-p", str(server.port), "-U", "postgres", *words, "pgbench"),
        env={**os.environ, "PGPASSWORD": server.password},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await program.communicate()
    if program.returncode != 0:
        raise RuntimeError(err.decode())
    return out.decode()

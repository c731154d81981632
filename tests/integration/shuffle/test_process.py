"""The service as a process of its own: killed in mid-shoe, made to fail, stopped cleanly."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from base64 import b64encode
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import grpc
import pytest

from deploy.embedded_nats import EmbeddedNats
from deploy.program import Program, free_port
from deploy.programs import serves
from services.shuffle.storage import ShoeStore
from shared.log import open_pool
from shared.proofs.sealed_shoe import SealedShoe
from shared.sealing import Keyring
from tests.integration.shuffle.conftest import (
    DOWN,
    OPEN,
    PLAYER,
    Desk,
    Draw,
    holds,
    refusal,
    request_id,
)
from tests.polling import eventually
from tests.servers import Database, Running
from tests.services import PUBLIC_KEY

FIELD_KEY, SEED_KEY, OTHER_KEY = bytes([1] * 32), bytes([2] * 32), bytes([3] * 32)
STOP_TIMEOUT_S = 20


@dataclass
class Service:
    """A shuffle process on a port of its own; `log` collects what all its runs print."""

    database: Database
    nats_url: str
    log: Path
    port: int
    metrics_port: int
    process: subprocess.Popen[bytes] | None = None

    async def start(self, seed_key: bytes = SEED_KEY) -> None:
        env = {
            "CROUPIER_NODE": "shuffle-1",
            "CROUPIER_LISTEN": f"127.0.0.1:{self.port}",
            "CROUPIER_METRICS_LISTEN": f"127.0.0.1:{self.metrics_port}",
            "CROUPIER_TOKEN_PUBLIC_KEY": PUBLIC_KEY,
            "CROUPIER_DATABASE_DSN": self.database.dsn("croupier_shuffle"),
            "CROUPIER_NATS_URL": self.nats_url,
            "CROUPIER_DEPLOYMENT_KEY": b64encode(FIELD_KEY).decode(),
            "CROUPIER_SEED_KEY": b64encode(seed_key).decode(),
        }
        argv = (sys.executable, "-m", "deploy.serve", "shuffle")
        self.process = Program("shuffle", argv, self.log, env).start()
        await eventually(lambda: serves(f"127.0.0.1:{self.port}"), within_s=30)

    def end(self, number: signal.Signals) -> int:
        """Sends the signal and waits; the exit status."""
        assert self.process is not None
        self.process.send_signal(number)
        status = self.process.wait(STOP_TIMEOUT_S)
        self.process = None
        return status

    @asynccontextmanager
    async def desk(self, shoe: str) -> AsyncIterator[Desk]:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{self.port}") as channel:
            yield Desk(channel, shoe)


@pytest.fixture
def service(database: Database, nats_server: Running, tmp_path: Path) -> Iterator[Service]:
    assert isinstance(nats_server.server, EmbeddedNats)
    service = Service(
        database, nats_server.server.url, tmp_path / "shuffle.log", free_port(), free_port()
    )
    yield service
    if service.process is not None:
        service.end(signal.SIGKILL)


async def test_killed_in_mid_shoe_it_goes_on_with_the_same_cards(
    service: Service, shoe: str
) -> None:
    await service.start()
    asked = request_id()
    draws = [Draw(position=at, use=OPEN) for at in range(4)]
    async with service.desk(shoe) as desk:
        root = await desk.ready()
        answer = await desk.deal(*draws, again=asked)
        private = await desk.deal(Draw(position=4, use=PLAYER, player="ann"))
    service.end(signal.SIGKILL)
    await service.start()
    async with service.desk(shoe) as desk:
        assert await desk.deal(*draws, again=asked) == answer
        turned = await desk.deal(Draw(position=4, use=OPEN), Draw(position=5, use=OPEN))
        assert turned.cards[0] == private.cards[0]
        assert holds(root, shoe, turned.cards[1])
    assert service.end(signal.SIGTERM) == 0


Secrets = list[bytes]


async def secrets_of(database: Database, desk: Desk) -> Secrets:
    """Seed, keys and the salts of the shoe, as text of any kind might hold them."""
    pool = await open_pool(database.dsn("croupier_shuffle"), 1)
    try:
        store = ShoeStore(pool, Keyring("s1", {"s1": SEED_KEY}))
        seed = await store.server_seed(desk.shoe)
    finally:
        await pool.close()
    known = await desk.get()
    cards = SealedShoe(seed, desk.shoe, [], known.decks, known.cut_at)
    assert cards.root == known.root
    raw = [seed, SEED_KEY, FIELD_KEY, *(cards.show(at).salt for at in range(len(cards)))]
    order = "".join(str(cards.show(at).card) for at in range(8))
    forms: list[Callable[[bytes], bytes]] = [
        bytes,
        lambda secret: secret.hex().encode(),
        b64encode,
        lambda secret: repr(secret)[2:-1].encode(),
        lambda secret: json.dumps(repr(secret))[3:-2].encode(),
    ]
    return [order.encode(), *(form(secret) for secret in raw for form in forms)]


def tracebacks(log: Path) -> list[str]:
    """The kinds of the errors that were logged with their traceback."""
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    return [line["exception"][0]["exc_type"] for line in lines if "exception" in line]


async def test_no_error_path_tells_a_secret(service: Service, shoe: str) -> None:
    """Each failure is logged with its traceback, and with no value that stood beside it."""
    await service.start()
    superuser = await asyncpg.connect(service.database.dsn())
    async with service.desk(shoe) as desk:
        await desk.ready(publish=False)
        secrets = await secrets_of(service.database, desk)
        # The log refuses the append while shoe, salts and cards are at hand.
        await superuser.execute("ALTER FUNCTION log.append RENAME TO append_away")
        assert await refusal(desk.deal(Draw(position=0, use=OPEN))) == "INTERNAL"
        assert await refusal(desk.open(f"{shoe}-2")) == "INTERNAL"
        await superuser.execute("ALTER FUNCTION log.append_away RENAME TO append")
        await desk.deal(Draw(position=0, use=PLAYER, player="ann"), Draw(position=1, use=DOWN))
        # The seed cannot be read.
        await desk.open(f"{shoe}-3")
        await superuser.execute("ALTER TABLE shuffle.seeds RENAME TO seeds_away")
        assert await refusal(desk.cut(shoe_id=f"{shoe}-3")) == "INTERNAL"
        await superuser.execute("ALTER TABLE shuffle.seeds_away RENAME TO seeds")
        # A refusal with everything in memory.
        assert await refusal(desk.deal(Draw(position=9, use=OPEN))) == "BAD_POSITION"
    service.end(signal.SIGKILL)
    await service.start(seed_key=OTHER_KEY)
    async with service.desk(shoe) as desk:
        assert await refusal(desk.deal(Draw(position=2, use=OPEN))) == "INTERNAL"
    assert service.end(signal.SIGTERM) == 0
    await superuser.close()
    assert set(tracebacks(service.log)) == {
        "UndefinedFunctionError",
        "UndefinedTableError",
        "UnsealError",
    }
    printed = service.log.read_bytes()
    assert [secret for secret in secrets if secret in printed] == []


async def test_metrics_count_without_naming_anything(service: Service, shoe: str) -> None:
    await service.start()
    async with service.desk(shoe) as desk:
        await desk.ready(publish=False)
        await desk.deal(Draw(position=0, use=OPEN), Draw(position=1, use=DOWN))
        secrets = await secrets_of(service.database, desk)
    reader, writer = await asyncio.open_connection("127.0.0.1", service.metrics_port)
    writer.write(b"GET /metrics HTTP/1.0\r\n\r\n")
    told = await reader.read()
    writer.close()
    assert b"croupier_shuffle_shoes_opened_total 1.0" in told
    assert b'croupier_shuffle_cards_total{use="shown"} 1.0' in told
    assert b"croupier_shuffle_live_shoes 1.0" in told
    assert shoe.encode() not in told
    assert [secret for secret in secrets if secret in told] == []
    assert service.end(signal.SIGTERM) == 0

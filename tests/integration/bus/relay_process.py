"""A relay that a test can kill or pause. Arguments: DSN, NATS URL, seconds until it is given up."""

from __future__ import annotations

import asyncio
import sys

from services.relay.relay import Relay
from shared.bus.stream import connect
from shared.log import PostgresLog, open_pool, turns


async def main(dsn: str, nats_url: str, held_up_s: int) -> None:
    turns.HELD_UP_S = held_up_s
    client = await connect(nats_url, "relay to be killed")
    pool = await open_pool(dsn)
    await Relay(PostgresLog(pool), dsn, client).run()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))

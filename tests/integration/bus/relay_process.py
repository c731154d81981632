"""A relay that a test can kill or pause. Arguments: DSN, NATS URL, seconds until it is given up,
and after how many messages it is to be killed (0: never)."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import sys

from services.relay.relay import Relay
from shared.bus import publisher
from shared.bus.batch import Batch, encode
from shared.bus.stream import connect
from shared.log import PostgresLog, open_pool, turns


def die_after(messages: int) -> None:
    """kill -9 while the next message is made: so many were sent, and some of them lately."""
    sent = itertools.count()

    def encode_or_die(batch: Batch) -> bytes:
        if next(sent) == messages:
            os.kill(os.getpid(), signal.SIGKILL)
        return encode(batch)

    publisher.encode = encode_or_die  # type: ignore[attr-defined]


async def main(dsn: str, nats_url: str, held_up_s: int, messages: int) -> None:
    turns.HELD_UP_S = held_up_s
    if messages:
        die_after(messages)
    client = await connect(nats_url, "relay to be killed")
    pool = await open_pool(dsn)
    await Relay(PostgresLog(pool), dsn, client).run()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))

"""A consumer that is killed right after its first commit. Arguments: DSN, NATS URL."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from dataclasses import replace

from shared.bus.consumer import Consumer
from shared.bus.stream import connect
from tests.integration.bus.probe import Probe


def die(_: frozenset[str]) -> None:
    """Called between the commit and the acknowledgement."""
    os.kill(os.getpid(), signal.SIGKILL)


async def main(dsn: str, nats_url: str) -> None:
    client = await connect(nats_url, "consumer to be killed")
    consuming = Probe(moved=frozenset({"wallet.0"})).consuming()
    await Consumer(replace(consuming, on_committed=die), "table.0", dsn, client).run()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))

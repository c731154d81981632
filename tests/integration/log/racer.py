"""A process that appends as fast as it can, in competition with others: see test_race.py.

Arguments: DSN, a name, appends to make. Writes one line for each append that the log took:
stream, version and payload.
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections import Counter
from uuid import uuid4

from shared.log import Append, NewEvent, Outcome, PostgresLog, open_pool

WRITERS = 4
SHARED = ["table/shared-0", "table/shared-1"]


async def main(dsn: str, name: str, appends: int) -> None:
    pool = await open_pool(dsn, max_size=2)
    taken: list[str] = []
    async with PostgresLog(pool) as log:
        await asyncio.gather(
            *(write(log, f"{name}-{number}", appends, taken) for number in range(WRITERS))
        )
    await pool.close()
    sys.stdout.write("\n".join(taken) + "\n")


async def write(log: PostgresLog, name: str, appends: int, taken: list[str]) -> None:
    """Appends to a stream of its own and to the shared ones; repeats some that are in already."""
    source = random.Random(name)
    own = f"table/own-{name}"
    versions: Counter[str] = Counter()
    last: Append | None = None
    for number in range(appends):
        streams = {own, source.choice(SHARED)}
        payload = f"{name}:{number}"
        while streams:
            calls = [
                Append(
                    uuid4(),
                    stream,
                    versions[stream],
                    (NewEvent("BetPlaced", payload.encode(), name),),
                )
                for stream in sorted(streams)
            ]
            if last is not None and last.stream not in streams and source.random() < 0.2:
                calls.append(last)
            for call, answer in zip(calls, await log.append(calls), strict=True):
                versions[call.stream] = answer.last_version
                if answer.outcome is Outcome.OK:
                    taken.append(f"{call.stream} {answer.last_version} {payload}")
                    streams.discard(call.stream)
                    last = call


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))

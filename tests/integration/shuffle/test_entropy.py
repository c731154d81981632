"""Every shoe has entropy of its own: two replicas and a fork never share a stream."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

from tests.integration.shuffle.conftest import Start

ROOT = Path(__file__).parents[3]
FORKS = """
import asyncio, json, os
from uuid import uuid4
from services.shuffle.decide import Asker
from services.shuffle.shoes import Request
from tests.playing import FIELD_KEYS
from tests.unit.audit.given import MemoryLog, MemoryStore
from services.shuffle.shoes import Shoes

log = MemoryLog()
store = MemoryStore(log)
shoes = Shoes(log, store, FIELD_KEYS)

def opened(shoe_id):
    request = Request(uuid4(), bytes(32), "table/t1", "node-1", uuid4(), shoe_id)
    asyncio.run(shoes.open(request, Asker("t1", 1), 1, (1, 1), 0, False))
    return store.seeds[shoe_id].hex()

# Whatever state there is of a first shoe, all have it.
seeds = [opened("first")]
read, write = os.pipe()
for _ in range(3):
    if os.fork() == 0:
        os.write(write, (opened("second") + "\\n").encode())
        os._exit(0)
    os.wait()
seeds.append(opened("second"))
os.close(write)
with os.fdopen(read) as file:
    seeds += file.read().split()
print(json.dumps(seeds))
"""


async def test_two_replicas_never_share_a_stream(start: Start) -> None:
    """Opened at the same moment, by processes that have just started alike."""
    one, other = (await start()).desk, (await start()).desk
    shoes = [f"{one.shoe}-{number}" for number in range(20)]
    await asyncio.gather(
        *((one, other)[number % 2].open(shoe) for number, shoe in enumerate(shoes))
    )
    seeds = {await one.retire(shoe) for shoe in shoes}
    assert len(seeds) == 20
    assert {len(seed) for seed in seeds} == {32}


def test_a_fork_never_shares_a_stream() -> None:
    """The same shoe, opened by a process and its three forks from the same state."""
    done = subprocess.run(
        (sys.executable, "-c", FORKS),
        cwd=ROOT,
        env={"PYTHONPATH": f"{ROOT}:{ROOT / 'build' / 'stubs'}", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    seeds = json.loads(done.stdout)
    assert len(seeds) == len(set(seeds)) == 5

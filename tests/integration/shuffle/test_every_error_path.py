"""Every call that can fail is made to fail, and everything that can break is broken: what is told,
logged and counted then holds no seed, no key, no salt and no card that nobody has seen.

Over a log and a store in memory, and a real server.
"""

from __future__ import annotations

import io
import json
import logging
import sys
import traceback
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, cast

import asyncpg
import grpc
import pytest
import structlog
from croupier.shuffle.v1 import events_pb2
from croupier.shuffle.v1.shuffle_pb2_grpc import add_ShuffleServiceServicer_to_server
from prometheus_client import generate_latest

from services.shuffle import codec, shoes
from services.shuffle.server import Shuffle
from services.shuffle.shoes import Shoes
from services.shuffle.storage import SeedGoneError, ShoeStore
from shared.errors import CroupierError
from shared.log import LogUnavailableError, MemoryLog
from shared.ops import logs
from shared.proofs.sealed_shoe import SealedShoe
from shared.rpc.access import Role
from shared.rpc.server import Server
from shared.sealing import Keyring, UnsealError
from tests.integration.shuffle.conftest import (
    BURN,
    DOWN,
    FIELD_KEYS,
    OPEN,
    PLAYER,
    SEED_KEYS,
    Desk,
    Draw,
)
from tests.services import settings_without_servers
from tests.unit.audit.given import MemoryStore

FAULTS: tuple[Exception, ...] = (
    LogUnavailableError("the log does not answer"),
    asyncpg.UndefinedTableError("no such table"),
    SeedGoneError("no seed is stored"),
    UnsealError("altered, or not sealed for this"),
    RuntimeError("broken"),
)
_ASYNC = ("append", "read_stream", "find_command")
_STORED = ("server_seed", "append_opening", "append_player_seed", "append_retiring")


@dataclass
class Breaker:
    """Counts calls of what may fail, and lets the `at`th fail with `fault`."""

    fault: Exception
    at: int
    calls: int = 0

    def around(self, target: Any, names: tuple[str, ...]) -> Any:
        for name in names:
            setattr(target, name, self._wrap(getattr(target, name)))
        return target

    def _wrap(self, call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def guarded(*arguments: Any, **options: Any) -> Any:
            self.calls += 1
            if self.calls == self.at:
                raise self.fault
            return await call(*arguments, **options)

        return guarded


@dataclass
class Told:
    """All that came out, but for the answers."""

    logged: io.StringIO
    refusals: list[str] = field(default_factory=list)

    def text(self) -> bytes:
        metrics = generate_latest()
        return "\n".join([self.logged.getvalue(), *self.refusals]).encode() + metrics


def loggers_anew() -> None:
    """A logger keeps the stream that it was first used with: each module gets another."""
    for name, module in list(sys.modules.items()):
        if name.startswith(("services.", "shared.")) and hasattr(module, "_log"):
            vars(module)["_log"] = structlog.get_logger()


@asynccontextmanager
async def service(breaker: Breaker) -> AsyncIterator[tuple[Desk, Told, MemoryStore]]:
    log = MemoryLog()
    store = MemoryStore(log)
    breaker.around(log, _ASYNC)
    breaker.around(store, _STORED)
    told = Told(io.StringIO())
    before = logging.root.handlers[:], logging.root.level
    logs.set_up("debug", told.logged)
    loggers_anew()
    async with AsyncExitStack() as stack:
        server = Server(settings_without_servers())
        made = Shoes(log, cast(ShoeStore, store), FIELD_KEYS)
        add_ShuffleServiceServicer_to_server(Shuffle(made), server.grpc)
        port = await server.start()
        stack.push_async_callback(server.drain)
        channel = grpc.aio.insecure_channel(f"127.0.0.1:{port}")
        stack.push_async_callback(channel.close)
        yield Desk(channel, "shoe-1"), told, store
    structlog.reset_defaults()
    loggers_anew()
    logging.root.handlers[:], logging.root.level = before


async def a_shoes_life(desk: Desk, told: Told) -> None:
    """Every method, each tried again once if it fails."""
    ann = desk.seed("ann")
    audit = desk.at(role=Role.AUDIT_SERVICE, subject="audit")
    steps: tuple[Callable[[], Awaitable[Any]], ...] = (
        lambda: desk.open(publish=False, decks=1, behind_cut_card=0),
        lambda: desk.commit("ann", ann),
        lambda: desk.cut(),
        lambda: desk.open_seed("ann", ann),
        lambda: desk.seal(),
        lambda: desk.deal(
            Draw(position=0, use=OPEN),
            Draw(position=1, use=PLAYER, player="ann"),
            Draw(position=2, use=DOWN),
            Draw(position=3, use=BURN),
        ),
        lambda: desk.deal(Draw(position=1, use=OPEN), Draw(position=4, use=DOWN)),
        lambda: desk.deal(Draw(position=9, use=OPEN)),  # refused, with all of it in memory
        lambda: desk.claim(),
        lambda: desk.get(),
        lambda: desk.retire(reason=events_pb2.RETIRE_REASON_ABORTED),
        lambda: audit.disclose(),
    )
    for step in steps:
        for _ in range(2):
            try:
                await step()
            except CroupierError as refused:
                told.refusals.append(
                    f"{refused.reason} {refused.message} {refused.field} {refused.facts}"
                )
                told.refusals.append("".join(traceback.format_exception(refused)))
            else:
                break


def secrets_of(store: MemoryStore, shoe: SealedShoe | None) -> Iterator[bytes]:
    raw = [*store.seeds.values(), *FIELD_KEYS.keys.values(), *SEED_KEYS.keys.values()]
    if shoe is not None:
        unseen = [shoe.show(at) for at in range(2, 52)]
        raw += [card.salt for card in unseen]
        raw += [node for card in unseen[:2] for node in card.path[:1]]
        for first in range(len(unseen) - 5):
            row = [card.card for card in unseen[first : first + 6]]
            yield bytes(row)
            for between in ("", " ", ",", ", ", '", "', "', '"):
                yield between.join(map(str, row)).encode()
                yield between.join(str(int(card)) for card in row).encode()
    for secret in raw:
        yield secret
        yield secret.hex().encode()
        yield b64encode(secret)
        yield repr(secret)[2:-1].encode()
        yield json.dumps(repr(secret))[3:-2].encode()


async def sealed_shoe(desk: Desk, store: MemoryStore) -> SealedShoe | None:
    """The shoe as it really was, if it came as far as its seal."""
    with suppress(CroupierError):
        known = await desk.get()
        if known.root:
            seeds = [(seed.player, seed.seed) for seed in known.seeds if seed.seed]
            seed = store.seeds[desk.shoe]
            shoe = SealedShoe(seed, desk.shoe, seeds, known.decks, known.cut_at)
            assert shoe.root == known.root
            return shoe
    return None


async def leaks(desk: Desk, told: Told, store: MemoryStore) -> list[bytes]:
    text = told.text()
    shoe = await sealed_shoe(desk, store)
    return [secret for secret in secrets_of(store, shoe) if secret in text]


async def test_the_search_finds_what_is_told() -> None:
    """Else it would find nothing for another reason."""
    async with service(Breaker(FAULTS[0], 0)) as (desk, told, store):
        await a_shoes_life(desk, told)
        assert await leaks(desk, told, store) == []
        shoe = await sealed_shoe(desk, store)
        assert shoe is not None
        structlog.get_logger().info("oops", salt=shoe.show(7).salt.hex())
        told.refusals.append(" ".join(str(shoe.show(at).card) for at in range(20, 26)))
        structlog.get_logger().error("oops", seed=repr(store.seeds[desk.shoe]))
        assert len(await leaks(desk, told, store)) == 3


async def calls_of_a_life() -> int:
    breaker = Breaker(FAULTS[0], 0)
    async with service(breaker) as (desk, told, _):
        await a_shoes_life(desk, told)
    return breaker.calls


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
async def test_whichever_call_fails_no_secret_is_told(fault: Exception) -> None:
    calls = await calls_of_a_life()
    assert calls > 20
    failed = 0
    for at in range(1, calls + 1):
        async with service(Breaker(fault, at)) as (desk, told, store):
            await a_shoes_life(desk, told)
            assert await leaks(desk, told, store) == [], f"call {at}"
            failed += len(told.refusals) > 2
    assert failed > calls // 2


@pytest.mark.parametrize(
    ("place", "name"),
    [
        (codec.Writer, "message"),
        (codec.Writer, "proof"),
        (codec, "read"),
        (shoes, "decide"),
        (shoes, "dealer_cut"),
        (SealedShoe, "show"),
        (SealedShoe, "__init__"),
        (Keyring, "seal_field"),
    ],
)
async def test_whatever_breaks_no_secret_is_told(
    monkeypatch: pytest.MonkeyPatch, place: Any, name: str
) -> None:
    """A fault of ours, with seeds, salts and cards in the frames of the traceback."""
    async with service(Breaker(FAULTS[0], 0)) as (desk, told, store):

        def broken(*arguments: Any, **options: Any) -> Any:
            held = (arguments, options)  # in a frame, where a debugger would show it
            raise RuntimeError(f"{name} is broken") from KeyError(len(held))

        with monkeypatch.context() as patch:
            patch.setattr(place, name, broken)
            await a_shoes_life(desk, told)
        assert f"{name} is broken" in told.logged.getvalue()
        assert f"{name} is broken" not in "".join(told.refusals)
        await a_shoes_life(desk, told)
        assert await leaks(desk, told, store) == []

"""Cards for many tables in one call: a call to shuffle costs more than the cards in it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from contextvars import Context
from uuid import uuid4

import grpc
from croupier.shuffle.v1 import shuffle_pb2, shuffle_pb2_grpc

from shared.errors import CroupierError
from shared.rpc.caller import bind
from shared.rpc.channel import call_metadata
from shared.rpc.errors import from_rpc_error

MOST_AT_ONCE = 64
CALL_TIMEOUT_S = 10.0
HELD_UP_S = 0.05
"""A call that takes longer keeps nobody else from his cards: the next one is made beside it."""

_Waiting = tuple[shuffle_pb2.DealRequest, "asyncio.Future[shuffle_pb2.DealResponse]"]


class Dealing:
    """Asks shuffle for the cards of this node's tables. What is asked for while a call is under way
    goes into the next one together, as the log's group commit does it: nobody waits for a timer."""

    def __init__(
        self, shuffle: shuffle_pb2_grpc.ShuffleServiceAsyncStub, service_token: str
    ) -> None:
        self._shuffle = shuffle
        self._token = service_token
        self._waiting: deque[_Waiting] = deque()
        self._running: asyncio.Task[None] | None = None
        self._calls: set[asyncio.Task[None]] = set()

    async def deal(self, request: shuffle_pb2.DealRequest) -> shuffle_pb2.DealResponse:
        """The cards; raises the `CroupierError` that shuffle's refusal tells."""
        answer: asyncio.Future[shuffle_pb2.DealResponse]
        answer = asyncio.get_running_loop().create_future()
        self._waiting.append((request, answer))
        if self._running is None:
            self._running = asyncio.create_task(self._run(), name="deals", context=Context())
        return await answer

    async def _run(self) -> None:
        try:
            while self._waiting:
                many = [
                    self._waiting.popleft() for _ in range(min(len(self._waiting), MOST_AT_ONCE))
                ]
                # Whoever has given up meanwhile asks again by himself.
                many = [waiting for waiting in many if not waiting[1].done()]
                call = asyncio.create_task(self._ask(many))
                self._calls.add(call)
                call.add_done_callback(self._calls.discard)
                await asyncio.wait({call}, timeout=HELD_UP_S)
        finally:
            self._running = None

    async def _ask(self, many: Sequence[_Waiting]) -> None:
        if not many:
            return
        bind(None, uuid4())
        request = shuffle_pb2.DealManyRequest(deals=[deal for deal, _ in many])
        try:
            answer = await self._shuffle.DealMany(
                request, timeout=CALL_TIMEOUT_S, metadata=call_metadata(self._token)
            )
        except grpc.aio.AioRpcError as error:
            refusal = from_rpc_error(error)
            for _, waiting in many:
                _fail(waiting, refusal)
            return
        if len(answer.outcomes) != len(many):
            for _, waiting in many:
                _fail(waiting, CroupierError("INTERNAL", "shuffle answers something else"))
            return
        for (_, waiting), outcome in zip(many, answer.outcomes, strict=True):
            if outcome.HasField("refused"):
                refused = outcome.refused
                _fail(waiting, CroupierError(refused.reason, refused.message, refused.field))
            elif not waiting.done():
                waiting.set_result(outcome.dealt)


def _fail(waiting: asyncio.Future[shuffle_pb2.DealResponse], why: CroupierError) -> None:
    if not waiting.done():
        waiting.set_exception(why)

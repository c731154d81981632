"""What stands between the wire and every handler: correlation, drain, token, role, errors."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import grpc
import structlog
from prometheus_client import Counter, Gauge, Histogram

from shared.errors import CroupierError
from shared.log.faults import is_infrastructure
from shared.rpc.access import ACCESS, OPEN, Role
from shared.rpc.caller import Caller, bind
from shared.rpc.errors import SORRY, to_status
from shared.rpc.tokens import TokenCheck, expired

CORRELATION_KEY = "croupier-correlation-id"
_AUTHORIZATION_KEY = "authorization"
_SCHEME = "bearer "
UNARY_TIMEOUT_S = 30.0
# After a drain begins, acknowledgements of what is under way still go out for this long.
STREAM_GRACE_S = 1.0

_Context = grpc.aio.ServicerContext[Any, Any]

_log = structlog.get_logger()
_calls = Counter("croupier_rpc_calls_total", "Finished calls", ["method", "reason"])
_seconds = Histogram(
    "croupier_rpc_seconds",
    "Time to answer a unary call",
    ["method"],
    buckets=(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10),
)
_streams_open = Gauge("croupier_rpc_streams_open", "Streams that are open now", ["method"])


class Guard(grpc.aio.ServerInterceptor):
    """Admits calls, binds who calls to the handler's context, and tells every error in one way.

    A handler raises `CroupierError` for a refusal. Anything else it raises is told as INTERNAL
    without a word about it, or as LOG_UNAVAILABLE while the database is away.
    """

    def __init__(self, tokens: TokenCheck) -> None:
        self._tokens = tokens
        self._wrapped: dict[str, tuple[object, object]] = {}
        self._draining = False
        self._unary_running = 0
        self._unary_done = asyncio.Event()
        self._unary_done.set()
        # In the order in which they came, so that a drain ends them in that order.
        self._streams: dict[asyncio.Task[Any], None] = {}
        self._sent_away: dict[asyncio.Task[Any], CroupierError] = {}

    async def intercept_service(
        self,
        continuation: Callable[[Any], Awaitable[Any]],
        handler_call_details: Any,
    ) -> Any:
        """Wraps the handler of the method, once."""
        handler = await continuation(handler_call_details)
        method = handler_call_details.method
        if handler is None or method in OPEN:
            return handler
        known = self._wrapped.get(method)
        if known is None or known[0] is not handler:
            known = (handler, self._wrap(method, handler))
            self._wrapped[method] = known
        return known[1]

    async def drain(self) -> None:
        """Refuses new calls, lets running unary ones finish, sends streams away to reconnect."""
        self._draining = True
        await self._unary_done.wait()
        if self._streams:
            await asyncio.wait(self._streams, timeout=STREAM_GRACE_S)
        for stream in self._streams:
            self._send_away(stream, _draining())
        if self._streams:
            # Who does not read what he is sent cannot be told: his call is cut as the port closes.
            await asyncio.wait(self._streams, timeout=STREAM_GRACE_S)

    def _wrap(self, method: str, handler: Any) -> Any:
        serialization = {
            "request_deserializer": handler.request_deserializer,
            "response_serializer": handler.response_serializer,
        }
        if handler.unary_unary is not None:
            return grpc.unary_unary_rpc_method_handler(
                self._unary(method, handler.unary_unary), **serialization
            )
        if handler.unary_stream is not None:
            return grpc.unary_stream_rpc_method_handler(
                self._stream(method, handler.unary_stream), **serialization
            )
        if handler.stream_stream is not None:
            behaviour = self._stream(method, handler.stream_stream, many_requests=True)
            return grpc.stream_stream_rpc_method_handler(behaviour, **serialization)
        raise NotImplementedError(f"{method}: no service here takes a stream for one answer")

    def _unary(self, method: str, behaviour: Callable[[Any, _Context], Awaitable[Any]]) -> Any:
        seconds, went_well = _seconds.labels(method), _calls.labels(method, "OK")

        async def unary(request: Any, context: _Context) -> Any:
            started = time.perf_counter()
            calls = went_well
            correlation = _correlation_of(context)
            self._unary_running += 1
            self._unary_done.clear()
            try:
                self._admit(method, context, correlation)
                async with asyncio.timeout(UNARY_TIMEOUT_S):
                    return await behaviour(request, context)
            except asyncio.CancelledError:
                calls = _calls.labels(method, "CANCELLED")
                raise
            except Exception as error:
                refusal = refusal_of(method, error)
                calls = _calls.labels(method, refusal.reason)
                await _tell(context, refusal, correlation)
            finally:
                self._unary_running -= 1
                if self._unary_running == 0:
                    self._unary_done.set()
                seconds.observe(time.perf_counter() - started)
                calls.inc()

        return unary

    def _stream(
        self, method: str, behaviour: Callable[[Any, _Context], Any], many_requests: bool = False
    ) -> Any:
        async def stream(request: Any, context: _Context) -> None:
            task = asyncio.current_task()
            assert task is not None
            reason = "OK"
            correlation = _correlation_of(context)
            self._streams[task] = None
            _streams_open.labels(method).inc()
            try:
                left_s = self._admit(method, context, correlation)
                answers = behaviour(
                    self._until_drain(request) if many_requests else request, context
                )
                with self._while_good(task, left_s):
                    await _send(answers, context)
                if self._draining:
                    raise _draining()
            except asyncio.CancelledError:
                # Either the client is gone, or it is sent away from here.
                refusal = self._sent_away.get(task)
                if refusal is None:
                    reason = "CANCELLED"
                    raise
                task.uncancel()
                reason = refusal.reason
                await _tell(context, refusal, correlation)
            except Exception as error:
                refusal = refusal_of(method, error)
                reason = refusal.reason
                await _tell(context, refusal, correlation)
            finally:
                self._streams.pop(task, None)
                self._sent_away.pop(task, None)
                _streams_open.labels(method).dec()
                _calls.labels(method, reason).inc()

        return stream

    def _send_away(self, stream: asyncio.Task[Any], why: CroupierError) -> None:
        if stream not in self._sent_away:
            self._sent_away[stream] = why
            stream.cancel()

    @contextmanager
    def _while_good(self, stream: asyncio.Task[Any], left_s: float) -> Iterator[None]:
        """A stream ends with the token that opened it: whoever may still watch has a newer one."""
        ending = asyncio.get_running_loop().call_later(left_s, self._send_away, stream, expired())
        try:
            yield
        finally:
            ending.cancel()

    def _admit(self, method: str, context: _Context, correlation: UUID) -> float:
        """Binds who calls; for how many seconds more the token is good."""
        bind(None, correlation)
        structlog.contextvars.bind_contextvars(correlation=str(correlation))
        if self._draining:
            raise _draining()
        who, left_s = self._tokens.caller_for(_token_of(context))
        if who.role not in ACCESS.get(method, frozenset()):
            raise CroupierError("ROLE_NOT_ALLOWED", f"a {who.role} may not call {method}")
        bind(who, correlation)
        structlog.contextvars.bind_contextvars(**_named(who))
        return left_s

    async def _until_drain(self, requests: AsyncIterator[Any]) -> AsyncIterator[Any]:
        async for request in requests:
            if self._draining:
                return
            yield request


def _draining() -> CroupierError:
    return CroupierError("DRAINING", "this node is stopping: connect again")


def _named(who: Caller) -> dict[str, str]:
    return {"player": who.id} if who.role is Role.PLAYER else {"caller": f"{who.role}:{who.id}"}


async def _send(answers: Any, context: _Context) -> None:
    # Everything is awaited here, in the call's own task, so that a cancel by `drain` surfaces in
    # the wrapper above and not inside gRPC, which would tell the client CANCELLED.
    if inspect.isawaitable(answers):
        await answers
        return
    async with aclosing(answers):
        async for answer in answers:
            await context.write(answer)


def refusal_of(method: str, error: Exception) -> CroupierError:
    """What the caller hears of `error`. Aborts by the handler itself pass through."""
    if isinstance(error, CroupierError):
        return error
    if isinstance(error, grpc.aio.AbortError):
        raise error
    if _is_outage(error):
        _log.warning("call_failed_in_outage", method=method, error=type(error).__name__)
        return CroupierError("LOG_UNAVAILABLE", "the log cannot be reached now: try again")
    if isinstance(error, asyncpg.CharacterNotInRepertoireError):
        # Nobody but a caller has such a text: what is in a message is UTF-8 but for that.
        return CroupierError("BAD_REQUEST", "a text has a NUL in it")
    if isinstance(error, TimeoutError):
        _log.warning("call_took_too_long", method=method)
        return CroupierError("OVERLOADED", "no answer in time: try again later")
    _log.error("call_failed", method=method, exc_info=error)
    return CroupierError("INTERNAL", SORRY)


def _is_outage(error: Exception) -> bool:
    if isinstance(error, OSError):
        return isinstance(error, ConnectionError)
    return not isinstance(error, MemoryError) and is_infrastructure(error)


async def _tell(context: _Context, refusal: CroupierError, correlation: UUID) -> None:
    status = to_status(refusal, str(correlation))
    metadata = tuple(status.trailing_metadata or ())
    await context.abort(status.code, status.details, trailing_metadata=metadata)


def _token_of(context: _Context) -> str:
    for key, value in context.invocation_metadata() or ():
        if key == _AUTHORIZATION_KEY and isinstance(value, str):
            if value[: len(_SCHEME)].lower() == _SCHEME:
                return value[len(_SCHEME) :]
            break
    raise CroupierError("UNAUTHENTICATED", "send a token as `authorization: Bearer <token>`")


def _correlation_of(context: _Context) -> UUID:
    for key, value in context.invocation_metadata() or ():
        if key == CORRELATION_KEY:
            try:
                return UUID(value if isinstance(value, str) else value.decode())
            except ValueError:
                break
    return uuid4()

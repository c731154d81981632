"""The life of a service process: set up, serve, drain when told to, end with a telling status."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog
import uvloop
from prometheus_client import Info, start_http_server

from shared.ops import logs
from shared.ops.memory import keep_to_ourselves
from shared.ops.settings import ServiceSettings, host_port

S = TypeVar("S", bound=ServiceSettings)
Serve = Callable[[S, asyncio.Event], Awaitable[None]]

_log = structlog.get_logger()
_process = Info("croupier_process", "Which process of the house this is")


def run(settings: S, serve: Serve[S]) -> int:
    """Runs `serve(settings, stopping)` to its end; returns the exit status.

    SIGTERM and SIGINT set `stopping`; `serve` then drains and returns, within `drain_timeout_s`.
    0: it returned after it was told to. 1: it raised, returned unasked, or drained for too long,
    or the metrics cannot be served where they are to be.
    """
    keep_to_ourselves()
    logs.set_up(settings.log_level, service=settings.service, node=settings.node)
    _process.info({"service": settings.service, "node": settings.node})
    host, port = host_port(settings.metrics_listen)
    try:
        # Its thread ends with the process: to shut it down would hold up every stop by half a
        # second.
        start_http_server(port, host)
    except OSError as error:
        _log.error("metrics_not_served", metrics_listen=settings.metrics_listen, error=str(error))
        return 1
    return uvloop.run(_run(settings, serve))


async def _run(settings: S, serve: Serve[S]) -> int:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    serving = asyncio.ensure_future(serve(settings, stopping))
    told = asyncio.ensure_future(stopping.wait())
    _log.info("service_started", address=settings.address)
    await asyncio.wait({serving, told}, return_when=asyncio.FIRST_COMPLETED)
    told.cancel()
    if stopping.is_set():
        _log.info("service_draining")
        await asyncio.wait({serving}, timeout=settings.drain_timeout_s)
    if not serving.done():
        _log.error("drain_cut_short", drain_timeout_s=settings.drain_timeout_s)
        serving.cancel()
        await asyncio.wait({serving}, timeout=1)
        return 1
    failure = None if serving.cancelled() else serving.exception()
    if failure is not None:
        _log.error("service_failed", exc_info=failure)
        return 1
    if not stopping.is_set():
        _log.error("service_ended_unasked")
        return 1
    _log.info("service_stopped")
    return 0

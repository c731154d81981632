"""The gRPC server of a service: health, reflection, limits, the guard, a clean stop."""

from __future__ import annotations

import asyncio

import grpc
import structlog
from google.protobuf.descriptor import ServiceDescriptor
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2

from shared.ops.settings import ServiceSettings, host_port
from shared.rpc.guard import Guard
from shared.rpc.tokens import TokenCheck

MAX_MESSAGE_BYTES = 4 * 1024 * 1024
MAX_STREAMS_PER_CONNECTION = 1_000
MAX_CALLS_AT_ONCE = 20_000
STOP_GRACE_S = 2.0

_OPTIONS = (
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_concurrent_streams", MAX_STREAMS_PER_CONNECTION),
    # A second server on the same port must fail, not take half of the calls.
    ("grpc.so_reuseport", 0),
    # A peer that is gone without a word is noticed within half a minute.
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.min_ping_interval_without_data_ms", 500),
    ("grpc.keepalive_permit_without_calls", 1),
)

_log = structlog.get_logger()


class Server:
    """A gRPC server with everything that all services have in common.

    Add the servicers to `grpc`, name their services with `offer`, then `start`, and `drain`.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        self._listen = settings.listen
        self._guard = Guard(TokenCheck(settings.token_public_key))
        self._health = health.aio.HealthServicer()
        self._offered: list[str] = []
        self.grpc: grpc.aio.Server = grpc.aio.server(
            interceptors=(self._guard,),
            options=_OPTIONS,
            maximum_concurrent_rpcs=MAX_CALLS_AT_ONCE,
        )

    def offer(self, service: ServiceDescriptor) -> None:
        """Says that `service` is served here, to health checks and to reflection."""
        self._offered.append(service.full_name)

    async def start(self) -> int:
        """Listens and serves; returns the port (of use with port 0). `OSError` if it is taken."""
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self.grpc)
        self._add_reflection()
        try:
            port = self.grpc.add_insecure_port(self._listen)
        except RuntimeError as error:
            raise OSError(f"cannot listen on {self._listen}") from error
        await self.grpc.start()
        for service in self._offered:
            await self._health.set(service, health_pb2.HealthCheckResponse.SERVING)
        _log.info("grpc_listening", host=host_port(self._listen)[0], port=port)
        return port

    async def drain(self) -> None:
        """Stops: health says NOT_SERVING, new calls are refused with DRAINING, running unary calls
        finish, streams end with DRAINING (UNAVAILABLE: connect again), then the port closes."""
        await self._health.enter_graceful_shutdown()
        await self._guard.drain()
        await self.grpc.stop(STOP_GRACE_S)

    async def run_until(self, stopping: asyncio.Event) -> None:
        """Starts, waits for `stopping`, drains."""
        await self.start()
        await stopping.wait()
        await self.drain()

    def _add_reflection(self) -> None:
        names = [
            *self._offered,
            health.SERVICE_NAME,
            reflection.SERVICE_NAME,
        ]
        servicer = reflection.aio.ReflectionServicer(names)
        reflection.enable_server_reflection(names, self.grpc)
        # The stable name of the same protocol: the messages are the same on the wire.
        stable = grpc.stream_stream_rpc_method_handler(
            servicer.ServerReflectionInfo,
            request_deserializer=reflection_pb2.ServerReflectionRequest.FromString,
            response_serializer=reflection_pb2.ServerReflectionResponse.SerializeToString,
        )
        self.grpc.add_generic_rpc_handlers(
            (
                grpc.method_handlers_generic_handler(
                    "grpc.reflection.v1.ServerReflection", {"ServerReflectionInfo": stable}
                ),
            )
        )

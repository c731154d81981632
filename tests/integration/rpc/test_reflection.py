"""A client that has nothing but the address finds the services, their messages, and calls one."""

from __future__ import annotations

import grpc
import pytest
from google.protobuf import descriptor_pb2, json_format
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2

from shared.rpc.access import Role
from tests.integration.rpc.conftest import Served
from tests.services import bearer


class Reflection:
    """What grpcurl does: asks for services and files by the reflection protocol alone."""

    def __init__(self, channel: grpc.aio.Channel, version: str) -> None:
        self._method = channel.stream_stream(
            f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo",
            request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
            response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
        )
        self.pool = DescriptorPool()
        self._known: set[str] = set()

    async def services(self) -> list[str]:
        answer = await self._ask(reflection_pb2.ServerReflectionRequest(list_services=""))
        return [service.name for service in answer.list_services_response.service]

    async def learn(self, symbol: str) -> None:
        """Adds the file with `symbol`, and what it imports, to the pool."""
        await self._add(
            await self._ask(reflection_pb2.ServerReflectionRequest(file_containing_symbol=symbol))
        )

    async def _add(self, answer: reflection_pb2.ServerReflectionResponse) -> None:
        for raw in answer.file_descriptor_response.file_descriptor_proto:
            file = descriptor_pb2.FileDescriptorProto.FromString(raw)
            if file.name in self._known:
                continue
            self._known.add(file.name)
            for name in file.dependency:
                await self._add(
                    await self._ask(reflection_pb2.ServerReflectionRequest(file_by_filename=name))
                )
            self.pool.Add(file)

    async def _ask(
        self, request: reflection_pb2.ServerReflectionRequest
    ) -> reflection_pb2.ServerReflectionResponse:
        call = self._method(iter([request]))
        answer = await call.read()
        assert isinstance(answer, reflection_pb2.ServerReflectionResponse)
        assert not answer.HasField("error_response"), answer
        return answer


@pytest.mark.parametrize("version", ["v1", "v1alpha"])
async def test_a_call_from_reflection_alone(served: Served, version: str) -> None:
    reflection = Reflection(served.channel, version)
    names = await reflection.services()
    assert {
        "croupier.wallet.v1.WalletService",
        "croupier.table.v1.TableService",
        "grpc.health.v1.Health",
    } <= set(names)

    await reflection.learn("croupier.wallet.v1.WalletService")
    service = reflection.pool.FindServiceByName("croupier.wallet.v1.WalletService")
    method = service.methods_by_name["GetAccount"]
    ask = GetMessageClass(method.input_type)
    answer = GetMessageClass(method.output_type)
    call = served.channel.unary_unary(
        f"/{service.full_name}/{method.name}",
        request_serializer=ask.SerializeToString,
        response_deserializer=answer.FromString,
    )
    got = await call(json_format.Parse("{}", ask()), metadata=bearer(Role.PLAYER, "bob"))
    assert json_format.MessageToDict(got) == {"account": {"player": "bob"}}


async def test_every_service_offered_can_be_learned(served: Served) -> None:
    reflection = Reflection(served.channel, "v1")
    for name in await reflection.services():
        if name.startswith("croupier."):
            await reflection.learn(name)
            assert reflection.pool.FindServiceByName(name).methods


async def test_health_is_told_by_service_without_a_token(served: Served) -> None:
    check = served.channel.unary_unary(
        "/grpc.health.v1.Health/Check",
        request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
        response_deserializer=health_pb2.HealthCheckResponse.FromString,
    )
    for service in ("", "croupier.wallet.v1.WalletService"):
        answer = await check(health_pb2.HealthCheckRequest(service=service))
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
    with pytest.raises(grpc.aio.AioRpcError) as unknown:
        await check(health_pb2.HealthCheckRequest(service="croupier.roulette.v1.RouletteService"))
    assert unknown.value.code() is grpc.StatusCode.NOT_FOUND

"""Which processes make up a local house, in the order in which they are started."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping

import grpc
from grpc_health.v1 import health_pb2

from deploy.embedded_nats import EmbeddedNats
from deploy.embedded_postgres import EmbeddedPostgres
from deploy.folder import HouseFolder, address, metrics_of, service_of
from deploy.keys import Keys, write_privately
from deploy.program import Program, end_orphan
from shared.ops.settings import ServiceName
from shared.rpc import tokens
from shared.rpc.access import Role

DATABASE = "croupier"
# A local house has no one who would renew the services' own tokens: they last a year.
_SERVICE_TOKEN_TTL_S = 365 * 24 * 3600
_ROLES: Mapping[str, Role] = {"table": Role.TABLE_SERVICE, "audit": Role.AUDIT_SERVICE}
_NOT_OF_THIS_HOUSE = frozenset({"croupier_service", "croupier_advertise", "croupier_nats_replicas"})
_PROBE_TIMEOUT_S = 2.0
_PROBE_PAUSE_S = 0.05


class Programs:
    """The processes of the house in `folder`, which listen on `ports`."""

    def __init__(self, folder: HouseFolder, keys: Keys, ports: Mapping[str, int]) -> None:
        self._folder = folder
        self._keys = keys
        self._ports = ports
        self.postgres = EmbeddedPostgres(folder.path / "postgres", ports["postgres"], keys.postgres)
        self.nats = EmbeddedNats(folder.path / "nats", ports["nats"], keys.nats)

    def servers(self) -> list[tuple[Program, EmbeddedPostgres | EmbeddedNats]]:
        """Postgres and NATS."""
        return [
            (self.postgres.program(self._folder.log("postgres")), self.postgres),
            (self.nats.program(self._folder.log("nats")), self.nats),
        ]

    def service(self, name: str, service: ServiceName) -> Program:
        """The process `name`, which runs a service. Its secrets are written to files that only it
        is pointed to."""
        secrets = self._folder.secrets(name)
        secrets.mkdir(parents=True, exist_ok=True, mode=0o700)
        told = {f"croupier_{field}": value for field, value in self._secrets(service).items()}
        for file, value in told.items():
            write_privately(secrets / file, value)
        return Program(
            name=name,
            argv=(sys.executable, "-m", "deploy.serve", service),
            log=self._folder.log(name),
            env={
                "CROUPIER_SECRETS_DIR": str(secrets),
                "CROUPIER_NODE": f"{name}-1" if name == service else name,
                "CROUPIER_LISTEN": address(self._ports[name]),
                "CROUPIER_METRICS_LISTEN": address(self._ports[metrics_of(name)]),
                "CROUPIER_SHUFFLE_ADDRESS": address(self._ports["shuffle"]),
            },
            # The environment goes before files, and may be meant for another house: there it says
            # which database `migrate` and `log recover` are about, and with which keys.
            without=frozenset(told) | _NOT_OF_THIS_HOUSE,
        )

    def ready(self, name: str) -> Callable[[float], Awaitable[None]]:
        """Waits until the health check of the process `name` says that it serves."""

        async def ready(timeout_s: float) -> None:
            async with asyncio.timeout(timeout_s):
                while not await serves(address(self._ports[name])):
                    await asyncio.sleep(_PROBE_PAUSE_S)

        return ready

    def _secrets(self, name: ServiceName) -> dict[str, str]:
        role = f"croupier_{name}"
        known = {
            "database_dsn": self.postgres.dsn(DATABASE, role, self._keys.roles[role]),
            "nats_url": self.nats.url,
            "token_public_key": self._folder.keys.token_public_key(),
        }
        if name in ("shuffle", "table", "audit"):
            known["deployment_key"] = self._keys.deployment
            known["deployment_key_id"] = self._keys.deployment_id
            known["old_deployment_keys"] = json.dumps(self._keys.old_deployment)
        if name == "shuffle":
            known["seed_key"] = self._keys.seed
            known["seed_key_id"] = self._keys.seed_id
            known["old_seed_keys"] = json.dumps(self._keys.old_seed)
        if name == "audit":
            known["log_id"] = self._keys.log_id
            known["checkpoint_key"] = self._keys.checkpoint
        if name in _ROLES:
            signing = self._folder.keys.token_key.read_text()
            known["service_token"] = tokens.sign(signing, name, _ROLES[name], _SERVICE_TOKEN_TTL_S)
        return known


async def serves(where: str) -> bool:
    """Whether the gRPC server at `where` says that it is healthy."""
    async with grpc.aio.insecure_channel(where) as channel:
        check = channel.unary_unary(
            "/grpc.health.v1.Health/Check",
            request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
            response_deserializer=health_pb2.HealthCheckResponse.FromString,
        )
        try:
            answer = await check(health_pb2.HealthCheckRequest(), timeout=_PROBE_TIMEOUT_S)
        except grpc.aio.AioRpcError:
            return False
        return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)


def end_orphans(folder: HouseFolder) -> None:
    """Ends processes that an earlier supervisor, killed itself, left running in `folder`."""
    for name, state in folder.read().get("processes", {}).items():
        if state["pid"] is not None:
            service = service_of(name)
            marks = ("deploy.serve", service) if service else (str(folder.path / name),)
            number = signal.SIGINT if name == "postgres" else signal.SIGTERM
            end_orphan(state["pid"], marks, number)

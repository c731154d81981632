"""All services and methods that the protos declare, and a caller's token for each role."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from pydantic import SecretStr

from shared.ops.settings import ShuffleSettings
from shared.rpc import tokens
from shared.rpc.access import Role

PROTOS = Path(__file__).resolve().parent.parent / "protos"

PRIVATE_KEY, PUBLIC_KEY = tokens.new_key()


def stubs(suffix: str) -> list[ModuleType]:
    """The generated modules of all proto files."""
    names = sorted(
        str(path.relative_to(PROTOS))[: -len(".proto")] for path in PROTOS.rglob("*.proto")
    )
    return [importlib.import_module(name.replace("/", ".") + suffix) for name in names]


def all_services() -> list[ServiceDescriptor]:
    """Every service in every file, by full name."""
    found = [
        service
        for module in stubs("_pb2")
        for service in module.DESCRIPTOR.services_by_name.values()
    ]
    return sorted(found, key=lambda service: service.full_name)


def path_of(method: MethodDescriptor) -> str:
    """`/package.Service/Method`, as it stands on the wire."""
    return f"/{method.containing_service.full_name}/{method.name}"


def all_methods() -> list[MethodDescriptor]:
    """Every method of every service."""
    return [method for service in all_services() for method in service.methods]


def token(role: Role, subject: str = "ann", ttl_s: int = 3_600) -> str:
    """A token signed with the tests' key."""
    return tokens.sign(PRIVATE_KEY, subject, role, ttl_s)


def bearer(role: Role, subject: str = "ann", ttl_s: int = 3_600) -> tuple[tuple[str, str], ...]:
    """Metadata of a call made with such a token."""
    return (("authorization", f"Bearer {token(role, subject, ttl_s)}"),)


def settings_without_servers() -> ShuffleSettings:
    """Of a service on any port whose database, bus and keys the test brings itself."""
    return ShuffleSettings(
        node="s1",
        listen="127.0.0.1:0",
        metrics_listen="127.0.0.1:0",
        token_public_key=PUBLIC_KEY,
        database_dsn=SecretStr("postgresql://unused"),
        nats_url=SecretStr("nats://unused"),
        deployment_key=SecretStr("A" * 43 + "="),
        seed_key=SecretStr("A" * 43 + "="),
    )

"""Settings of the service processes, read from the environment and from a folder of secrets.

Every field may be given as `CROUPIER_<FIELD>` in the environment. A secret may instead lie in a
file `croupier_<field>` of the folder that `CROUPIER_SECRETS_DIR` names, as orchestrators mount
them: it then stands neither in a process list nor in a child's environment. The environment wins.
"""

from __future__ import annotations

import os
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Mapping
from typing import Annotated, Literal, TypeVar, get_args

from pydantic import AfterValidator, Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from shared.checkpoints.signed_note import NoteSigner
from shared.sealing import Keyring

ServiceName = Literal["shuffle", "wallet", "audit", "relay", "table"]
SERVICES: tuple[ServiceName, ...] = get_args(ServiceName)
"""In the order in which they are started; `table` needs the others most."""

_ADDRESS = r"^[^:\s]+:\d{1,5}$"
_KEY_BYTES = 32

Address = Annotated[str, Field(pattern=_ADDRESS)]
"""`host:port`."""


def _is_key(value: SecretStr) -> SecretStr:
    try:
        size = len(b64decode(value.get_secret_value(), validate=True))
    except Base64Error as error:
        raise ValueError("a key is written in base64") from error
    if size != _KEY_BYTES:
        raise ValueError(f"a key has {_KEY_BYTES} bytes, this one {size}")
    return value


Key = Annotated[SecretStr, AfterValidator(_is_key)]
"""32 bytes in base64; `key_bytes` gives the bytes."""


def key_bytes(key: SecretStr) -> bytes:
    """The 32 bytes of a `Key`."""
    return b64decode(key.get_secret_value())


KeyId = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,32}$")]
LogId = Annotated[
    str, Field(pattern=r"^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$", min_length=1, max_length=128)
]
"""As a URL without its scheme, like `casino.example/main`; nothing need answer there."""
OldKeys = dict[KeyId, Key]
"""As many as there were: old deployment keys stay for good."""


def _ring(current: str, key: SecretStr, old: Mapping[str, SecretStr]) -> Keyring:
    keys = {name: key_bytes(value) for name, value in old.items()}
    return Keyring(current, keys | {current: key_bytes(key)})


_CONFIG = SettingsConfigDict(
    env_prefix="CROUPIER_", frozen=True, extra="ignore", hide_input_in_errors=True
)


def host_port(address: str) -> tuple[str, int]:
    """The two parts of an `Address`."""
    host, _, port = address.rpartition(":")
    return host, int(port)


class ServiceSettings(BaseSettings):
    """What every service process needs."""

    model_config = _CONFIG

    service: ServiceName
    # Unique among all processes that run now; stands in logs, metrics and leases.
    node: str = Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")
    # Where gRPC listens, and where others reach it (empty: the same).
    listen: Address
    advertise: str = ""
    # Where GET /metrics is answered.
    metrics_listen: Address
    # PEM, Ed25519: whoever signs tokens holds the private half.
    token_public_key: str
    # Of this service's own login role.
    database_dsn: SecretStr
    database_pool_size: int = Field(default=8, ge=1, le=64)
    # With user and password; several servers of a cluster with commas between them.
    nats_url: SecretStr
    # After this many seconds a drain is cut short and the process ends with status 1.
    drain_timeout_s: float = Field(default=20.0, gt=0, le=300)
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    @property
    def address(self) -> str:
        """Where other processes reach this one."""
        return self.advertise or self.listen


class WalletSettings(ServiceSettings):
    """The wallet knows no secret of a game."""

    service: ServiceName = "wallet"


class RelaySettings(ServiceSettings):
    """The relay serves health only, besides its metrics. It makes the stream on the bus."""

    service: ServiceName = "relay"
    # On so many servers of a NATS cluster lies what is on the bus.
    nats_replicas: int = Field(default=1, ge=1, le=5)


class FieldKeys(BaseSettings):
    """The deployment keys, which seal private cards and free text in the log."""

    model_config = _CONFIG

    deployment_key: Key
    # Stands beside every sealed field.
    deployment_key_id: KeyId = "k1"
    # The keys before it by their ids, as JSON: what they sealed is still to be read.
    old_deployment_keys: OldKeys = {}

    def field_keys(self) -> Keyring:
        """All of them; the newest seals."""
        return _ring(self.deployment_key_id, self.deployment_key, self.old_deployment_keys)


class SeedKeys(BaseSettings):
    """The keys of the server seeds at rest, which nobody but shuffle holds."""

    model_config = _CONFIG

    seed_key: Key
    # Stands beside every seed.
    seed_key_id: KeyId = "s1"
    # The keys before it by their ids, as JSON: needed until all seeds are sealed again.
    old_seed_keys: OldKeys = {}

    def seed_keys(self) -> Keyring:
        """All of them; the newest seals."""
        return _ring(self.seed_key_id, self.seed_key, self.old_seed_keys)


class SealingSettings(ServiceSettings, FieldKeys):
    """Shuffle, table and audit write or read sealed fields."""


class ShuffleSettings(SealingSettings, SeedKeys):
    """Shuffle keeps server seeds encrypted."""

    service: ServiceName = "shuffle"


class AuditSettings(SealingSettings):
    """Audit asks shuffle to disclose retired shoes, with a token of its own (role service)."""

    service: ServiceName = "audit"
    shuffle_address: Address
    service_token: SecretStr
    # What the log of this house is called for ever, in what is signed of it.
    log_id: LogId
    # Ed25519, the private half: signs checkpoints. Nobody else holds it, no database least of all.
    checkpoint_key: Key
    checkpoint_every_s: float = Field(default=60.0, gt=0, le=86_400)

    def note_signer(self) -> NoteSigner:
        """What checkpoints are signed with."""
        return NoteSigner(self.log_id, key_bytes(self.checkpoint_key))


class TableSettings(SealingSettings):
    """Table asks shuffle for cards, with a token of its own (role service)."""

    service: ServiceName = "table"
    shuffle_address: Address
    service_token: SecretStr
    lease_ttl_s: float = Field(default=3.0, ge=1, le=60)
    heartbeat_s: float = Field(default=1.0, gt=0, le=20)
    # Of tables that are opened here without one of their own.
    grace_s: float = Field(default=10.0, ge=0.001, le=600)


S = TypeVar("S", bound=BaseSettings)


def read(kind: type[S]) -> S:
    """The settings of this process. Raises `pydantic.ValidationError`, which names the fields."""
    return kind(_secrets_dir=os.environ.get("CROUPIER_SECRETS_DIR"))

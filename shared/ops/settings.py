"""Settings of the service processes, read from the environment and from a folder of secrets.

Every field may be given as `CROUPIER_<FIELD>` in the environment. A secret may instead lie in a
file `croupier_<field>` of the folder that `CROUPIER_SECRETS_DIR` names, as orchestrators mount
them: it then stands neither in a process list nor in a child's environment. The environment wins.
"""

from __future__ import annotations

import os
import re
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Mapping
from typing import Annotated, Literal, Self, TypeVar, get_args

from cryptography.exceptions import UnsupportedAlgorithm
from pydantic import AfterValidator, Field, SecretStr, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from shared.checkpoints.signed_note import NoteSigner
from shared.rpc.tokens import TokenCheck
from shared.sealing import Keyring

ServiceName = Literal["shuffle", "wallet", "audit", "relay", "table"]
SERVICES: tuple[ServiceName, ...] = get_args(ServiceName)
"""In the order in which they are started; `table` needs the others most."""

_ADDRESS = r"^[^:\s]+:[0-9]{1,5}$"
_MOST_PORT = 65_535
_TOKEN = re.compile(r"[A-Za-z0-9._-]+")
_KEY_BYTES = 32


def _has_port(value: str) -> str:
    if value and host_port(value)[1] > _MOST_PORT:
        raise ValueError(f"a port is at most {_MOST_PORT}")
    return value


Address = Annotated[str, Field(pattern=_ADDRESS), AfterValidator(_has_port)]
"""`host:port`."""
AddressOrNone = Annotated[str, Field(pattern=f"^$|{_ADDRESS}"), AfterValidator(_has_port)]


def _is_token_key(value: str) -> str:
    try:
        TokenCheck(value)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise ValueError("not the public half of an Ed25519 key in PEM") from error
    return value


def _is_token(value: SecretStr) -> SecretStr:
    if not _TOKEN.fullmatch(value.get_secret_value()):
        raise ValueError("a token has letters, digits and . - _ only, no space or line's end")
    return value


Token = Annotated[SecretStr, AfterValidator(_is_token)]
"""As it is sent."""


def _is_dsn(value: SecretStr) -> SecretStr:
    if not value.get_secret_value().startswith(("postgresql://", "postgres://")):
        raise ValueError("written as postgresql://USER:PASSWORD@HOST:PORT/DATABASE")
    return value


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


def _check_ids(current: str, key: SecretStr, old: Mapping[str, SecretStr]) -> None:
    """What the one sealed could not be opened any more, and nothing would say so at the start."""
    if current in old and key_bytes(old[current]) != key_bytes(key):
        raise ValueError(f"{current} is the id of this key and of another, older one")


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
    advertise: AddressOrNone = ""
    # Where GET /metrics is answered.
    metrics_listen: Address
    # PEM, Ed25519: whoever signs tokens holds the private half.
    token_public_key: Annotated[str, AfterValidator(_is_token_key)]
    # Of this service's own login role.
    database_dsn: Annotated[SecretStr, AfterValidator(_is_dsn)]
    database_pool_size: int = Field(default=8, ge=1, le=64)
    # With user and password; several servers of a cluster with commas between them.
    nats_url: SecretStr = Field(min_length=1)
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

    @model_validator(mode="after")
    def _deployment_keys_have_ids_of_their_own(self) -> Self:
        _check_ids(self.deployment_key_id, self.deployment_key, self.old_deployment_keys)
        return self

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

    @model_validator(mode="after")
    def _seed_keys_have_ids_of_their_own(self) -> Self:
        _check_ids(self.seed_key_id, self.seed_key, self.old_seed_keys)
        return self

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
    service_token: Token
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
    service_token: Token
    lease_ttl_s: float = Field(default=3.0, ge=1, le=60)
    heartbeat_s: float = Field(default=1.0, gt=0, le=20)
    # Of tables that are opened here without one of their own.
    grace_s: float = Field(default=10.0, ge=0.001, le=600)

    @model_validator(mode="after")
    def _a_lease_outlives_a_heartbeat(self) -> Self:
        if self.heartbeat_s >= self.lease_ttl_s:
            raise ValueError("heartbeat_s must be less than lease_ttl_s, else the lease runs out")
        return self


S = TypeVar("S", bound=BaseSettings)

WRONG_SETTINGS = (ValidationError, SettingsError, OSError, UnicodeDecodeError)
"""What `read` raises: a field is wrong or missing, a file of secrets cannot be read."""


def read(kind: type[S]) -> S:
    """The settings of this process. Raises one of `WRONG_SETTINGS`, which names what is wrong."""
    return kind(_secrets_dir=os.environ.get("CROUPIER_SECRETS_DIR") or None)

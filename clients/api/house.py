"""Where the house is, and who is calling."""

from __future__ import annotations

import base64
import json
import os
import re
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from clients.api.connection import PATIENCE_S, Connection
from clients.api.errors import RefusedError

HOUSE_FILE = Path(".croupier") / "house.json"
SERVICES = ("table", "wallet", "audit")
TOKEN_TTL_S = 12 * 60 * 60
_RENEW_BEFORE_S = 60
_ISSUER = "croupier"
_SUBJECT = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class Identity:
    """Who is calling (`subject`: a player's or user's id) and in which role: `player`, `dealer`,
    `pit`, `auditor` or `operator`."""

    subject: str
    role: str


@dataclass(frozen=True, slots=True)
class House:
    """Addresses of the services, and what makes the caller's tokens.

    `key` is the house's own development key, which is there only next to a house that runs locally;
    `token` a token that somebody else has made. One of the two is needed to call anything.
    """

    addresses: Mapping[str, tuple[str, ...]]
    key: Ed25519PrivateKey | None = field(default=None, repr=False)
    token: str = field(default="", repr=False)
    folder: Path | None = None

    def connect(
        self, service: str, identity: Identity, patience_s: float = PATIENCE_S
    ) -> Connection:
        """A connection to `table`, `wallet` or `audit`.

        A given token says by itself who is calling; only the development key can speak for anybody.
        """
        addresses = self.addresses.get(service, ())
        if not addresses:
            raise RefusedError("UNREACHABLE", f"no address of the {service} service is known")
        return Connection(addresses, self._source_of_tokens(identity), patience_s)

    def may_be_anybody(self) -> bool:
        """Whether the development key is here, so that any identity can be taken on."""
        return not self.token and self.key is not None

    def make_token(self, identity: Identity, ttl_s: int = TOKEN_TTL_S) -> str:
        """A token by the development key (JWT, EdDSA), good for `ttl_s` seconds."""
        if self.key is None:
            raise RefusedError("UNAUTHENTICATED", "no development key is here to make a token with")
        if not _SUBJECT.fullmatch(identity.subject):
            words = f"a subject is 1 to 64 of A-Z a-z 0-9 _ -, not {identity.subject!r}"
            raise RefusedError("BAD_REQUEST", words, "subject")
        now_s = int(time.time())
        claims = {
            "iss": _ISSUER,
            "aud": _ISSUER,
            "sub": identity.subject,
            "role": identity.role,
            "iat": now_s,
            "exp": now_s + ttl_s,
            "jti": str(uuid4()),
        }
        return jwt.encode(claims, self.key, algorithm="EdDSA")

    def _source_of_tokens(self, identity: Identity) -> Callable[[], str]:
        if self.token:
            return lambda: self.token
        made = ""
        renew_at_s = 0.0

        def newest() -> str:
            nonlocal made, renew_at_s
            # By the clock that a token ends by: another stands still while this machine sleeps.
            if time.time() >= renew_at_s:
                made = self.make_token(identity)
                renew_at_s = time.time() + TOKEN_TTL_S - _RENEW_BEFORE_S
            return made

        newest()
        return newest


def new_player_id() -> str:
    """A random id, so that nothing personal is in the log."""
    return "p_" + base64.b32encode(secrets.token_bytes(10)).decode().lower()


def subject_of(token: str) -> str:
    """Whom a token speaks for. It is not checked here; the house does that."""
    return str(_claims(token).get("sub", ""))


def role_of(token: str) -> str:
    """In which role a token speaks."""
    return str(_claims(token).get("role", ""))


def _claims(token: str) -> dict[str, Any]:
    try:
        claims: dict[str, Any] = jwt.decode(token, options={"verify_signature": False})
    except jwt.InvalidTokenError as error:
        raise RefusedError("UNAUTHENTICATED", f"this is no token: {error}") from error
    return claims


def find_house(file: Path | None = None, address: str = "", token: str = "") -> House:
    """The house to talk to: `address` and `token` where given (else CROUPIER_ADDRESS and
    CROUPIER_TOKEN), the rest from the house file that `croupier up` has written.

    Raises `RefusedError` `UNREACHABLE` where there is neither.
    """
    address = (address or os.environ.get("CROUPIER_ADDRESS", "")).strip()
    token = (token or os.environ.get("CROUPIER_TOKEN", "")).strip()
    file = file or Path(os.environ.get("CROUPIER_HOUSE") or HOUSE_FILE)
    if not file.exists():
        if not address:
            raise RefusedError("UNREACHABLE", f"no house is running here (there is no {file})")
        return House(parse_addresses(address), token=token)
    house = house_at(file)
    if address:
        house = replace(house, addresses={**house.addresses, **parse_addresses(address)})
    return replace(house, token=token)


def house_at(file: Path) -> House:
    """The house of this file, whatever the environment says of another one."""
    try:
        written = json.loads(file.read_text())
        addresses = {name: tuple(nodes) for name, nodes in written["addresses"].items()}
        key_file = file.parent / written["token_key_file"]
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise RefusedError("BAD_REQUEST", f"{file} is not a house file: {error!r}") from error
    return House(addresses, _read_key(key_file), folder=file.parent)


def parse_addresses(text: str) -> dict[str, tuple[str, ...]]:
    """`host:port` for all services, or `table=host:port,wallet=host:port,…`; several nodes of one
    service are parted by `+`."""
    if "=" not in text:
        return dict.fromkeys(SERVICES, _nodes(text))
    pairs: Iterable[tuple[str, str, str]] = (part.partition("=") for part in text.split(","))
    return {name.strip(): _nodes(nodes) for name, _, nodes in pairs}


def _nodes(text: str) -> tuple[str, ...]:
    nodes = tuple(node.strip() for node in text.split("+"))
    for node in nodes:
        host, _, port = node.rpartition(":")
        if not host or not (port.isdecimal() and port.isascii()):
            raise RefusedError("BAD_REQUEST", f"{node!r} is not host:port", "address")
    return nodes


def _read_key(file: Path) -> Ed25519PrivateKey | None:
    try:
        key = load_pem_private_key(file.read_bytes(), password=None)
    except OSError:
        return None
    except (ValueError, TypeError) as error:
        raise RefusedError("BAD_REQUEST", f"{file} is not a key: {error}") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise RefusedError("BAD_REQUEST", f"{file} is not an Ed25519 key")
    return key

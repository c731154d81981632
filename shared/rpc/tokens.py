"""Tokens: JSON Web Tokens signed with Ed25519 (RFC 7519, RFC 8037), short and without state."""

from __future__ import annotations

import re
import time
from uuid import uuid4

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from shared.errors import CroupierError
from shared.rpc.access import Role
from shared.rpc.caller import Caller

_ISSUER = "croupier"
_ALGORITHM = "EdDSA"
_CLAIMS = ["sub", "role", "iat", "exp", "iss", "aud"]
_SUBJECT = re.compile(r"[A-Za-z0-9_-]{1,64}")
_MAX_TOKEN_CHARACTERS = 4096
_MAX_REMEMBERED = 10_000


def new_key() -> tuple[str, str]:
    """A fresh key pair: the private and the public half in PEM."""
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return private.decode(), public.decode()


def sign(private_key: str, subject: str, role: Role, ttl_s: int) -> str:
    """A token for `subject` (`[A-Za-z0-9_-]{1,64}`) that is good for `ttl_s` seconds from now."""
    if not _SUBJECT.fullmatch(subject):
        raise ValueError(f"a subject is 1 to 64 of A-Z a-z 0-9 _ -, not {subject!r}")
    now = int(time.time())
    claims = {
        "iss": _ISSUER,
        "aud": _ISSUER,
        "sub": subject,
        "role": str(role),
        "iat": now,
        "exp": now + ttl_s,
        "jti": str(uuid4()),
    }
    return jwt.encode(claims, private_key, _ALGORITHM)


class TokenCheck:
    """Checks tokens against one public key (PEM). Remembers, boundedly, those it found good."""

    def __init__(self, public_key: str) -> None:
        key = serialization.load_pem_public_key(public_key.encode())
        if not isinstance(key, Ed25519PublicKey):
            raise TypeError("the key for tokens must be an Ed25519 public key")
        self._key = key
        self._good: dict[str, tuple[Caller, float]] = {}

    def caller(self, token: str) -> Caller:
        """Who the token says is calling. Refuses with UNAUTHENTICATED or TOKEN_EXPIRED."""
        return self.caller_for(token)[0]

    def caller_for(self, token: str) -> tuple[Caller, float]:
        """The same, and for how many seconds more the token is good."""
        known = self._good.get(token)
        if known is None:
            known = self._decode(token)
            if len(self._good) >= _MAX_REMEMBERED:
                self._good.clear()
            self._good[token] = known
        who, expires_at = known
        left_s = expires_at - time.time()
        if left_s <= 0:
            del self._good[token]
            raise expired()
        return who, left_s

    def _decode(self, token: str) -> tuple[Caller, float]:
        if len(token) > _MAX_TOKEN_CHARACTERS:
            raise CroupierError("UNAUTHENTICATED", "the token is too long")
        try:
            claims = jwt.decode(
                token,
                self._key,
                algorithms=[_ALGORITHM],
                audience=_ISSUER,
                issuer=_ISSUER,
                # When it was made says nothing of how long it is good; whoever signs may have a
                # clock that is a little ahead.
                options={"require": _CLAIMS, "verify_iat": False},
            )
            role, expires_at = Role(claims["role"]), float(claims["exp"])
        except jwt.ExpiredSignatureError:
            raise expired() from None
        except (jwt.InvalidTokenError, ValueError, OverflowError):
            raise CroupierError("UNAUTHENTICATED", "the token is not one of this house") from None
        if not _SUBJECT.fullmatch(claims["sub"]):
            raise CroupierError("UNAUTHENTICATED", "the token names nobody")
        return Caller(claims["sub"], role, token), expires_at


def expired() -> CroupierError:
    """What is said to a caller whose token was good once."""
    return CroupierError("TOKEN_EXPIRED", "the token has expired")

"""The secrets of a local house: made once, kept in files that only their owner can read."""

from __future__ import annotations

import json
import os
import secrets
from base64 import b64encode
from dataclasses import asdict, dataclass, field
from pathlib import Path

from deploy.migrate import LOGIN_ROLES
from shared.rpc import tokens

_WORD_BYTES = 32


def _word() -> str:
    return secrets.token_urlsafe(_WORD_BYTES)


def _key() -> str:
    return b64encode(secrets.token_bytes(_WORD_BYTES)).decode()


@dataclass(frozen=True, slots=True)
class Keys:
    """Passwords, and keys in base64. `roles` has a password for each login role."""

    postgres: str = field(default_factory=_word, repr=False)
    nats: str = field(default_factory=_word, repr=False)
    roles: dict[str, str] = field(
        default_factory=lambda: {role: _word() for role in LOGIN_ROLES}, repr=False
    )
    deployment: str = field(default_factory=_key, repr=False)
    seed: str = field(default_factory=_key, repr=False)


@dataclass(frozen=True, slots=True)
class KeyFolder:
    """Where they lie: `house.json`, and `token.pem` with `token.pub`, which signs and checks the
    tokens of local development."""

    path: Path

    def load(self) -> Keys:
        """The keys of this house; made, all at once, where there are none."""
        self.path.mkdir(parents=True, exist_ok=True)
        self.path.chmod(0o700)
        if not self.token_key.exists():
            private, public = tokens.new_key()
            write_privately(self.path / "token.pub", public)
            write_privately(self.token_key, private)
        kept = self.path / "house.json"
        if not kept.exists():
            write_privately(kept, json.dumps(asdict(Keys()), indent=2))
        return Keys(**json.loads(kept.read_text()))

    @property
    def token_key(self) -> Path:
        """The private half, PKCS8 in PEM."""
        return self.path / "token.pem"

    def token_public_key(self) -> str:
        """The public half in PEM."""
        return (self.path / "token.pub").read_text()


def write_privately(path: Path, text: str) -> None:
    """Writes a file whole or not at all, readable by its owner only."""
    fresh = path.with_name(path.name + ".new")
    fresh.unlink(missing_ok=True)
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    fresh.replace(path)

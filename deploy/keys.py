"""The secrets of a local house: made once, kept in files that only their owner can read."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from deploy.errors import OtherFormatError
from deploy.migrate import LOGIN_ROLES
from shared.checkpoints.signed_note import NoteSigner
from shared.rpc import tokens
from shared.sealing import Keyring

_WORD_BYTES = 32
_LOG_ID_BYTES = 8


def _word() -> str:
    return secrets.token_urlsafe(_WORD_BYTES)


def _key() -> str:
    return b64encode(secrets.token_bytes(_WORD_BYTES)).decode()


def _log_id() -> str:
    return f"croupier-{secrets.token_hex(_LOG_ID_BYTES)}"


@dataclass(frozen=True, slots=True)
class Keys:
    """Passwords, and keys in base64. `roles` has a password for each login role. Beside the keys in
    use are the ids they go by, and the keys before them by theirs. `checkpoint` signs what is
    said of the log `log_id`."""

    postgres: str = field(default_factory=_word, repr=False)
    nats: str = field(default_factory=_word, repr=False)
    roles: dict[str, str] = field(
        default_factory=lambda: {role: _word() for role in LOGIN_ROLES}, repr=False
    )
    deployment: str = field(default_factory=_key, repr=False)
    seed: str = field(default_factory=_key, repr=False)
    deployment_id: str = "k1"
    seed_id: str = "s1"
    old_deployment: dict[str, str] = field(default_factory=dict, repr=False)
    old_seed: dict[str, str] = field(default_factory=dict, repr=False)
    log_id: str = field(default_factory=_log_id)
    checkpoint: str = field(default_factory=_key, repr=False)

    def note_signer(self) -> NoteSigner:
        """What checkpoints are signed with."""
        return NoteSigner(self.log_id, b64decode(self.checkpoint))

    def rotated(self) -> Keys:
        """The same with a new deployment key and a new seed key; those in use become old ones."""
        return replace(
            self,
            deployment=_key(),
            deployment_id=_following(self.deployment_id, self.old_deployment),
            old_deployment={**self.old_deployment, self.deployment_id: self.deployment},
            seed=_key(),
            seed_id=_following(self.seed_id, self.old_seed),
            old_seed={**self.old_seed, self.seed_id: self.seed},
        )

    def field_keys(self) -> Keyring:
        """The deployment keys."""
        return _ring(
            self.deployment_id, {**self.old_deployment, self.deployment_id: self.deployment}
        )

    def seed_keys(self) -> Keyring:
        """The keys of the server seeds."""
        return _ring(self.seed_id, {**self.old_seed, self.seed_id: self.seed})

    def without_seed_key(self, key_id: str) -> Keys:
        """The same without an old seed key; `KeyError` where there is none of that id."""
        left = dict(self.old_seed)
        del left[key_id]
        return replace(self, old_seed=left)


def _ring(current: str, keys: Mapping[str, str]) -> Keyring:
    return Keyring(current, {key_id: b64decode(key) for key_id, key in keys.items()})


def _following(key_id: str, old: Mapping[str, str]) -> str:
    """`k3` after `k2`: the letter stays, no number comes twice."""
    highest = max(int(name[1:]) for name in (key_id, *old))
    return f"{key_id[0]}{highest + 1}"


@dataclass(frozen=True, slots=True)
class KeyFolder:
    """Where they lie: `house.json`, and `token.pem` with `token.pub`, which signs and checks the
    tokens of local development."""

    path: Path

    def load(self) -> Keys:
        """The keys of this house; made, all at once, where there are none. A house that an earlier
        version has made gets those that it lacks, and keeps them. Raises `OtherFormatError`."""
        self.path.mkdir(parents=True, exist_ok=True)
        self.path.chmod(0o700)
        with self._one_makes():
            if not self.token_key.exists():
                private, public = tokens.new_key()
                write_privately(self.path / "token.pub", public)
                write_privately(self.token_key, private)
            if not self._kept.exists():
                self.store(Keys())
            try:
                kept = json.loads(self._kept.read_text())
                keys = Keys(**kept)
            except (TypeError, ValueError):
                # Nothing of it is repeated: it is all secret.
                raise OtherFormatError(
                    f"{self._kept} holds other keys than this version of the software knows"
                ) from None
            if kept.keys() != asdict(keys).keys():
                self.store(keys)
            return keys

    @contextmanager
    def _one_makes(self) -> Iterator[None]:
        """Two commands that find the same thing missing must not go on with a key each."""
        lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def store(self, keys: Keys) -> None:
        """Keeps these from now on."""
        write_privately(self._kept, json.dumps(asdict(keys), indent=2))

    @property
    def _kept(self) -> Path:
        return self.path / "house.json"

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
        file.flush()
        # A machine that fails now must not have given the old keys for an empty file.
        os.fsync(file.fileno())
    fresh.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)

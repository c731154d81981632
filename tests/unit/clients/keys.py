"""A key for tokens in tests."""

from __future__ import annotations

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

TEST_KEY = Ed25519PrivateKey.from_private_bytes(bytes(32))

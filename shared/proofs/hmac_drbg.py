"""HMAC_DRBG with SHA-256: NIST SP 800-90A Rev. 1, section 10.1.2, at 256 bits of security strength.

Nothing here draws entropy; who instantiates hands it in. Prediction resistance is not offered.
"""

from __future__ import annotations

from hmac import digest as _hmac

OUT_BYTES = 32
MIN_ENTROPY_BYTES = 32
"""256 bits, the security strength (table 2)."""
MIN_NONCE_BYTES = 16
"""Half the security strength (8.6.7)."""
MAX_INPUT_BYTES = 1 << 16
"""Of any one input; table 2 allows 2^35 bits, and no use here comes near this."""
MAX_REQUEST_BYTES = 1 << 16
"""2^19 bits in one call (table 2)."""
RESEED_INTERVAL = 1 << 48
"""Calls between seeds (table 2)."""


class ReseedRequiredError(Exception):
    """The reseed interval is over; `generate` gives nothing more before a `reseed`."""


class HmacDrbg:
    """One instance with its working state (Key, V, reseed counter).

    It wants `reseed` every 2^48 calls. `ValueError` for inputs outside the limits of table 2;
    the state is then as it was.
    """

    __slots__ = ("_key", "_value", "reseed_counter")

    def __init__(self, entropy: bytes, nonce: bytes, personalization: bytes = b"") -> None:
        """Instantiates (10.1.2.3) from at least 32 bytes of entropy and a nonce of at least 16."""
        _check("entropy", entropy, MIN_ENTROPY_BYTES)
        _check("nonce", nonce, MIN_NONCE_BYTES)
        _check("personalization", personalization)
        self._key = bytes(OUT_BYTES)
        self._value = b"\x01" * OUT_BYTES
        self._update(entropy + nonce + personalization)
        self.reseed_counter = 1

    def reseed(self, entropy: bytes, additional: bytes = b"") -> None:
        """Mixes in at least 32 bytes of fresh entropy (10.1.2.4)."""
        _check("entropy", entropy, MIN_ENTROPY_BYTES)
        _check("additional", additional)
        self._update(entropy + additional)
        self.reseed_counter = 1

    def generate(self, count: int, additional: bytes = b"") -> bytes:
        """The next `count` bytes, 1 to 65,536 (10.1.2.5).

        `ReseedRequiredError` once the interval is over.
        """
        if not 1 <= count <= MAX_REQUEST_BYTES:
            raise ValueError(f"1 to {MAX_REQUEST_BYTES} bytes in one call, not {count}")
        _check("additional", additional)
        if self.reseed_counter > RESEED_INTERVAL:
            raise ReseedRequiredError
        if additional:
            self._update(additional)
        key, value = self._key, self._value
        out = []
        for _ in range(-(-count // OUT_BYTES)):
            value = _hmac(key, value, "sha256")
            out.append(value)
        self._value = value
        self._update(additional)
        self.reseed_counter += 1
        return b"".join(out)[:count]

    def __repr__(self) -> str:
        """Shows nothing of the state, which is a secret."""
        return "HmacDrbg(…)"

    def _update(self, provided: bytes) -> None:
        for separator in (b"\x00", b"\x01"):
            self._key = _hmac(self._key, self._value + separator + provided, "sha256")
            self._value = _hmac(self._key, self._value, "sha256")
            if not provided:
                return


def _check(name: str, value: bytes, least: int = 0) -> None:
    if not least <= len(value) <= MAX_INPUT_BYTES:
        raise ValueError(f"{name}: {least} to {MAX_INPUT_BYTES} bytes, not {len(value)}")


def known_answer_holds() -> bool:
    """The health test of 11.3: CAVP vectors through instantiate, generate and reseed, and inputs
    outside the limits, which must be refused."""
    return _generates() and _reseeds() and _refuses()


def _generates() -> bool:
    drbg = HmacDrbg(
        bytes.fromhex("ca851911349384bffe89de1cbdc46e6831e44d34a4fb935ee285dd14b71a7488"),
        bytes.fromhex("659ba96c601dc69fc902940805ec0ca8"),
    )
    drbg.generate(128)
    return drbg.generate(128) == bytes.fromhex(
        "e528e9abf2dece54d47c7e75e5fe302149f817ea9fb4bee6f4199697d04d5b89"
        "d54fbb978a15b5c443c9ec21036d2460b6f73ebad0dc2aba6e624abf07745bc1"
        "07694bb7547bb0995f70de25d6b29e2d3011bb19d27676c07162c8b5ccde0668"
        "961df86803482cb37ed6d5c0bb8d50cf1f50d476aa0458bdaba806f48be9dcb8"
    )


def _reseeds() -> bool:
    drbg = HmacDrbg(
        bytes.fromhex("06032cd5eed33f39265f49ecb142c511da9aff2af71203bffaf34a9ca5bd9c0d"),
        bytes.fromhex("0e66f71edc43e42a45ad3c6fc6cdc4df"),
    )
    drbg.reseed(bytes.fromhex("01920a4e669ed3a85ae8a33b35a74ad7fb2a6bb4cf395ce00334a9c9a5a5d552"))
    drbg.generate(128)
    return drbg.generate(128) == bytes.fromhex(
        "76fc79fe9b50beccc991a11b5635783a83536add03c157fb30645e611c2898bb"
        "2b1bc215000209208cd506cb28da2a51bdb03826aaf2bd2335d576d519160842"
        "e7158ad0949d1a9ec3e66ea1b1a064b005de914eac2e9d4f2d72a8616a802254"
        "22918250ff66a41bd2f864a6a38cc5b6499dc43f7f2bd09e1e0f8f5885935124"
    )


def _refuses() -> bool:
    try:
        HmacDrbg(bytes(MIN_ENTROPY_BYTES - 1), bytes(MIN_NONCE_BYTES))
    except ValueError:
        return True
    return False

"""HMAC_DRBG against NIST's own vectors, and at its limits."""

from __future__ import annotations

from pathlib import Path

import pytest

from shared.proofs import hmac_drbg
from shared.proofs.hmac_drbg import HmacDrbg, ReseedRequiredError, known_answer_holds

VECTORS = Path(__file__).parents[2] / "vectors" / "nist"
ENTROPY = bytes(range(32))
NONCE = bytes(range(16))


def cases(name: str) -> list[dict[str, list[bytes]]]:
    """The vectors of a CAVP response file: each name with its values in order."""
    found: list[dict[str, list[bytes]]] = []
    for line in (VECTORS / name).read_text().splitlines():
        key, equals, value = line.partition(" =")
        if line.startswith(("#", "[")) or not equals:
            continue
        if key == "COUNT":
            found.append({})
        else:
            found[-1].setdefault(key, []).append(bytes.fromhex(value))
    return found


def test_the_vectors_are_all_there() -> None:
    assert len(cases("hmac_drbg_sha256_no_reseed.rsp")) == 33
    assert len(cases("hmac_drbg_sha256_pr_false.rsp")) == 8


@pytest.mark.parametrize(
    "name", ["hmac_drbg_sha256_no_reseed.rsp", "hmac_drbg_sha256_pr_false.rsp"]
)
def test_the_second_output_is_what_nist_says(name: str) -> None:
    for case in cases(name):
        drbg = HmacDrbg(case["EntropyInput"][0], case["Nonce"][0], case["PersonalizationString"][0])
        if "EntropyInputReseed" in case:
            drbg.reseed(case["EntropyInputReseed"][0], case["AdditionalInputReseed"][0])
        expected = case["ReturnedBits"][0]
        first, second = case["AdditionalInput"]
        drbg.generate(len(expected), first)
        assert drbg.generate(len(expected), second) == expected


def test_the_known_answer_holds_and_fails_when_the_generator_is_broken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert known_answer_holds()
    with monkeypatch.context() as patch:
        patch.setattr(hmac_drbg, "_hmac", lambda key, data, name: bytes(32))
        assert not known_answer_holds()
    with monkeypatch.context() as patch:
        patch.setattr(HmacDrbg, "reseed", lambda self, entropy: None)
        assert not known_answer_holds()
    with monkeypatch.context() as patch:
        patch.setattr(hmac_drbg, "_check", lambda name, value, least=0: None)
        assert not known_answer_holds()


def test_a_short_output_is_the_beginning_of_a_long_one() -> None:
    assert HmacDrbg(ENTROPY, NONCE).generate(100)[:33] == HmacDrbg(ENTROPY, NONCE).generate(33)


def test_entropy_nonce_and_personalization_each_make_another_stream() -> None:
    streams = {
        HmacDrbg(ENTROPY, NONCE).generate(32),
        HmacDrbg(ENTROPY[::-1], NONCE).generate(32),
        HmacDrbg(ENTROPY, NONCE[::-1]).generate(32),
        HmacDrbg(ENTROPY, NONCE, b"another").generate(32),
    }
    assert len(streams) == 4


@pytest.mark.parametrize(
    ("entropy", "nonce", "personalization"),
    [
        (bytes(31), NONCE, b""),
        (ENTROPY, bytes(15), b""),
        (bytes(65_537), NONCE, b""),
        (ENTROPY, bytes(65_537), b""),
        (ENTROPY, NONCE, bytes(65_537)),
    ],
)
def test_too_little_or_too_much_to_instantiate_is_refused(
    entropy: bytes, nonce: bytes, personalization: bytes
) -> None:
    with pytest.raises(ValueError, match="bytes"):
        HmacDrbg(entropy, nonce, personalization)


def test_a_refused_call_leaves_the_state_as_it_was() -> None:
    drbg, untouched = HmacDrbg(ENTROPY, NONCE), HmacDrbg(ENTROPY, NONCE)
    for count in (0, 65_537):
        with pytest.raises(ValueError, match="1 to 65536"):
            drbg.generate(count)
    with pytest.raises(ValueError, match="additional"):
        drbg.generate(1, bytes(65_537))
    with pytest.raises(ValueError, match="entropy"):
        drbg.reseed(bytes(31))
    with pytest.raises(ValueError, match="additional"):
        drbg.reseed(ENTROPY, bytes(65_537))
    assert drbg.generate(65_536) == untouched.generate(65_536)


def test_after_the_reseed_interval_nothing_comes_before_a_reseed() -> None:
    drbg = HmacDrbg(ENTROPY, NONCE)
    drbg.reseed_counter = hmac_drbg.RESEED_INTERVAL
    drbg.generate(1)
    with pytest.raises(ReseedRequiredError):
        drbg.generate(1)
    drbg.reseed(ENTROPY)
    assert len(drbg.generate(1)) == 1


def test_its_text_shows_nothing_of_its_state() -> None:
    assert repr(HmacDrbg(ENTROPY, NONCE)) == "HmacDrbg(…)"

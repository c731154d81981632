"""Only tokens of this house, for now, name a caller."""

from __future__ import annotations

import time

import jwt
import pytest

from shared.errors import CroupierError
from shared.rpc import tokens
from shared.rpc.access import Role
from shared.rpc.tokens import TokenCheck
from tests.services import PRIVATE_KEY, PUBLIC_KEY, token


def refusal(bad: str) -> str:
    with pytest.raises(CroupierError) as refused:
        TokenCheck(PUBLIC_KEY).caller(bad)
    return refused.value.reason


def claims(**changed: object) -> dict[str, object]:
    now = int(time.time())
    good: dict[str, object] = {
        "iss": "croupier",
        "aud": "croupier",
        "sub": "ann",
        "role": "player",
        "iat": now,
        "exp": now + 60,
    }
    return {key: value for key, value in {**good, **changed}.items() if value is not None}


@pytest.mark.parametrize("role", list(Role))
def test_a_token_names_its_bearer_and_role(role: Role) -> None:
    made = token(role, "player-7")
    caller = TokenCheck(PUBLIC_KEY).caller(made)
    assert (caller.id, caller.role, caller.token) == ("player-7", role, made)


def test_an_expired_token_is_told_apart() -> None:
    assert refusal(token(Role.PLAYER, ttl_s=-1)) == "TOKEN_EXPIRED"


def test_a_token_expires_even_if_it_was_seen_before(monkeypatch: pytest.MonkeyPatch) -> None:
    check = TokenCheck(PUBLIC_KEY)
    made = token(Role.PLAYER, ttl_s=60)
    check.caller(made)
    later = time.time() + 61
    monkeypatch.setattr(time, "time", lambda: later)
    with pytest.raises(CroupierError) as refused:
        check.caller(made)
    assert refused.value.reason == "TOKEN_EXPIRED"


@pytest.mark.parametrize(
    "changed",
    [
        {"role": "emperor"},
        {"role": None},
        {"sub": None},
        {"sub": "an apostrophe's"},
        {"iss": "elsewhere"},
        {"aud": "elsewhere"},
        {"exp": None},
        {"exp": 10**400},
    ],
    ids=lambda changed: str(changed)[:30],
)
def test_a_wrong_or_missing_claim_is_refused(changed: dict[str, object]) -> None:
    assert refusal(jwt.encode(claims(**changed), PRIVATE_KEY, "EdDSA")) == "UNAUTHENTICATED"


def test_another_key_another_algorithm_or_none_is_refused() -> None:
    other, _ = tokens.new_key()
    assert refusal(jwt.encode(claims(), other, "EdDSA")) == "UNAUTHENTICATED"
    assert refusal(jwt.encode(claims(), "k" * 64, "HS256")) == "UNAUTHENTICATED"
    assert refusal(jwt.encode(claims(), "", "none")) == "UNAUTHENTICATED"
    assert refusal("not a token") == "UNAUTHENTICATED"
    assert refusal("x" * 5000) == "UNAUTHENTICATED"


def test_whoever_signs_may_have_a_clock_that_is_ahead() -> None:
    """A token that was made a moment ago on another host is good here as well."""
    made = jwt.encode(claims(iat=int(time.time()) + 5), PRIVATE_KEY, "EdDSA")
    assert TokenCheck(PUBLIC_KEY).caller(made).id == "ann"


def test_a_subject_must_be_an_id() -> None:
    with pytest.raises(ValueError, match="1 to 64"):
        tokens.sign(PRIVATE_KEY, "two words", Role.PLAYER, 60)


def test_only_ed25519_public_keys_check_tokens() -> None:
    with pytest.raises(ValueError):
        TokenCheck("no key")

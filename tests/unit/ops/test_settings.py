"""Settings come from the environment and from mounted files; what is wrong is named, not shown."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path

import pytest
from pydantic import ValidationError
from pydantic_settings import SettingsError

from shared.ops.settings import (
    WRONG_SETTINGS,
    AuditSettings,
    RelaySettings,
    ServiceSettings,
    ShuffleSettings,
    TableSettings,
    WalletSettings,
    host_port,
    key_bytes,
    read,
)
from tests.services import PRIVATE_KEY, PUBLIC_KEY

KEY = bytes(range(32))
ENVIRONMENT = {
    "CROUPIER_NODE": "n1",
    "CROUPIER_LISTEN": "127.0.0.1:7001",
    "CROUPIER_METRICS_LISTEN": "127.0.0.1:7101",
    "CROUPIER_TOKEN_PUBLIC_KEY": PUBLIC_KEY,
    "CROUPIER_DATABASE_DSN": "postgresql://hidden-dsn",
    "CROUPIER_NATS_URL": "nats://hidden-url",
    "CROUPIER_SHUFFLE_ADDRESS": "127.0.0.1:7002",
    "CROUPIER_SERVICE_TOKEN": "hidden-token",
    "CROUPIER_DEPLOYMENT_KEY": b64encode(KEY).decode(),
    "CROUPIER_SEED_KEY": b64encode(KEY).decode(),
    "CROUPIER_LOG_ID": "casino.example/one",
    "CROUPIER_CHECKPOINT_KEY": b64encode(KEY).decode(),
}


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize(
    ("kind", "service"),
    [
        (ShuffleSettings, "shuffle"),
        (TableSettings, "table"),
        (WalletSettings, "wallet"),
        (AuditSettings, "audit"),
        (RelaySettings, "relay"),
    ],
)
def test_every_service_reads_its_settings(kind: type[ServiceSettings], service: str) -> None:
    settings = read(kind)
    assert (settings.service, settings.node, settings.address) == (service, "n1", "127.0.0.1:7001")


def test_a_secret_may_lie_in_a_mounted_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "croupier_nats_url").write_text("nats://from-a-file\n")
    monkeypatch.setenv("CROUPIER_SECRETS_DIR", str(tmp_path))
    monkeypatch.delenv("CROUPIER_NATS_URL")
    assert read(WalletSettings).nats_url.get_secret_value() == "nats://from-a-file"


def test_what_others_dial_may_differ_from_what_is_listened_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CROUPIER_ADVERTISE", "table-3.internal:7001")
    assert read(TableSettings).address == "table-3.internal:7001"


@pytest.mark.parametrize("bad", ["", "not base64!", b64encode(KEY[:31]).decode()])
def test_a_key_has_32_bytes_in_base64(monkeypatch: pytest.MonkeyPatch, bad: str) -> None:
    monkeypatch.setenv("CROUPIER_SEED_KEY", bad)
    with pytest.raises(ValidationError, match="seed_key"):
        read(ShuffleSettings)


@pytest.mark.parametrize("bad", ["", "a b", "a+b", "a/", "/a", "a//b", "https://a", "a" * 129])
def test_a_log_id_is_a_name_that_a_key_may_have(monkeypatch: pytest.MonkeyPatch, bad: str) -> None:
    monkeypatch.setenv("CROUPIER_LOG_ID", bad)
    with pytest.raises(ValidationError, match="log_id"):
        read(AuditSettings)
    monkeypatch.setenv("CROUPIER_LOG_ID", "casino.example/main-1")
    settings = read(AuditSettings)
    assert settings.note_signer().verifier.name == "casino.example/main-1"
    assert settings.checkpoint_key.get_secret_value() not in repr(settings)


def test_a_key_gives_its_bytes() -> None:
    assert key_bytes(read(ShuffleSettings).seed_key) == KEY


def test_no_secret_shows_in_a_representation_or_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = read(TableSettings)
    assert "hidden" not in repr(settings)
    assert ENVIRONMENT["CROUPIER_DEPLOYMENT_KEY"] not in repr(settings)
    monkeypatch.setenv("CROUPIER_DEPLOYMENT_KEY", "hidden-but-no-key")
    with pytest.raises(ValidationError) as wrong:
        read(TableSettings)
    assert "deployment_key" in str(wrong.value)
    assert "hidden" not in str(wrong.value)


def test_a_missing_setting_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CROUPIER_SHUFFLE_ADDRESS")
    with pytest.raises(ValidationError, match="shuffle_address"):
        read(TableSettings)


@pytest.mark.parametrize("bad", ["localhost", ":7001", "host:port", "host:123456", "host:65536"])
@pytest.mark.parametrize("name", ["LISTEN", "METRICS_LISTEN", "ADVERTISE"])
def test_an_address_is_host_and_port(monkeypatch: pytest.MonkeyPatch, bad: str, name: str) -> None:
    monkeypatch.setenv(f"CROUPIER_{name}", bad)
    with pytest.raises(ValidationError, match=name.lower()):
        read(WalletSettings)


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("TOKEN_PUBLIC_KEY", ""),
        ("TOKEN_PUBLIC_KEY", "-----BEGIN PUBLIC KEY-----"),
        ("DATABASE_DSN", ""),
        ("DATABASE_DSN", "host=127.0.0.1 password=hidden"),
        ("NATS_URL", ""),
        ("SERVICE_TOKEN", ""),
        ("SERVICE_TOKEN", "hidden\n"),
    ],
)
def test_what_cannot_work_is_named_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch, name: str, bad: str
) -> None:
    monkeypatch.setenv(f"CROUPIER_{name}", bad)
    with pytest.raises(ValidationError, match=name.lower()) as wrong:
        read(TableSettings)
    assert "hidden" not in str(wrong.value)


def test_a_private_key_is_not_what_checks_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROUPIER_TOKEN_PUBLIC_KEY", PRIVATE_KEY)
    with pytest.raises(ValidationError, match="token_public_key") as wrong:
        read(WalletSettings)
    assert PRIVATE_KEY.split("\n")[1] not in str(wrong.value)


def test_a_lease_that_no_heartbeat_renews_in_time_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CROUPIER_HEARTBEAT_S", "3")
    with pytest.raises(ValidationError, match="heartbeat_s must be less than lease_ttl_s"):
        read(TableSettings)


@pytest.mark.parametrize(
    ("old", "current"),
    [("CROUPIER_OLD_DEPLOYMENT_KEYS", "k1"), ("CROUPIER_OLD_SEED_KEYS", "s1")],
)
def test_two_keys_have_two_ids(monkeypatch: pytest.MonkeyPatch, old: str, current: str) -> None:
    """A new key under the id of the one before: what that sealed would open nevermore."""
    before = b64encode(bytes([7] * 32)).decode()
    monkeypatch.setenv(old, json.dumps({current: before}))
    with pytest.raises(ValidationError, match=f"{current} is the id of this key and of another"):
        read(ShuffleSettings)
    monkeypatch.setenv(old, json.dumps({current: b64encode(KEY).decode()}))
    assert read(ShuffleSettings).field_keys().current == "k1"


def test_no_folder_of_secrets_is_not_the_folder_one_stands_in(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "croupier_log_level").write_text("debug")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CROUPIER_SECRETS_DIR", "")
    assert read(WalletSettings).log_level == "info"


def test_a_secret_that_is_no_text_is_a_wrong_setting(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "croupier_seed_key").write_bytes(b"\xff" * 32)
    monkeypatch.setenv("CROUPIER_SECRETS_DIR", str(tmp_path))
    monkeypatch.delenv("CROUPIER_SEED_KEY")
    with pytest.raises(WRONG_SETTINGS):
        read(ShuffleSettings)


def test_host_and_port_are_told_apart() -> None:
    assert host_port("127.0.0.1:7001") == ("127.0.0.1", 7001)


def test_old_keys_open_what_they_sealed_and_the_newest_seals(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = read(ShuffleSettings)
    field = before.field_keys().seal_field(b"card", "hand-1", "auditors", b"here")
    seed = before.seed_keys().seal_at_rest(b"seed", "shuffle.seeds", "shoe-1")
    monkeypatch.setenv("CROUPIER_DEPLOYMENT_KEY_ID", "k2")
    monkeypatch.setenv("CROUPIER_DEPLOYMENT_KEY", b64encode(bytes([7] * 32)).decode())
    monkeypatch.setenv("CROUPIER_OLD_DEPLOYMENT_KEYS", json.dumps({"k1": b64encode(KEY).decode()}))
    monkeypatch.setenv("CROUPIER_SEED_KEY_ID", "s2")
    monkeypatch.setenv("CROUPIER_SEED_KEY", b64encode(bytes([8] * 32)).decode())
    (tmp_path / "croupier_old_seed_keys").write_text(json.dumps({"s1": b64encode(KEY).decode()}))
    monkeypatch.setenv("CROUPIER_SECRETS_DIR", str(tmp_path))
    after = read(ShuffleSettings)
    assert after.field_keys().unseal_field(field, "hand-1", "auditors", b"here") == b"card"
    assert after.seed_keys().unseal_at_rest(seed, "shuffle.seeds", "shoe-1") == b"seed"
    assert after.field_keys().seal_field(b"card", "hand-1", "auditors", b"here").key_id == "k2"
    assert after.seed_keys().seal_at_rest(b"seed", "shuffle.seeds", "shoe-1").key_id == "s2"
    for settings in (after, after.field_keys(), after.seed_keys()):
        assert b64encode(KEY).decode() not in repr(settings)
        assert repr(KEY)[2:-1] not in repr(settings)


@pytest.mark.parametrize("old", ['{"k1": "c2hvcnQ="}', '{"k 1": "' + "A" * 43 + '="}', "hidden"])
def test_an_old_key_that_is_none_is_named_not_shown(
    monkeypatch: pytest.MonkeyPatch, old: str
) -> None:
    monkeypatch.setenv("CROUPIER_OLD_DEPLOYMENT_KEYS", old)
    with pytest.raises((ValidationError, SettingsError), match="old_deployment_keys") as caught:
        read(TableSettings)
    assert old not in str(caught.value)

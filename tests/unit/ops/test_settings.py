"""Settings come from the environment and from mounted files; what is wrong is named, not shown."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import pytest
from pydantic import ValidationError

from shared.ops.settings import (
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

KEY = bytes(range(32))
ENVIRONMENT = {
    "CROUPIER_NODE": "n1",
    "CROUPIER_LISTEN": "127.0.0.1:7001",
    "CROUPIER_METRICS_LISTEN": "127.0.0.1:7101",
    "CROUPIER_TOKEN_PUBLIC_KEY": "pem",
    "CROUPIER_DATABASE_DSN": "postgresql://hidden-dsn",
    "CROUPIER_NATS_URL": "nats://hidden-url",
    "CROUPIER_SHUFFLE_ADDRESS": "127.0.0.1:7002",
    "CROUPIER_SERVICE_TOKEN": "hidden-token",
    "CROUPIER_DEPLOYMENT_KEY": b64encode(KEY).decode(),
    "CROUPIER_SEED_KEY": b64encode(KEY).decode(),
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


@pytest.mark.parametrize("bad", ["localhost", ":7001", "host:port", "host:123456"])
def test_an_address_is_host_and_port(monkeypatch: pytest.MonkeyPatch, bad: str) -> None:
    monkeypatch.setenv("CROUPIER_LISTEN", bad)
    with pytest.raises(ValidationError, match="listen"):
        read(WalletSettings)


def test_host_and_port_are_told_apart() -> None:
    assert host_port("127.0.0.1:7001") == ("127.0.0.1", 7001)

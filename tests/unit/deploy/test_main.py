"""What is wrong with a machine, a database or settings is told in words, with a status."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import asyncpg
import pytest
import typer
from typer.testing import CliRunner

from deploy import log_commands, main
from deploy.errors import HouseError
from deploy.serve import serve


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("CROUPIER_"):
            monkeypatch.delenv(name)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (PermissionError(13, "Permission denied", ".croupier"), "Permission denied: '.croupier'"),
        (OSError(28, "No space left on device"), "No space left on device"),
        (asyncpg.InvalidPasswordError("password authentication failed"), "authentication failed"),
        (asyncpg.ClientConfigurationError("invalid DSN"), "invalid DSN"),
        (TimeoutError(), "TimeoutError"),
    ],
    ids=lambda given: type(given).__name__,
)
def test_what_is_wrong_with_the_machine_is_told_in_a_line(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: Exception,
    words: str,
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(main, "app", typer.Typer())
    monkeypatch.setattr(main, "run_app", fail)
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line


def test_a_log_is_not_recovered_without_its_keys() -> None:
    asked = CliRunner().invoke(log_commands.log, ["recover", "--dsn", "postgresql://elsewhere"])
    assert isinstance(asked.exception, HouseError)
    assert "deployment_key" in str(asked.exception)


def no_text(folder: Path) -> None:
    (folder / "croupier_nats_url").write_bytes(b"\xff\xfe")


def nothing(folder: Path) -> None:
    """Everything is missing."""


@pytest.mark.parametrize("prepare", [nothing, no_text], ids=["nothing", "no text"])
def test_wrong_settings_end_a_service_with_2_before_anything_starts(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    prepare: Callable[[Path], None],
) -> None:
    prepare(tmp_path)
    monkeypatch.setenv("CROUPIER_SECRETS_DIR", str(tmp_path))
    assert serve("wallet") == 2
    assert capsys.readouterr().err

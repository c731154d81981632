"""A log that grew too long makes room without its writer noticing."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from deploy import house
from deploy.folder import HouseFolder
from deploy.house import House, trim
from tests.polling import eventually


def test_a_writer_goes_on_in_a_trimmed_log(tmp_path: Path) -> None:
    log = tmp_path / "table.log"
    with log.open("ab", buffering=0) as writer:
        writer.write(b"old\n" * 3)
        trim(log, limit_bytes=10)
        writer.write(b"new\n")
    assert log.read_bytes() == b"new\n"
    assert (tmp_path / "table.log.1").read_bytes() == b"old\n" * 3


def test_a_short_log_is_left_alone(tmp_path: Path) -> None:
    log = tmp_path / "table.log"
    log.write_bytes(b"old\n")
    trim(log, limit_bytes=4)
    assert log.read_bytes() == b"old\n"
    assert not (tmp_path / "table.log.1").exists()


async def test_the_log_of_the_house_itself_is_trimmed_where_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which one that was opened with --detach has, and that may stay open for years."""
    monkeypatch.setattr(house, "_LOG_CHECK_S", 0.0)
    monkeypatch.setattr(house, "_LOG_LIMIT_BYTES", 10)
    folder = HouseFolder(tmp_path)
    trimming = asyncio.create_task(House(folder)._trim_logs())
    log = folder.log("house")
    log.parent.mkdir()
    log.write_bytes(b"old\n" * 3)
    await eventually(lambda: log.stat().st_size == 0)
    trimming.cancel()

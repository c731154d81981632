"""A log that grew too long makes room without its writer noticing."""

from __future__ import annotations

from pathlib import Path

from deploy.house import trim


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

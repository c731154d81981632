"""Logs are JSON for machines and lines for people, with what is bound, and without secrets."""

from __future__ import annotations

import errno
import json
import logging
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
import structlog

from shared.ops import logs


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    yield
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()
    logging.basicConfig(handlers=[], force=True)


class FullDisk(StringIO):
    """Takes what is written, and finds no room for it when it is to be kept."""

    full = True

    def flush(self) -> None:
        if self.full:
            raise OSError(errno.ENOSPC, "no space")


class NobodyReads(StringIO):
    """A pipe to a process that is gone."""

    def write(self, text: str) -> int:
        raise BrokenPipeError


def lines(out: StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_a_line_is_one_json_object_with_everything_that_is_bound() -> None:
    out = StringIO()
    logs.set_up("info", out, service="table", node="t1")
    structlog.contextvars.bind_contextvars(table="b-1", hand="b-1-7", correlation="5f0c")
    structlog.get_logger().info("hand_settled", player="ann")
    (line,) = lines(out)
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "event": "hand_settled",
        "level": "info",
        "service": "table",
        "node": "t1",
        "table": "b-1",
        "hand": "b-1-7",
        "correlation": "5f0c",
        "player": "ann",
    }


def test_what_is_below_the_level_is_not_written() -> None:
    out = StringIO()
    logs.set_up("warning", out)
    structlog.get_logger().info("quiet")
    structlog.get_logger().warning("loud")
    assert [line["event"] for line in lines(out)] == ["loud"]


def test_libraries_write_into_the_same_log() -> None:
    out = StringIO()
    logs.set_up("info", out, service="table")
    structlog.contextvars.bind_contextvars(table="b-1")
    logging.getLogger("asyncpg").warning("lost %s", "it")
    logging.getLogger("nats").info("chatter")
    (line,) = lines(out)
    assert (line["event"], line["logger"]) == ("lost it", "asyncpg")
    assert (line["service"], line["table"]) == ("table", "b-1")


def test_a_traceback_has_no_local_variables() -> None:
    out = StringIO()
    logs.set_up("info", out)
    log = structlog.get_logger()
    try:
        server_seed = "5eed5eed5eed"
        raise ValueError(f"a seed of {len(server_seed)}")
    except ValueError:
        log.exception("failed")
    try:
        salt = "5a175a17"
        raise ValueError(f"a salt of {len(salt)}")
    except ValueError:
        logging.getLogger("asyncpg").exception("failed too")
    written = out.getvalue()
    assert "a seed of 12" in written
    assert "a salt of 8" in written
    assert "5eed5eed" not in written
    assert "5a175a17" not in written


def test_a_terminal_gets_lines_for_people() -> None:
    out = Terminal()
    logs.set_up("info", out)
    structlog.get_logger().info("process_up", process="nats")
    assert "process_up" in out.getvalue()
    with pytest.raises(json.JSONDecodeError):
        json.loads(out.getvalue())


@pytest.mark.parametrize("out", [FullDisk(), NobodyReads()], ids=["full disk", "nobody reads"])
def test_a_line_that_cannot_be_written_ends_no_work(out: StringIO) -> None:
    """Tables, leases and supervisors log in the middle of what they do."""
    logs.set_up("info", out)
    structlog.get_logger().error("lost")
    logging.getLogger("asyncio").error("lost as well")


def test_when_there_is_room_again_lines_are_written() -> None:
    out = FullDisk()
    logs.set_up("info", out)
    structlog.get_logger().info("before")
    out.full = False
    structlog.get_logger().info("after")
    assert lines(out)[-1]["event"] == "after"

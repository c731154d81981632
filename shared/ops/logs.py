"""Logs: one JSON object a line in services, readable lines on a terminal.

`table`, `hand`, `player` and `correlation` are bound with `structlog.contextvars` and stand in
every line written while they are bound, those of libraries included.
"""

from __future__ import annotations

import contextlib
import logging
import sys
from typing import TextIO, cast

import structlog
from structlog.tracebacks import ExceptionDictTransformer
from structlog.typing import EventDict, Processor, WrappedLogger

# What libraries tell at "info" is for their authors.
_QUIET = ("asyncio", "grpc", "nats")


def set_up(level: str, stream: TextIO | None = None, **bound: str) -> None:
    """Sends the logs of structlog and of the standard library to `stream` (standard output).

    `level` is the least severe that is written; `bound` (service, node) stands in every line.
    """
    out = sys.stdout if stream is None else stream
    least = logging.getLevelNamesMapping()[level.upper()]
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        _Bound(bound),
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    rendered = _for_people() if out.isatty() else _for_machines()
    structlog.configure(
        processors=[*shared, structlog.processors.StackInfoRenderer(), *rendered],
        wrapper_class=structlog.make_filtering_bound_logger(least),
        logger_factory=structlog.WriteLoggerFactory(cast("TextIO", _Unfailing(out))),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(out)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.add_logger_name],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *rendered],
        )
    )
    logging.basicConfig(handlers=[handler], level=least, force=True)
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)


class _Unfailing:
    """A stream that loses what it cannot write. A full disk, or a collector of logs that is gone,
    must not end the work that a line tells of."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def write(self, text: str) -> None:
        with contextlib.suppress(OSError):
            self._out.write(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._out.flush()


class _Bound:
    def __init__(self, bound: dict[str, str]) -> None:
        self._bound = bound

    def __call__(self, _: WrappedLogger, __: str, event: EventDict) -> EventDict:
        for key, value in self._bound.items():
            event.setdefault(key, value)
        return event


def _for_people() -> list[Processor]:
    return [
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback),
    ]


def _for_machines() -> list[Processor]:
    # structlog would add every frame's local variables to a traceback: seeds and salts among them.
    tracebacks = ExceptionDictTransformer(show_locals=False)
    return [
        structlog.processors.ExceptionRenderer(tracebacks),
        structlog.processors.JSONRenderer(sort_keys=True),
    ]

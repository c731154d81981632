"""What is told when the database stays away."""

from __future__ import annotations

from typing import Any

import pytest
from structlog.testing import capture_logs

from shared.log import LogUnavailableError, on_connection

WORDS = "Multiple exceptions: [Errno 111] Connect call failed ('10.0.0.7', 5432)"


class Away:
    """A pool whose server is not there."""

    def acquire(self, timeout: float) -> Any:
        raise OSError(WORDS)


async def never(connection: Any) -> None:
    raise AssertionError("there is no connection")


async def test_the_drivers_words_are_for_our_log_not_for_the_caller() -> None:
    with capture_logs() as logged, pytest.raises(LogUnavailableError) as refused:
        await on_connection(Away(), never, give_up_after_s=0.0)  # type: ignore[arg-type]
    assert "10.0.0.7" not in refused.value.message
    assert isinstance(refused.value.__cause__, OSError)
    assert [line["error"] for line in logged] == [f"OSError: {WORDS}"]

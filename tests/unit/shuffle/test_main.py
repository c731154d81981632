"""The process does not start on a generator that fails its health test."""

from __future__ import annotations

import asyncio

import pytest

from services.shuffle import main
from shared.ops.settings import ShuffleSettings
from tests.services import PUBLIC_KEY


async def test_a_broken_generator_serves_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(main, "known_answer_holds", lambda: False)
    settings = ShuffleSettings(
        node="s1",
        listen="127.0.0.1:1",
        metrics_listen="127.0.0.1:1",
        token_public_key=PUBLIC_KEY,
        database_dsn="postgresql://unused",  # type: ignore[arg-type]
        nats_url="nats://unused",  # type: ignore[arg-type]
        deployment_key="A" * 43 + "=",  # type: ignore[arg-type]
        seed_key="A" * 43 + "=",  # type: ignore[arg-type]
    )
    with pytest.raises(RuntimeError, match="known-answer"):
        await main.serve(settings, asyncio.Event())

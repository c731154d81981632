"""What is made of the address of a bus."""

from __future__ import annotations

from typing import Any

import pytest

from shared.bus import stream


async def test_an_address_may_have_spaces_and_its_password_any_letter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Written as in every address: what would end a part of it stands there in hexadecimal."""
    given: dict[str, Any] = {}

    async def come(_: object, within_s: float, **options: Any) -> None:
        given.update(options)

    monkeypatch.setattr(stream._Connection, "come", come)
    await stream.connect("nats://me:p%40ss%2Fword@one:4222, nats://me:p%40ss%2Fword@two:4222", "x")
    assert (given["user"], given["password"]) == ("me", "p@ss/word")
    assert [each.rpartition("@")[2] for each in given["servers"]] == ["one:4222", "two:4222"]
    assert all(each.startswith("nats://") for each in given["servers"])
    await stream.connect("nats://one:4222", "x")
    assert (given["user"], given["password"]) == (None, None)

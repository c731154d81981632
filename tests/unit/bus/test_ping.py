"""The word that partitions moved: at once, and seldom, and never forgotten."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from shared.bus.ping import Pinger, partition_of_ping
from tests.polling import eventually


class Client:
    """Keeps what is published, as far as the pinger sees of a NATS client."""

    def __init__(self) -> None:
        self.is_connected = True
        self.said: list[str] = []
        self.then: Callable[[], None] | None = None

    async def publish(self, subject: str) -> None:
        self.said.append(partition_of_ping(subject))
        then, self.then = self.then, None
        if then is not None:
            then()


def pinger_of(client: Client) -> Pinger:
    return Pinger(cast(Any, client))


async def test_what_moves_in_a_burst_is_told_once() -> None:
    client = Client()
    pinger = pinger_of(client)
    for _ in range(100):
        pinger({"table.0"})
        pinger({"wallet.0"})
    await eventually(lambda: client.said)
    assert sorted(client.said) == ["table.0", "wallet.0"]


async def test_what_moves_while_a_ping_is_sent_is_told_too() -> None:
    client = Client()
    pinger = pinger_of(client)
    client.then = lambda: pinger({"table.0"})
    pinger({"table.0"})
    await eventually(lambda: len(client.said) == 2)
    assert client.said == ["table.0", "table.0"]


async def test_it_goes_on_after_a_rest() -> None:
    client = Client()
    pinger = pinger_of(client)
    pinger({"table.0"})
    await eventually(lambda: pinger._running is None)
    pinger({"wallet.0"})
    await eventually(lambda: client.said == ["table.0", "wallet.0"])


async def test_nothing_is_kept_for_a_bus_that_is_away() -> None:
    client = Client()
    client.is_connected = False
    pinger = pinger_of(client)
    pinger({"table.0"})
    await eventually(lambda: not pinger._moved)
    client.is_connected = True
    pinger({"wallet.0"})
    await eventually(lambda: client.said)
    assert client.said == ["wallet.0"]

"""NATS and Postgres are killed under a running house: it goes on when they are back."""

from __future__ import annotations

from tests.integration.bus.conftest import house_in
from tests.integration.bus.probe import Probe
from tests.logs import assert_sound
from tests.servers import PostgresForTests, Running


async def test_the_house_outlives_its_servers(
    own_postgres: PostgresForTests, own_nats: Running
) -> None:
    database = await own_postgres.database()
    async with house_in(database, own_nats.server.url) as house:  # type: ignore[union-attr]
        house.relay()
        house.consumer(Probe())
        await house.write_many(20)
        await house.becomes_equal()

        own_nats.kill()
        await house.write_many(20)
        await house.becomes_equal()
        await own_nats.start_again()
        await house.write_many(20)
        await house.stores(60)

        own_postgres.kill()
        await own_postgres.start_again()
        await house.reconnect()
        await house.write_many(20)
        await house.becomes_equal()
        await house.stores(80)
        await assert_sound(house.log, "table.0")

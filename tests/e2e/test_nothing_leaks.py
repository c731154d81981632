"""200 hands, and everything that left the house meanwhile: no card, salt or seed came early.

What clients of every role received, every message on the bus, every line of a log and every metric
is compared with the shoes as they really were.
"""

from __future__ import annotations

import pytest

from clients.bots.progress import Summary
from tests.chaos.playing import playing
from tests.e2e.houses import HouseOnDisk
from tests.e2e.onlookers import (
    Seeing,
    hear_bus,
    hear_clients,
    read_logs,
    read_metrics,
    watch_as_everybody,
)
from tests.e2e.shoes import Shoe, all_shoes
from tests.e2e.sightings import cards_in, secrets_in

HANDS = 200
TABLE = "baccarat-1"


async def play(house: HouseOnDisk, monkeypatch: pytest.MonkeyPatch) -> Seeing:
    seeing = Seeing()
    hear_clients(monkeypatch, seeing)
    async with hear_bus(house, seeing), playing(house) as run:
        await run.more_hands(1)
        async with watch_as_everybody(house, TABLE):
            await run.more_hands(HANDS // 2)
            await read_metrics(house, seeing)
            await run.more_hands(HANDS // 2)
        summary, ledger, verified = await run.finish()
        assert isinstance(summary, Summary)
        assert ledger.balanced
        assert verified.clean
        await read_metrics(house, seeing)
    read_logs(house, seeing)
    return seeing


@pytest.mark.timeout(300)
async def test_nobody_sees_a_card_a_salt_or_a_seed_before_its_time(
    house: HouseOnDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (await house.run("up", "--detach")).status == 0
    seeing = await play(house, monkeypatch)
    shoes = await all_shoes(house)
    assert len(shoes) >= 3, "200 hands are more than two shoes"

    for where in ("/croupier.table", "/croupier.audit", "/croupier.wallet", "bus ", "log ", "metr"):
        assert any(seen.where.startswith(where) for seen in seeing.seen), where
    assert_no_secret_is_early(seeing, shoes)
    assert_no_card_is_early(seeing, shoes)


def assert_no_secret_is_early(seeing: Seeing, shoes: list[Shoe]) -> None:
    public_s = {secret: at_s for shoe in shoes for secret, at_s in shoe.secrets().items()}
    secrets = frozenset(public_s)
    known: dict[bytes, set[bytes]] = {}
    found = 0
    for seen in seeing.seen:
        if seen.content not in known:
            known[seen.content] = secrets_in(seen.content, secrets)
        for secret in known[seen.content]:
            found += 1
            assert not seen.where.startswith(("log ", "metrics ")), f"{seen.where}: a secret"
            assert seen.at_s >= public_s[secret], f"{seen.where}: a secret before its time"
    assert found, "proofs hold salts: whoever finds none does not look"


def assert_no_card_is_early(seeing: Seeing, shoes: list[Shoe]) -> None:
    shown: dict[tuple[int, str], float] = {}
    for shoe in shoes:
        for position, at_s in shoe.shown_s.items():
            key = (position, str(shoe.shown(position).card))
            shown[key] = min(at_s, shown.get(key, at_s))
    found = 0
    for seen in seeing.seen:
        for position, card in cards_in(seen.message) if seen.message is not None else ():
            found += 1
            when_s = shown.get((position, card))
            assert when_s is not None, f"{seen.where}: {card} at {position} was shown to nobody"
            assert seen.at_s >= when_s, f"{seen.where}: {card} at {position} before its time"
    assert found > HANDS * 4

"""Promise 2, from outside: hands of all five games, everything that anybody receives is kept, and
nothing in it is a card that was not shown to this viewer before, or a secret of an unseen one."""

from __future__ import annotations

import asyncio
import base64
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import asyncpg
import pytest
from croupier.event.v1.event_pb2 import Batch
from croupier.shuffle.v1 import events_pb2 as shuffle_events
from croupier.table.v1 import events_pb2 as table_events
from croupier.table.v1 import table_pb2

from clients.api.house import find_house
from clients.bots.run import open_tables, play_hands
from deploy.folder import HouseFolder
from deploy.programs import DATABASE, Programs
from shared.cards import DECK
from shared.ids import event_id
from shared.proofs.sealed_shoe import SealedShoe
from shared.sealing import Keyring, Sealed
from tests.e2e.houses import HouseOnDisk
from tests.e2e.onlookers import (
    Seeing,
    Seen,
    hear_bus,
    hear_clients,
    read_logs,
    read_metrics,
    watch_as_everybody,
)
from tests.e2e.sightings import secrets_in

# `make evening` plays a thousand hands of each game.
HANDS = int(os.environ.get("EVENING_HANDS", "100"))
GAMES = tuple(
    os.environ.get("EVENING_GAMES", "baccarat battle casino_holdem oasis_poker draw_poker").split()
)
PRIVATE = {"casino_holdem", "oasis_poker", "draw_poker"}
EVERYBODY = ""

_KEEP_SEEDS = """
CREATE TABLE shuffle.kept_by_a_test AS SELECT * FROM shuffle.seeds WITH NO DATA;
CREATE FUNCTION shuffle.keep_for_a_test() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
    $$ BEGIN INSERT INTO shuffle.kept_by_a_test SELECT NEW.*; RETURN NEW; END $$;
CREATE TRIGGER keep_for_a_test AFTER INSERT ON shuffle.seeds
    FOR EACH ROW EXECUTE FUNCTION shuffle.keep_for_a_test();
"""


@dataclass
class Shown:
    """What the log says was shown: of a shoe, a position, to whom, and when it was committed."""

    at: dict[tuple[str, int, str], datetime] = field(default_factory=dict)
    shoe_of_hand: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    shoe_of_request: dict[str, str] = field(default_factory=dict)
    seeds: dict[str, dict[str, bytes]] = field(default_factory=lambda: defaultdict(dict))
    used: dict[str, list[str]] = field(default_factory=dict)
    cut_at: dict[str, int] = field(default_factory=dict)
    decks: dict[str, int] = field(default_factory=dict)
    published: set[str] = field(default_factory=set)

    def note(self, row: Any) -> None:
        """The next event of the log."""
        stream, kind, payload = row["stream"], row["type"], row["payload"]
        category, _, name = stream.partition("/")
        if category == "table" and kind == "HandOpened":
            opened = table_events.HandOpened.FromString(payload)
            self.shoe_of_hand[opened.hand_id].append(opened.shoe_id)
        elif category == "table" and kind == "CardsDue":
            due = table_events.CardsDue.FromString(payload)
            self.shoe_of_request[str(event_id(stream, row["version"]))] = due.shoe_id
        elif category == "shuffle":
            self._note_shoe(name, getattr(shuffle_events, kind).FromString(payload), row)

    def _note_shoe(self, shoe: str, body: Any, row: Any) -> None:
        match body:
            case shuffle_events.ShoeOpened():
                self.decks[shoe] = body.decks
            case shuffle_events.ShoeCut():
                self.cut_at[shoe] = body.at
            case shuffle_events.SeedOpened():
                self.seeds[shoe][body.player] = body.seed
            case shuffle_events.ShoeSealed():
                self.used[shoe] = list(body.used)
            case shuffle_events.CardsShown():
                for card in body.cards:
                    self.at.setdefault((shoe, card.position, card.player), row["recorded_at"])
            case shuffle_events.CardsBurned() | shuffle_events.CardsExposed():
                for proof in body.open:
                    self.at.setdefault((shoe, proof.position, EVERYBODY), row["recorded_at"])
            case shuffle_events.ShoeRetired() if body.server_seed:
                self.published.add(shoe)

    def when(self, shoes: Iterable[str], position: int, viewer: str) -> datetime | None:
        """When the card was first shown to this viewer; None if it never was."""
        moments = [
            self.at[key]
            for shoe in shoes
            for key in ((shoe, position, EVERYBODY), (shoe, position, viewer))
            if key in self.at
        ]
        return min(moments, default=None)


@dataclass
class Evening:
    """What is left of an evening: all that left the house, and what was secret."""

    seen: list[Seen]
    shown: Shown
    secrets: frozenset[bytes]

    def on_bus(self) -> Iterator[bytes]:
        """The messages on the bus."""
        return (seen.content for seen in self.seen if seen.where.startswith("bus croupier."))


@pytest.fixture(scope="module")
def evening(open_house: HouseOnDisk) -> Evening:
    """Hands of five games, three bots and a spectator of every role at each table."""
    return asyncio.run(_spend(open_house))


async def _spend(open_house: HouseOnDisk) -> Evening:
    folder = HouseFolder(open_house.file.parent)
    keys = folder.keys.load()
    database = await asyncpg.connect(
        Programs(folder, keys, folder.read()["ports"]).postgres.dsn(DATABASE)
    )
    await database.execute(_KEEP_SEEDS)
    seeing = Seeing()
    with pytest.MonkeyPatch.context() as patch:
        hear_clients(patch, seeing)
        house = find_house(open_house.file)
        tables = await open_tables(house, GAMES)
        async with hear_bus(open_house, seeing), AsyncExitStack() as looking_on:
            for table in tables:
                await looking_on.enter_async_context(watch_as_everybody(open_house, table))
            summary = await play_hands(house, tables, HANDS, lambda _: None, seed=7)
            await read_metrics(open_house, seeing)
    assert summary.hands >= HANDS
    read_logs(open_house, seeing)
    shown = Shown()
    for row in await database.fetch(
        "SELECT stream, version, type, payload, recorded_at FROM log.events "
        "ORDER BY partition, position"
    ):
        shown.note(row)
    seeds = await _seeds(database, Keyring("s1", {"s1": base64.b64decode(keys.seed)}))
    await database.close()
    return Evening(seeing.seen, shown, _secrets(shown, seeds))


async def _seeds(database: Any, keyring: Keyring) -> dict[str, bytes]:
    rows = await database.fetch("SELECT * FROM shuffle.kept_by_a_test")
    return {
        row["shoe_id"]: keyring.unseal_at_rest(
            Sealed(row["key_id"], row["nonce"], row["ciphertext"]),
            "shuffle.seeds",
            row["shoe_id"],
        )
        for row in rows
    }


def _secrets(shown: Shown, seeds: dict[str, bytes]) -> frozenset[bytes]:
    """The first 16 bytes of every seed that was not published, and the salts of unseen cards."""
    secrets: set[bytes] = set()
    seen = {(shoe, position) for shoe, position, _ in shown.at}
    for shoe, seed in seeds.items():
        if shoe not in shown.published:
            secrets.add(seed[:16])
        if shoe not in shown.used:
            continue
        players = [(player, shown.seeds[shoe][player]) for player in shown.used[shoe]]
        sealed = SealedShoe(seed, shoe, players, shown.decks[shoe], shown.cut_at[shoe])
        for position in range(len(sealed)):
            if (shoe, position) not in seen:
                secrets.add(sealed.show(position).salt)
    return frozenset(secrets)


def test_no_seed_and_no_salt_of_an_unseen_card_leaves_the_house(evening: Evening) -> None:
    assert len(evening.secrets) > 100, "nearly every card was seen: play fewer hands or more games"
    for seen in {seen.content: seen for seen in evening.seen}.values():
        assert secrets_in(seen.content, evening.secrets) == set(), seen.where


def test_every_card_sent_to_anybody_was_shown_to_him_before(evening: Evening) -> None:
    cards = 0
    for seen in evening.seen:
        for update in _updates(seen):
            viewer = update.you.player
            for shoes, position in _cards(update, evening.shown):
                committed = evening.shown.when(shoes, position, viewer)
                assert committed is not None, (viewer, shoes, position, update)
                assert committed.timestamp() <= seen.at_s
                cards += 1
    assert cards > 5_000


def test_a_private_card_is_never_in_the_clear_on_the_bus(evening: Evening) -> None:
    private = 0
    for body in evening.on_bus():
        for event in _table_events(body):
            if event.type != "CardsDealt":
                continue
            for card in table_events.CardsDealt.FromString(event.payload).cards:
                if card.face != table_events.FACE_UP:
                    assert card.card_plus_one == 0
                    private += card.HasField("sealed")
    assert private > 200 or not PRIVATE & set(GAMES)


def _table_events(body: bytes) -> Iterator[Any]:
    for event in Batch.FromString(body).events:
        if event.stream.startswith("table/"):
            yield event


def _updates(seen: Seen) -> Iterator[table_pb2.Update]:
    match seen.message:
        case table_pb2.PlayResponse() if seen.message.HasField("update"):
            yield seen.message.update
        case table_pb2.WatchResponse():
            yield seen.message.update
        case table_pb2.GetTableResponse():
            yield seen.message.table


def _cards(update: table_pb2.Update, shown: Shown) -> Iterator[tuple[list[str], int]]:
    """Every card in the update whose value it tells: the shoes it may be of, and its position."""
    table = update.table
    now = shown.shoe_of_hand[table.hand_id]
    before = shown.shoe_of_hand[table.last_result.hand_id]
    for shoes, hands in ((now, table.hands), (now, update.you.hands), (before, table.last_hands)):
        for hand in hands:
            for card in hand.cards:
                if card.card:
                    assert card.card in {str(each) for each in DECK}
                    yield shoes, card.position
    for event in update.events:
        for dealt in event.cards_dealt.cards:
            if dealt.card_plus_one:
                shoe = shown.shoe_of_request[event.cards_dealt.request_id]
                yield [shoe], dealt.position

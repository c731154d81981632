"""Promises 1 and 2, from outside: 200 hands of all games, everything that anybody receives is kept,
and nothing in it is secret, early or somebody else's."""

from __future__ import annotations

import asyncio
import base64
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import asyncpg
import nats
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
from tests.e2e.listening import Ears, Heard, log_lines, metrics, secrets_in

HANDS = 200
GAMES = ("baccarat", "battle", "casino_holdem", "oasis_poker", "draw_poker")
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
    """What is left of an evening: all that was heard, on the bus too, and what was secret."""

    heard: list[Heard]
    bus: list[bytes]
    metrics: list[bytes]
    logs: list[bytes]
    shown: Shown
    secrets: frozenset[bytes]


@pytest.fixture(scope="module")
def evening(open_house: HouseOnDisk) -> Evening:
    """200 hands of five games, three bots and a spectator at each table."""
    return asyncio.run(_spend(open_house))


async def _spend(open_house: HouseOnDisk) -> Evening:
    folder = HouseFolder(open_house.file.parent)
    keys = folder.keys.load()
    programs = Programs(folder, keys, folder.read()["ports"])
    database = await asyncpg.connect(programs.postgres.dsn(DATABASE))
    await database.execute(_KEEP_SEEDS)
    on_bus: list[bytes] = []

    async def keep(message: Any) -> None:
        on_bus.append(message.data)
        on_bus.extend(value.encode() for value in (message.headers or {}).values())

    bus = await nats.connect(programs.nats.url)
    await bus.subscribe(">", cb=keep)
    ears = Ears()
    told: list[bytes] = []
    with pytest.MonkeyPatch.context() as patch:
        ears.listen(patch)
        house = find_house(open_house.file)
        tables = await open_tables(house, GAMES)
        telling = asyncio.create_task(asyncio.to_thread(lambda: list(metrics(open_house))))
        summary = await play_hands(house, tables, HANDS, lambda _: None, seed=7)
        told.extend(await telling)
    assert summary.hands >= HANDS
    told.extend(metrics(open_house))
    await bus.drain()
    shown = Shown()
    for row in await database.fetch(
        "SELECT stream, version, type, payload, recorded_at FROM log.events "
        "ORDER BY partition, position"
    ):
        shown.note(row)
    seeds = await _seeds(database, Keyring("s1", {"s1": base64.b64decode(keys.seed)}))
    await database.close()
    return Evening(
        ears.heard, on_bus, told, list(log_lines(open_house)), shown, _secrets(shown, seeds)
    )


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


def test_an_evening_has_secrets_to_keep(evening: Evening) -> None:
    assert len(evening.secrets) > 1_000
    assert len(evening.heard) > 2_000
    assert len(evening.bus) > 1_000


def test_the_search_finds_a_secret_in_every_encoding() -> None:
    secret = bytes(range(3, 19))
    encodings = (
        secret,
        secret.hex().encode(),
        secret.hex().upper().encode(),
        *(base64.b64encode(b"x" * pad + secret + b"yz") for pad in range(4)),
        base64.urlsafe_b64encode(b"\xfb\xff" + secret),
        base64.b64encode(secret).rstrip(b"="),
    )
    for encoding in encodings:
        text = b'{"a": "' + encoding + b'"}'
        assert secrets_in([text], frozenset({secret})) == {secret}, encoding
    assert secrets_in([b"nothing " * 9], frozenset({secret})) == set()


def test_no_seed_and_no_salt_of_an_unseen_card_leaves_the_house(evening: Evening) -> None:
    for name, texts in (
        ("clients", [heard.body for heard in evening.heard]),
        ("bus", evening.bus),
        ("metrics", evening.metrics),
        ("logs", evening.logs),
    ):
        assert secrets_in(texts, evening.secrets) == set(), name


def test_every_card_sent_to_anybody_was_shown_to_him_before(evening: Evening) -> None:
    cards = 0
    for heard in evening.heard:
        for update in _updates(heard):
            viewer = update.you.player
            for shoes, position in _cards(update, viewer, evening.shown):
                committed = evening.shown.when(shoes, position, viewer)
                assert committed is not None, (viewer, shoes, position, update)
                # Two readings of one machine's clock, which may be set in between.
                assert committed <= heard.at + timedelta(milliseconds=5)
                cards += 1
    assert cards > 5_000


def test_a_private_card_is_never_in_the_clear_on_the_bus(evening: Evening) -> None:
    private = 0
    for body in evening.bus:
        for event in _table_events(body):
            if event.type != "CardsDealt":
                continue
            for card in table_events.CardsDealt.FromString(event.payload).cards:
                if card.face != table_events.FACE_UP:
                    assert card.card_plus_one == 0
                    private += card.HasField("sealed")
    assert private > 500


def _table_events(body: bytes) -> Iterator[Any]:
    try:
        batch = Batch.FromString(body)
    except Exception:
        return  # a header, a ping or JetStream's own talk
    for event in batch.events:
        if event.stream.startswith("table/"):
            yield event


def _updates(heard: Heard) -> Iterator[table_pb2.Update]:
    match heard.method.rpartition("/")[2]:
        case "Play":
            response = table_pb2.PlayResponse.FromString(heard.body)
            if response.HasField("update"):
                yield response.update
        case "Watch":
            yield table_pb2.WatchResponse.FromString(heard.body).update
        case "GetTable":
            yield table_pb2.GetTableResponse.FromString(heard.body).table


def _cards(update: table_pb2.Update, viewer: str, shown: Shown) -> Iterator[tuple[list[str], int]]:
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

"""What a dishonest table, player, replica or reader of the database would try; each fails."""

from __future__ import annotations

from collections.abc import Iterator

import asyncpg
import pytest
from croupier.shuffle.v1 import events_pb2

from services.shuffle.storage import ShoeStore
from shared.cards import DECK
from shared.log import open_pool
from shared.proofs.sealed_shoe import SealedShoe
from shared.proofs.shown_card import ShownCard, shown_card_holds
from shared.sealing import Keyring, UnsealError
from tests.integration.shuffle.conftest import (
    BURN,
    DOWN,
    OPEN,
    PLAYER,
    SEED_KEYS,
    Desk,
    Draw,
    Process,
    Start,
    holds,
    refusal,
    types,
)
from tests.servers import Database, PostgresForTests


async def test_no_card_is_told_before_the_seal(process: Process, desk: Desk) -> None:
    await desk.open()
    assert await refusal(desk.deal(Draw(position=0, use=OPEN))) == "SHOE_NOT_SEALED"
    await desk.cut()
    assert await refusal(desk.deal(Draw(position=0, use=OPEN))) == "SHOE_NOT_SEALED"
    assert await types(process) == ["ShoeOpened", "ShoeCut"]


async def test_a_table_does_not_look_ahead(process: Process, desk: Desk) -> None:
    await desk.ready()
    assert await refusal(desk.deal(Draw(position=1, use=OPEN))) == "BAD_POSITION"
    assert await refusal(desk.deal(Draw(position=415, use=OPEN))) == "BAD_POSITION"
    assert (await types(process))[-1] == "ShoeSealed"


async def test_a_table_does_not_see_face_down_cards_nor_burned_ones(desk: Desk) -> None:
    await desk.ready()
    answer = await desk.deal(Draw(position=0, use=DOWN), Draw(position=1, use=BURN))
    assert list(answer.cards) == []
    assert await refusal(desk.deal(Draw(position=1, use=OPEN))) == "AUDIENCE_NOT_ALLOWED"


async def test_another_tables_shoe_is_closed(desk: Desk) -> None:
    await desk.ready()
    other = desk.at(table_id="table-2")
    assert await refusal(other.deal(Draw(position=0, use=OPEN))) == "WRONG_TABLE"
    assert await refusal(other.retire()) == "WRONG_TABLE"
    assert await refusal(other.claim()) == "WRONG_TABLE"
    assert await refusal(other.open()) == "SHOE_EXISTS"


async def test_a_private_card_goes_to_one_player(desk: Desk) -> None:
    await desk.ready()
    await desk.deal(Draw(position=0, use=PLAYER, player="ann"))
    assert await refusal(desk.deal(Draw(position=0, use=PLAYER, player="bob"))) == (
        "AUDIENCE_NOT_ALLOWED"
    )


async def test_a_paused_owner_gets_nothing_of_a_hand_that_was_voided(desk: Desk) -> None:
    """The new owner claims the shoe before it voids: from then on no position moves but by it."""
    await desk.ready()
    await desk.deal(Draw(position=0, use=DOWN), hand="hand-1")
    newer = desk.at(epoch=2)
    assert (await newer.claim()).next_position == 1
    assert await refusal(desk.deal(Draw(position=0, use=OPEN))) == "STALE_EPOCH"
    assert await refusal(desk.deal(Draw(position=1, use=OPEN))) == "STALE_EPOCH"
    assert await refusal(newer.deal(Draw(position=0, use=OPEN), hand="hand-2")) == (
        "AUDIENCE_NOT_ALLOWED"
    )
    assert len((await newer.deal(Draw(position=1, use=OPEN), hand="hand-2")).cards) == 1


async def test_a_seed_chosen_late_or_used_before_is_refused(process: Process, desk: Desk) -> None:
    seed = desk.seed("ann")
    await desk.open()
    await desk.commit("ann", seed)
    await desk.commit("bob", desk.seed("bob"))
    assert await refusal(desk.open_seed("ann", seed)) == "SHOE_NOT_CUT"
    await desk.cut()
    assert await refusal(desk.commit("eve", b"e" * 16)) == "SEED_REFUSED"
    assert await refusal(desk.open_seed("ann", desk.seed("other"))) == "SEED_MISMATCH"
    await desk.open_seed("ann", seed)
    await desk.seal()
    assert await refusal(desk.open_seed("bob", desk.seed("bob"))) == "SHOE_SEALED"
    second = f"{desk.shoe}-2"
    await desk.open(second)
    await desk.commit("ann", seed, second)
    await desk.cut(shoe_id=second)
    for _ in range(2):
        assert await refusal(desk.open_seed("ann", seed, second)) == "SEED_REUSED"
    assert list((await desk.seal(second)).withheld) == ["ann"]
    recorded = await process.log.read_stream(f"shuffle/{second}")
    assert [event.type for event in recorded].count("SeedReused") == 1


async def test_a_forged_card_does_not_hold_against_the_root(desk: Desk) -> None:
    root = await desk.ready()
    [proof] = (await desk.deal(Draw(position=0, use=OPEN))).cards
    assert holds(root, desk.shoe, proof)
    path = tuple(proof.path)
    passed = [
        card
        for card in DECK
        if shown_card_holds(root, desk.shoe, 416, ShownCard(0, card, proof.salt, path))
    ]
    assert [str(card) for card in passed] == [proof.card]


async def test_a_shoe_the_house_gives_up_stays_on_record(process: Process, desk: Desk) -> None:
    """It cannot be un-opened: the id, the commitment and the reason remain."""
    opened = await desk.open()
    await desk.retire(reason=events_pb2.RETIRE_REASON_ABORTED)
    assert await types(process) == ["ShoeOpened", "ShoeRetired"]
    assert (await desk.get()).commitment == opened.commitment
    assert await refusal(desk.open()) == "SHOE_EXISTS"


@pytest.mark.parametrize(
    "role",
    ["croupier_table", "croupier_wallet", "croupier_audit", "croupier_relay", "croupier_auditor"],
)
async def test_no_other_role_reads_the_seeds(
    module_database: Database, desk: Desk, role: str
) -> None:
    await desk.open()
    connection = await asyncpg.connect(module_database.dsn(role))
    try:
        for table in ("shuffle.seeds", "shuffle.player_seeds"):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.fetch(f"SELECT * FROM {table}")
    finally:
        await connection.close()


async def test_the_shuffle_role_does_not_change_a_seed(
    module_database: Database, desk: Desk
) -> None:
    await desk.open()
    connection = await asyncpg.connect(module_database.dsn("croupier_shuffle"))
    try:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute("UPDATE shuffle.seeds SET key_id = 'x'")
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute("DELETE FROM shuffle.player_seeds")
    finally:
        await connection.close()


async def stored_seed(database: Database, shoe_id: str, keys: Keyring = SEED_KEYS) -> bytes:
    pool = await open_pool(database.dsn("croupier_shuffle"), 1)
    try:
        return await ShoeStore(pool, keys).server_seed(shoe_id)
    finally:
        await pool.close()


async def test_a_stored_seed_opens_with_the_services_key_alone(
    module_database: Database, desk: Desk
) -> None:
    await desk.ready(publish=False)
    await desk.retire()
    assert len(await stored_seed(module_database, desk.shoe)) == 32
    with pytest.raises(UnsealError):
        await stored_seed(module_database, desk.shoe, Keyring("s1", {"s1": bytes(32)}))


async def test_a_published_seed_is_forgotten(module_database: Database, desk: Desk) -> None:
    await desk.ready()
    await desk.retire()
    with pytest.raises(LookupError):
        await stored_seed(module_database, desk.shoe)


async def test_a_seed_swapped_in_the_database_deals_no_card(
    module_database: Database, start: Start
) -> None:
    """Sealed for its shoe, another's ciphertext does not open; a wrong order never leaves."""
    desk = (await start()).desk
    await desk.ready()
    await desk.open(f"{desk.shoe}-2")
    connection = await asyncpg.connect(module_database.dsn())
    await connection.execute(
        """UPDATE shuffle.seeds s SET (key_id, nonce, ciphertext) =
               (SELECT key_id, nonce, ciphertext FROM shuffle.seeds WHERE shoe_id = $2)
            WHERE shoe_id = $1""",
        desk.shoe,
        f"{desk.shoe}-2",
    )
    await connection.close()
    fresh = (await start()).desk
    assert await refusal(fresh.deal(Draw(position=0, use=OPEN))) == "INTERNAL"


async def test_another_seed_than_the_sealed_one_deals_no_card(
    module_database: Database, start: Start
) -> None:
    """Even the service itself, with its key, does not get past the root."""
    desk = (await start()).desk
    await desk.ready()
    sealed = SEED_KEYS.seal_at_rest(bytes(32), "shuffle.seeds", desk.shoe)
    connection = await asyncpg.connect(module_database.dsn())
    await connection.execute(
        "UPDATE shuffle.seeds SET nonce = $2, ciphertext = $3 WHERE shoe_id = $1",
        desk.shoe,
        sealed.nonce,
        sealed.ciphertext,
    )
    await connection.close()
    fresh = (await start()).desk
    assert await refusal(fresh.deal(Draw(position=0, use=OPEN))) == "INTERNAL"


def encodings(secret: bytes) -> Iterator[bytes]:
    """How it might lie about: raw, and in hex of either case."""
    yield secret
    yield secret.hex().encode()
    yield secret.hex().upper().encode()


def forms_of(shoe: SealedShoe, positions: range) -> Iterator[bytes]:
    """The salts of these positions, and any eight of their cards in a row, as codes or text."""
    cards = [shoe.show(position) for position in positions]
    for card in cards:
        yield from encodings(card.salt)
    for first in range(len(cards) - 7):
        row = [card.card for card in cards[first : first + 8]]
        yield bytes(row)
        for between in ("", " ", ",", ", ", '", "'):
            yield between.join(map(str, row)).encode()


def records_in(segment: bytes) -> bytes:
    """What stands in a file of the WAL without the headers of its pages, which may lie in the midst
    of anything (src/include/access/xlog_internal.h: the first one of a file is the long one)."""
    pages = [segment[start : start + 8_192] for start in range(0, len(segment), 8_192)]
    return b"".join([pages[0][40:], *(page[24:] for page in pages[1:])])


async def test_the_databases_bytes_hold_no_seed_no_salt_and_no_order(
    postgres: PostgresForTests, module_database: Database, desk: Desk
) -> None:
    connection = await asyncpg.connect(module_database.dsn())
    oid = await connection.fetchval(
        "SELECT oid FROM pg_database WHERE datname = current_database()"
    )
    segment = await connection.fetchval("SELECT pg_walfile_name(pg_current_wal_insert_lsn())")
    root = await desk.ready(publish=False, decks=1)
    await desk.deal(
        Draw(position=0, use=OPEN),
        Draw(position=1, use=PLAYER, player="ann"),
        Draw(position=2, use=DOWN),
        Draw(position=3, use=BURN),
    )
    seed = await stored_seed(module_database, desk.shoe)
    shoe = SealedShoe(seed, desk.shoe, [], 1, (await desk.get()).cut_at)
    assert shoe.root == root
    await connection.execute("CHECKPOINT")
    await connection.close()
    data = postgres.server.data
    wal = [path for path in (data / "pg_wal").iterdir() if path.name >= segment and path.is_file()]
    held = {path: path.read_bytes() for path in (data / "base" / str(oid)).iterdir()}
    held.update((path, records_in(path.read_bytes())) for path in wal)
    # What was shown to everybody is in both: the search looks in the right places.
    places = {path.parent.name for path, data in held.items() if shoe.show(0).salt in data}
    assert places == {"pg_wal", str(oid)}
    hidden = [*encodings(seed), *forms_of(shoe, range(1, 52))]
    found = [
        (path.name, secret) for path, data in held.items() for secret in hidden if secret in data
    ]
    assert found == []

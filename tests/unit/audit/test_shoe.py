"""A shoe's stream, checked event by event: each way of bending it is named."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any
from uuid import uuid4

import pytest
from croupier.shuffle.v1 import events_pb2 as pb
from croupier.type.v1 import card_pb2, sealed_pb2

from services.audit.verify.findings import Check, Finding, Read, read
from services.audit.verify.shoe import ShoeRecord
from services.shuffle import decide as ask
from services.shuffle.shoe import RetireReason, Use
from services.shuffle.shoes import Request, Shoes
from shared.log import MemoryLog, RecordedEvent
from shared.proofs.seeds import player_seed_commitment
from tests.playing import FIELD_KEYS
from tests.unit.audit.given import Clock, MemoryStore, as_read, told, with_body

SHOE = "t1-s2"
ASKER = ask.Asker("t1", 1)
Stream = list[RecordedEvent]


def request() -> Request:
    return Request(uuid4(), bytes(32), "table/t1", "node-1", uuid4(), SHOE)


async def made(
    seeds: Sequence[str] = (), opened: Sequence[str] = (), retire: bool = True, cut: int = 0
) -> Stream:
    """A shoe of two decks from its opening to its retirement, with cards of every use."""
    log = MemoryLog(now=Clock().moment)
    shoes = Shoes(log, MemoryStore(log), FIELD_KEYS)  # type: ignore[arg-type]
    await shoes.open(request(), ASKER, 2, (10, 10), 7, True)
    for player in seeds:
        commitment = player_seed_commitment(SHOE, player, seed_of(player))
        await shoes.commit_seed(request(), ASKER, player, commitment)
    await shoes.cut(request(), ASKER, "ann" if cut else "", cut)
    for player in opened:
        await shoes.open_seed(request(), ASKER, player, seed_of(player))
    await shoes.seal(request(), ASKER)
    await shoes.deal(
        request(),
        ask.Deal(
            ASKER,
            "h1",
            (
                ask.Draw(0, Use.BURN_OPEN),
                ask.Draw(1, Use.BURN),
                ask.Draw(2, Use.OPEN),
                ask.Draw(3, Use.PLAYER, "ann"),
                ask.Draw(4, Use.DOWN),
            ),
        ),
    )
    await shoes.deal(request(), ask.Deal(ASKER, "h1", (ask.Draw(4, Use.EXPOSED),)))
    if retire:
        await shoes.retire(request(), ASKER, RetireReason.PLAYED)
    return await log.read_stream(f"shuffle/{SHOE}", 0, 1_000)


def seed_of(player: str) -> bytes:
    return sha256(player.encode()).digest()


def walked(events: Stream) -> tuple[ShoeRecord, list[Finding]]:
    record = ShoeRecord(SHOE, FIELD_KEYS)
    return record, [finding for event in events for finding in record.step(read(event))]


def found(events: Stream) -> list[str]:
    return told(walked(events)[1])


def place_of(events: Stream, kind: str) -> int:
    return next(place for place, event in enumerate(events) if event.type == kind)


def changed(events: Stream, kind: str, change: Callable[[Any], None]) -> Stream:
    place = place_of(events, kind)
    return [*events[:place], with_body(events[place], change), *events[place + 1 :]]


def moved(events: Stream, kind: str, before: str) -> Stream:
    """The events with the first of a type put before that of another."""
    event = events[place_of(events, kind)]
    rest = [each for each in events if each is not event]
    place = place_of(rest, before)
    return [*rest[:place], event, *rest[place:]]


async def test_a_shoe_as_it_should_be() -> None:
    events = await made(seeds=("ann", "bob"), opened=("bob",), cut=33)
    record, findings = walked(events)
    assert findings == []
    assert record.cards == 104
    assert record.version == len(events)
    assert record.value(2, "") is not None
    assert record.value(2, "ann") == record.value(2, "")
    assert record.value(3, "") is None
    assert record.value(3, "ann") is not None
    assert record.value(3, "bob") is None
    assert record.value(1, "ann") is None


def test_a_shoe_that_is_not_opened_has_nothing() -> None:
    record = ShoeRecord(SHOE, FIELD_KEYS)
    assert (record.cards, record.root) == (0, b"")


async def test_a_dealers_cut_follows_from_the_seed() -> None:
    events = await made()
    assert found(events) == []
    # The record's own cut moves the cards too: order and cut contradict the seed.
    assert found(changed(events, "ShoeCut", _cut_elsewhere)) == [
        "the dealer's cut does not follow from the server seed",
        "the seeds do not give the order that was sealed",
    ]


def _cut_elsewhere(body: Any) -> None:
    body.at = 10 + (body.at - 9) % 84


async def test_a_stream_begins_with_the_opening() -> None:
    events = await made()
    assert found(events[1:2]) == ["the shoe's stream does not begin with its opening"]
    assert found([events[0], *events]) == ["the shoe was opened twice"]
    assert found(changed(events[:1], "ShoeOpened", lambda body: _set(body, shoe_id="t1-s9"))) == [
        "another shoe, t1-s9, in this stream"
    ]


def _set(body: Any, **fields: Any) -> None:
    for name, value in fields.items():
        setattr(body, name, value)


async def test_seeds_are_committed_once_and_before_the_cut() -> None:
    events = await made(seeds=("ann", "bob"), opened=("ann", "bob"))
    assert found(events) == []
    late = moved(events, "ShoeCut", before="SeedCommitted")
    assert found(late)[:2] == ["a seed was committed after the cut"] * 2
    twice = changed(events, "SeedCommitted", lambda body: _set(body, player="bob"))
    assert "a second seed of one player" in found(twice)


async def test_the_shoe_is_cut_once_and_not_near_an_edge() -> None:
    events = await made()
    cut = place_of(events, "ShoeCut")
    assert "the shoe was cut twice" in found([*events[: cut + 1], events[cut]])
    near = changed(events[: cut + 1], "ShoeCut", lambda body: _set(body, at=9))
    assert found(near) == ["the cut at 9 is too near an edge"]
    assert found(changed(events[: cut + 1], "ShoeCut", lambda body: _set(body, at=95))) == [
        "the cut at 95 is too near an edge"
    ]


async def test_seeds_are_opened_as_committed_between_cut_and_seal() -> None:
    events = await made(seeds=("ann",), opened=("ann",))
    early = moved(events, "SeedOpened", before="ShoeCut")
    assert found(early) == ["a seed was opened before the cut or after the seal"]
    late = moved(events, "ShoeSealed", before="SeedOpened")
    assert "a seed was opened before the cut or after the seal" in found(late)
    other = changed(events, "SeedOpened", lambda body: _set(body, seed=bytes(32)))
    assert found(other)[0] == "the seed is not the one that was committed"


async def test_the_seal_is_made_once_after_the_cut_from_the_seeds_opened() -> None:
    events = await made(seeds=("ann", "bob"), opened=("bob",))
    seal = place_of(events, "ShoeSealed")
    assert found([*events[: seal + 1], events[seal]]) == ["the shoe was sealed twice"]
    assert "the shoe was sealed before it was cut" in found(
        moved(events, "ShoeSealed", before="ShoeCut")
    )
    lied = changed(events, "ShoeSealed", lambda body: body.used.append("ann"))
    assert "other seeds are in the seal than were opened" in found(lied)


async def test_no_card_leaves_before_the_seal_or_unasked() -> None:
    events = await made()
    assert "cards left the shoe before it was sealed" in found(
        moved(events, "CardsTaken", before="ShoeSealed")
    )
    place = place_of(events, "CardsTaken")
    unasked = [*events[:place], events[place]._replace(causation_id=None)]
    assert found(unasked) == ["cards left the shoe and nobody asked for them"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda proof: _set(proof, card="1x"), "there is no card at position 2"),
        (
            lambda proof: _set(proof, card="2c" if proof.card != "2c" else "3c"),
            "the card at position 2 does not prove against the seal",
        ),
        (
            lambda proof: _set(proof, salt=bytes(16)),
            "the card at position 2 does not prove against the seal",
        ),
        (
            lambda proof: _set(proof, position=9),
            "the card at position 2 does not prove against the seal",
        ),
        (
            lambda proof: proof.path.pop(),
            "the card at position 2 does not prove against the seal",
        ),
    ],
)
async def test_a_card_proves_against_the_seal(
    change: Callable[[card_pb2.CardProof], None], message: str
) -> None:
    events = await made(retire=False)
    bent = changed(events, "CardsShown", lambda body: change(body.cards[0].open))
    record, findings = walked(bent)
    assert told(findings) == [message]
    assert findings[0].check is Check.PROOFS
    assert record.value(2, "") is None


@pytest.mark.parametrize("kind", ["CardsBurned", "CardsExposed"])
async def test_burned_and_exposed_cards_prove_too(kind: str) -> None:
    events = await made(retire=False)
    bent = changed(events, kind, lambda body: _set(body.open[0], salt=bytes(16)))
    position = 0 if kind == "CardsBurned" else 4
    assert found(bent) == [f"the card at position {position} does not prove against the seal"]


async def test_a_private_card_opens_for_its_own_place_only() -> None:
    events = await made(retire=False)

    def bend(body: Any) -> None:
        body.cards[1].sealed.ciphertext = bytes(40)

    assert found(changed(events, "CardsShown", bend)) == [
        "the private card at position 3 does not open"
    ]


async def test_a_private_card_that_is_no_card_is_told() -> None:
    events = await made(retire=False)
    place = b"croupier/elsewhere"

    def bend(body: Any) -> None:
        sealed = FIELD_KEYS.seal_field(b"\xff", "h1", "player/ann", place)
        body.cards[1].sealed.CopyFrom(
            sealed_pb2.Sealed(
                key_id=sealed.key_id, nonce=sealed.nonce, ciphertext=sealed.ciphertext
            )
        )

    assert found(changed(events, "CardsShown", bend)) == [
        "the private card at position 3 does not open"
    ]


async def test_for_one_hand_only_its_cards_are_proved() -> None:
    def bend(body: Any) -> None:
        body.cards[0].open.salt = bytes(16)

    events = changed(await made(), "CardsShown", bend)
    mine, others = (ShoeRecord(SHOE, FIELD_KEYS, hand_id) for hand_id in ("h1", "h2"))
    assert told(finding for event in events for finding in mine.step(read(event))) == [
        "the card at position 2 does not prove against the seal"
    ]
    assert not [finding for event in events for finding in others.step(read(event))]
    assert others.shown == {}
    assert others.requests == mine.requests


async def test_nothing_comes_after_retirement_but_disclosure() -> None:
    events = await made()
    late = [*events, events[place_of(events, "CardsTaken")]]
    assert found(late) == ["this came after the shoe was retired"]
    disclosed = as_read(pb.ShoeDisclosed(to="aud"), f"shuffle/{SHOE}", len(events) + 1)
    record, _ = walked(events)
    assert list(record.step(disclosed)) == []


async def test_every_position_is_accounted_for() -> None:
    events = await made()
    short = changed(events, "ShoeRetired", lambda body: _set(body, dealt_to=4))
    assert found(short) == ["not every position below 4 is accounted for, once"]


async def test_what_was_burned_is_said_at_the_end() -> None:
    events = await made()
    other = changed(events, "ShoeRetired", lambda body: body.burned.append(3))
    assert found(other) == ["other cards were burned or exposed than is said at the end"]


async def test_a_seed_is_published_or_not_as_was_said() -> None:
    events = await made()
    hidden = changed(events, "ShoeRetired", lambda body: body.ClearField("server_seed"))
    assert found(hidden) == ["the seed was to be published"]
    secret = changed(events, "ShoeOpened", lambda body: _set(body, publish=False))
    assert found(secret) == ["the seed was to stay secret"]


async def test_a_published_seed_is_the_committed_one() -> None:
    events = await made()
    other = changed(events, "ShoeRetired", lambda body: _set(body, server_seed=bytes(32)))
    assert found(other) == ["the server seed is not the one that was committed to"]


async def test_a_shoe_given_up_before_the_cut_or_the_seal_has_only_its_seed() -> None:
    events = await made()

    def never_dealt(body: Any) -> None:
        body.dealt_to = 0
        del body.burned[:]
        del body.exposed[:]

    retired = with_body(events[-1], never_dealt)
    cut, seal = place_of(events, "ShoeCut"), place_of(events, "ShoeSealed")
    assert found([*events[:cut], retired]) == []
    assert found([*events[:seal], retired]) == []


async def test_a_players_cut_is_not_the_dealers() -> None:
    events = await made(cut=50)
    assert found(events) == []


def test_findings_say_where() -> None:
    event = as_read(pb.CardsTaken(), f"shuffle/{SHOE}", 7, hand_id="h1").event
    finding = Read(event, None).finding(Check.SHOE, "words")
    assert finding == Finding(Check.SHOE, "words", "h1", f"shuffle/{SHOE}", 7, "shuffle.0", 7)

"""A hand step by step: who sees which card after which event."""

from __future__ import annotations

import json
from typing import Any

from croupier.shuffle.v1 import events_pb2 as shuffle
from croupier.table.v1 import events_pb2 as table
from croupier.type.v1 import card_pb2, sealed_pb2

from services.audit.replay import Replay, replay
from services.audit.verify.findings import Read, read
from services.audit.words import words_of
from shared.cards import parse_card
from shared.events import EVENT_TYPES
from shared.sealing import Keyring, Sealed, card_place, player_audience
from shared.table.sealer import KeyringSealer
from tests.playing import FIELD_KEYS
from tests.unit.audit.given import as_read, played

HAND, SHOE = "t1-5", "t1-s2"
OTHER_KEYS = Keyring("k1", {"k1": bytes(32)})


async def baccarat() -> tuple[str, list[Read]]:
    """The events of a hand that was played, as the log gives them."""
    evening = await played(1)
    hand_id = next(
        event.hand_id
        for event in await evening.log.read_stream("table/t1", 0, 1_000)
        if event.hand_id
    )
    return hand_id, [read(event) for event in await evening.log.read_hand(hand_id)]


async def test_a_hand_is_told_from_its_bets_to_its_postings() -> None:
    _, reads = await baccarat()
    told = replay(reads, FIELD_KEYS)
    types = [step.event.type for step in told.steps]
    assert types == [each.event.type for each in reads]
    assert types[0] == "BettingOpened"
    assert types[-1] == "TransferPosted"
    assert told.players == ("ann", "bob")
    assert told.opened is not None
    assert told.opened.event.type == "HandOpened"
    assert told.ended is not None
    assert told.ended.body.result in ("player", "banker", "tie")
    settled = told.steps[types.index("HandSettled")]
    assert settled.derived
    assert settled.text.startswith("The hand is over: ")
    assert json.loads(settled.body_json)["hand_id"]
    assert not told.steps[types.index("BetPlaced")].derived


async def test_cards_are_seen_by_the_table_first_and_by_players_once_dealt() -> None:
    _, reads = await baccarat()
    told = replay(reads, FIELD_KEYS)
    types = [step.event.type for step in told.steps]
    shown, dealt = types.index("CardsShown"), len(types) - types[::-1].index("CardsDealt") - 1
    first = told.steps[shown].sights
    assert set(first) == {"public", "player:ann", "player:bob", "table", "auditor"}
    assert len(first["table"]["player"].split()) == 2
    assert first["table"] == first["auditor"]
    # All that the players see so far is the card burned face up, and the backs of those after it.
    assert set(first["public"]) == {"burn"}
    assert first["public"]["burn"].split().count("??") == len(first["public"]["burn"].split()) - 1
    last = told.steps[dealt].sights
    assert last["public"] == last["table"] == last["player:ann"]
    assert "??" not in last["public"]["player"]


async def test_proofs_come_in_the_order_of_positions() -> None:
    _, reads = await baccarat()
    told = replay(reads, FIELD_KEYS)
    positions = [proof.position for proof in told.proofs]
    assert positions == sorted(set(positions))
    cards = {
        card
        for step in told.steps
        for hand in step.sights["public"].values()
        for card in hand.split()
    }
    assert {proof.card for proof in told.proofs} == cards - {"??"}


# ---- Private cards


def sealed(proof: card_pb2.CardProof, player: str) -> sealed_pb2.Sealed:
    return _message(
        FIELD_KEYS.seal_field(
            proof.SerializeToString(),
            HAND,
            player_audience(player),
            card_place(SHOE, proof.position),
        )
    )


def _message(made: Sealed) -> sealed_pb2.Sealed:
    return sealed_pb2.Sealed(key_id=made.key_id, nonce=made.nonce, ciphertext=made.ciphertext)


def private_hand() -> list[Read]:
    """A card for ann's eyes, one face down; later the first is shown to all, another exposed."""
    proof = card_pb2.CardProof(position=0, card="Td", salt=bytes(16))
    open_ = card_pb2.CardProof(position=0, card="Td", salt=bytes(16))
    exposed = card_pb2.CardProof(position=1, card="9c", salt=bytes(16))
    slots = [
        table.CardSlot(position=0, hand="box1", face=table.FACE_OWNER, viewer="ann"),
        table.CardSlot(position=1, hand="dealer", face=table.FACE_DOWN),
    ]
    private = table.DealtCard(position=0, hand="box1", face=table.FACE_OWNER, viewer="ann")
    private.sealed.CopyFrom(KeyringSealer(FIELD_KEYS).seal(HAND, "ann", 0, parse_card("Td")))
    down = table.DealtCard(position=1, hand="dealer", face=table.FACE_DOWN)
    up = table.DealtCard(
        position=0, hand="box1", face=table.FACE_UP, card_plus_one=parse_card("Td") + 1
    )
    shown = shuffle.ShownCard(position=0, player="ann", sealed=sealed(proof, "ann"))
    bodies: list[Any] = [
        table.BetPlaced(player="ann", box=1, wager="ante", stake=5),
        table.CardsDue(shoe_id=SHOE, slots=slots),
        shuffle.CardsTaken(positions=[1], hand_id=HAND),
        shuffle.CardsShown(hand_id=HAND, cards=[shown]),
        table.CardsDealt(cards=[private, down]),
        shuffle.CardsExposed(open=[exposed], hand_id=HAND),
        shuffle.CardsShown(hand_id=HAND, cards=[shuffle.ShownCard(position=0, open=open_)]),
        table.CardsDealt(cards=[up]),
    ]
    return [
        as_read(
            body,
            "table/t1" if type(body).__module__.startswith("croupier.table") else f"shuffle/{SHOE}",
            version,
            hand_id=HAND,
        )
        for version, body in enumerate(bodies, 1)
    ]


def sights(told: Replay, step: int) -> dict[str, dict[str, str]]:
    return {party: dict(cards) for party, cards in told.steps[step].sights.items()}


def test_a_private_card_is_its_players() -> None:
    told = replay(private_hand(), FIELD_KEYS)
    assert sights(told, 3) == {
        "public": {},
        "player:ann": {},
        "table": {"dealer": "??", "box1": "Td"},
        "auditor": {"dealer": "??", "box1": "Td"},
    }
    assert sights(told, 4) == {
        "public": {"box1": "??", "dealer": "??"},
        "player:ann": {"box1": "Td", "dealer": "??"},
        "table": {"dealer": "??", "box1": "Td"},
        "auditor": {"dealer": "??", "box1": "Td"},
    }
    assert sights(told, 5)["auditor"] == {"dealer": "9c", "box1": "Td"}
    assert sights(told, 7)["public"] == {"box1": "Td", "dealer": "??"}
    assert [(proof.position, proof.card) for proof in told.proofs] == [
        (0, "Td"),
        (0, "Td"),
        (1, "9c"),
    ]


def test_bodies_show_opened_cards_beside_the_sealed_ones() -> None:
    told = replay(private_hand(), FIELD_KEYS)
    [shown] = json.loads(told.steps[3].body_json)["cards"]
    assert shown["opened"]["card"] == "Td"
    assert shown["sealed"]["key_id"] == "k1"
    private, down = json.loads(told.steps[4].body_json)["cards"]
    assert private["opened"] == "Td"
    assert "opened" not in down


def test_without_the_key_private_cards_stay_private() -> None:
    for keyring in (None, OTHER_KEYS):
        told = replay(private_hand(), keyring)
        assert sights(told, 4) == {
            "public": {"box1": "??", "dealer": "??"},
            "player:ann": {"box1": "??", "dealer": "??"},
            "table": {"dealer": "??", "box1": "??"},
            "auditor": {"dealer": "??", "box1": "??"},
        }
        assert all("Td" not in step.body_json for step in told.steps[:5])
        assert [proof.card for proof in told.proofs] == ["Td", "9c"]
        assert "opened" not in json.loads(told.steps[3].body_json)["cards"][0]


def test_a_card_that_nothing_made_due_lies_somewhere() -> None:
    [taken] = [each for each in private_hand() if each.event.type == "CardsTaken"]
    told = replay([taken], FIELD_KEYS)
    assert sights(told, 0)["table"] == {"?": "??"}
    assert (told.opened, told.ended, told.players) == (None, None, ())


def test_burned_cards_lie_where_they_are_burned() -> None:
    proof = card_pb2.CardProof(position=0, card="2c", salt=bytes(16))
    slots = [
        table.CardSlot(position=0, hand="burn", face=table.FACE_UP),
        table.CardSlot(position=1, hand="burn", face=table.FACE_DOWN),
    ]
    reads = [
        as_read(table.CardsDue(shoe_id=SHOE, slots=slots), "table/t1"),
        as_read(shuffle.CardsBurned(positions=[1], open=[proof]), f"shuffle/{SHOE}"),
    ]
    told = replay(reads, FIELD_KEYS)
    assert sights(told, 1)["auditor"] == {"burn": "?? 2c"}
    assert [each.card for each in told.proofs] == ["2c"]


def test_what_the_pit_does_is_told_with_its_note() -> None:
    note = KeyringSealer(FIELD_KEYS).seal_text(HAND, "the ace lay open")
    reads = [
        as_read(
            table.IncidentReported(by="dan", incident="card_exposed", position=7, note=note),
            "table/t1",
            hand_id=HAND,
        ),
        as_read(table.IncidentConfirmed(by="pia"), "table/t1"),
        as_read(table.IncidentResolved(incident="card_exposed", outcome="go_on"), "table/t1"),
        as_read(table.HandRuledVoid(by="pia"), "table/t1"),
    ]
    told = replay(reads, FIELD_KEYS)
    assert [step.text for step in told.steps] == [
        "dan, dealer, reports card exposed, position 7 (“the ace lay open”)",
        "pia, pit, confirms it",
        "What follows from it: go on",
        "pia, pit, rules that the hand is void",
    ]
    assert json.loads(told.steps[0].body_json)["opened"] == "the ace lay open"
    for keys in (None, OTHER_KEYS):
        (step, *_) = replay(reads, keys).steps
        assert step.text == "dan, dealer, reports card exposed, position 7"


def test_every_event_has_words() -> None:
    for name, known in EVENT_TYPES.items():
        assert words_of(name, known.message()).strip()


def test_words_for_those_without_their_own() -> None:
    assert words_of("TableClaimed", table.TableClaimed()) == "Table claimed"
    assert (
        words_of(
            "HandSettled",
            table.HandSettled(
                result="tie",
                lines=[table.SettledLine(player="ann", wager="tie", stake=5, returned=45)],
            ),
        )
        == "The hand is over: tie; ann tie 5 → 45"
    )

"""Every event is known by its name, and its body reads as JSON."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from croupier.shuffle.v1 import events_pb2 as shuffle
from croupier.table.v1 import events_pb2 as table
from croupier.type.v1 import sealed_pb2
from croupier.wallet.v1 import events_pb2 as wallet
from croupier.wallet.v1 import wallet_pb2
from google.protobuf.timestamp_pb2 import Timestamp

from shared.events import (
    EVENT_TYPES,
    UnknownEventError,
    UnreadableEventError,
    _registry,
    decode,
    event_type,
    to_json,
)


def test_every_marked_message_is_an_event_of_its_category() -> None:
    assert event_type("BetPlaced").category == "table"
    assert event_type("CardsShown").category == "shuffle"
    assert event_type("TransferPosted").message is wallet.TransferPosted
    assert not event_type("BetPlaced").derived
    assert event_type("HandSettled").derived


def test_parts_of_events_are_no_events() -> None:
    assert "BetLine" not in EVENT_TYPES
    with pytest.raises(UnknownEventError, match="'BetLine'"):
        event_type("BetLine")


def test_two_categories_cannot_share_a_name() -> None:
    with pytest.raises(ValueError, match="is an event of table and of wallet"):
        _registry({"table": table, "wallet": SimpleNamespace(DESCRIPTOR=table.DESCRIPTOR)})  # type: ignore[dict-item]


def test_decode_gives_the_message() -> None:
    placed = table.BetPlaced(player="p_a", box=3, wager="tie", stake=500)
    assert decode("BetPlaced", placed.SerializeToString()) == placed


def test_decode_refuses_what_it_cannot_read() -> None:
    with pytest.raises(UnknownEventError):
        decode("BetsSwallowed", b"")
    with pytest.raises(UnreadableEventError, match="BetPlaced"):
        decode("BetPlaced", b"\x0a\xff")


def test_json_names_cards_enums_times_and_bytes_for_people() -> None:
    dealt = table.CardsDealt(
        request_id="r",
        cards=[
            table.DealtCard(position=7, hand="player", face=table.FACE_UP, card_plus_one=34),
            table.DealtCard(
                position=8,
                hand="box1",
                face=table.FACE_OWNER,
                viewer="p_a",
                sealed=sealed_pb2.Sealed(key_id="k1", nonce=b"\x01", ciphertext=b"\xab\xcd"),
            ),
        ],
        at=Timestamp(seconds=1_700_000_000, nanos=123_456_000),
    )
    assert to_json(dealt) == {
        "request_id": "r",
        "cards": [
            {
                "position": 7,
                "hand": "player",
                "face": "FACE_UP",
                "viewer": "",
                "card": "Td",
                "sealed": None,
            },
            {
                "position": 8,
                "hand": "box1",
                "face": "FACE_OWNER",
                "viewer": "p_a",
                "card": None,
                "sealed": {"key_id": "k1", "nonce": "01", "ciphertext": "abcd"},
            },
        ],
        "at": "2023-11-14T22:13:20.123456Z",
    }


def test_json_keeps_big_amounts_whole() -> None:
    body = to_json(
        wallet.TransferPosted(
            transfer_kind=wallet.TRANSFER_KIND_DEPOSIT,
            postings=[wallet.Posting(account="cashier", minor_units=-(2**62))],
        )
    )
    [posting] = json.loads(json.dumps(body))["postings"]
    assert posting["minor_units"] == -(2**62)
    assert body["transfer_kind"] == "TRANSFER_KIND_DEPOSIT"


def test_json_of_unset_fields_is_empty_not_missing() -> None:
    assert to_json(table.PlayResumed()) == {"at": None}
    assert to_json(shuffle.ShownCard(position=3)) == {
        "position": 3,
        "player": "",
        "open": None,
        "sealed": None,
    }


def test_json_of_a_newer_enum_value_is_its_number() -> None:
    assert to_json(table.CardSlot(face=9))["face"] == 9  # type: ignore[arg-type]


def test_json_of_a_map_is_an_object_in_order() -> None:
    ledger = wallet_pb2.GetLedgerResponse(applied={"table.1": 4, "table.0": 9})
    assert list(to_json(ledger)["applied"].items()) == [("table.0", 9), ("table.1", 4)]


def test_all_events_of_all_protos_have_a_body() -> None:
    for known in EVENT_TYPES.values():
        body = to_json(known.message())
        assert list(body) == [
            "card" if field.name == "card_plus_one" else field.name
            for field in known.message.DESCRIPTOR.fields
        ]

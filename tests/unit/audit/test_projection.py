"""What each event adds to the tables that people query."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from uuid import UUID

import pytest
from croupier.audit.v1 import events_pb2 as audit
from croupier.shuffle.v1 import events_pb2 as shuffle
from croupier.table.v1 import events_pb2 as table
from croupier.type.v1 import sealed_pb2
from croupier.wallet.v1 import events_pb2 as wallet
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from services.audit.projection import rows_of
from services.audit.rows import Into
from shared.events import UnreadableEventError
from tests.unit.audit.given import START, as_read

AT = Timestamp(seconds=1_700_000_000)
AT_TIME = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
HAND = "t1-5"
TRANSFER = UUID(int=7)


def rows(body: Message, stream: str = "table/t1", hand_id: str | None = HAND) -> dict[str, list]:  # type: ignore[type-arg]
    """By table, the values of the rows that an event adds; not those of `event` itself."""
    found: dict[str, list[tuple[object, ...]]] = {}
    for row in rows_of(as_read(body, stream, 9, hand_id=hand_id).event):
        if row.into is not Into.EVENT:
            found.setdefault(row.into.name, []).append(row.values)
    return found


def test_every_event_is_indexed_with_its_body() -> None:
    body = table.HandVoided(hand_id=HAND, why="pit")
    row = rows_of(as_read(body, "table/t1", 9, hand_id=HAND).event)[0]
    assert row.into is Into.EVENT
    expected = json.dumps({"hand_id": HAND, "why": "pit"}, separators=(",", ":"))
    assert row.values == (9, True, "table.0", expected)


def test_a_shoe_from_its_request_to_its_check() -> None:
    stream = "shuffle/t1-s2"
    assert rows(table.ShoeRequested(shoe_id="t1-s2", decks=8)) == {
        "SHOE_REQUESTED": [("t1-s2", "t1", START)]
    }
    opened = shuffle.ShoeOpened(shoe_id="t1-s2", table_id="t1", decks=8, commitment=b"c")
    assert rows(opened, stream) == {"SHOE_OPENED": [("t1-s2", "t1", START, 8, False, b"c")]}
    assert rows(shuffle.ShoeCut(by="ann", at=7), stream) == {"SHOE_CUT": [("t1-s2", "ann", 7)]}
    sealed = shuffle.ShoeSealed(root=b"r", used=["ann"], withheld=["bob"])
    assert rows(sealed, stream) == {"SHOE_SEALED": [("t1-s2", START, b"r", ["ann"], ["bob"])]}
    retired = shuffle.ShoeRetired(
        retire_reason=shuffle.RETIRE_REASON_ABORTED, dealt_to=9, burned=[0, 1], exposed=[5]
    )
    assert rows(retired, stream) == {"SHOE_RETIRED": [("t1-s2", START, "aborted", 9, 2, 1)]}
    told = shuffle.ShoeDisclosed(
        purpose=shuffle.DISCLOSURE_PURPOSE_PERSON, to="ina", why="complaint 17"
    )
    assert rows(told, stream) == {
        "DISCLOSURE": [("t1-s2", 9, "person", "ina", "complaint 17", START)]
    }
    checked = audit.ShoeChecked(shoe_id="t1-s2", holds=False, findings=["no"], at=AT)
    assert rows(checked, "audit/t1-s2") == {"SHOE_CHECKED": [("t1-s2", AT_TIME, False, ["no"])]}


def test_an_event_that_is_of_no_use_is_only_indexed() -> None:
    assert rows(shuffle.CardsTaken(positions=[1]), "shuffle/t1-s2") == {}
    assert rows(table.BetsDone(player="ann")) == {}


def test_what_postgres_cannot_keep_is_replaced_in_every_row() -> None:
    told = shuffle.ShoeDisclosed(to="ina", why="claim\0 17 \\u0000", at=AT)
    event, disclosure = rows_of(as_read(told, "shuffle/t1-s2", 9).event)
    assert json.loads(event.values[3])["why"] == "claim\ufffd 17 \\u0000"
    assert disclosure.values[4] == "claim\ufffd 17 \\u0000"
    checked = audit.ShoeChecked(shoe_id="t1-s2", findings=["no\0"], at=AT)
    event, check = rows_of(as_read(checked, "audit/t1-s2", 9).event)
    assert json.loads(event.values[3])["findings"] == check.values[3] == ["no\ufffd"]


def test_what_cannot_be_read_is_not_indexed() -> None:
    event = as_read(table.BetPlaced(), "table/t1", payload=b"\xff").event
    with pytest.raises(UnreadableEventError):
        rows_of(event)


def test_a_table_from_its_opening_to_its_close() -> None:
    opened = table.TableOpened(
        table_id="t1", name="One", game="baccarat", rules_version=1, currency="EUR"
    )
    assert rows(opened) == {"TABLE_OPENED": [("t1", "One", "baccarat", 1, "{}", "EUR", START)]}
    assert rows(table.TableClosed()) == {"TABLE_CLOSED": [("t1", START)]}


def test_a_hand_its_players_and_their_bets() -> None:
    boxes = [
        table.BoxBets(
            box=2,
            owner="bob",
            bets=[
                table.BetLine(player="bob", wager="player", stake=100),
                table.BetLine(player="ann", wager="tie", stake=50),
            ],
        )
    ]
    opened = table.HandOpened(
        hand_id=HAND, number=4, game="baccarat", rules_version=1, shoe_id="t1-s2", boxes=boxes
    )
    assert rows(opened) == {
        "HAND_OPENED": [(HAND, "t1", 4, "baccarat", 1, "t1-s2", ["ann", "bob"], 9, START)],
        "HAND_PLAYER": [("ann", HAND), ("bob", HAND)],
        "BET": [(HAND, 2, "bob", "player", 100), (HAND, 2, "ann", "tie", 50)],
        "SHOE_HAND": [("t1-s2", HAND)],
    }


def test_cards_are_told_only_where_everybody_sees_them() -> None:
    sealed = sealed_pb2.Sealed(key_id="k1", nonce=b"n", ciphertext=b"c")
    dealt = table.CardsDealt(
        cards=[
            table.DealtCard(position=7, hand="player", face=table.FACE_UP, card_plus_one=52),
            table.DealtCard(position=8, hand="dealer", face=table.FACE_DOWN),
            table.DealtCard(
                position=9, hand="box1", face=table.FACE_OWNER, viewer="ann", sealed=sealed
            ),
        ]
    )
    assert rows(dealt) == {
        "CARD": [
            ("table/t1", 9, 0, HAND, 7, "player", "up", None, "As", START),
            ("table/t1", 9, 1, HAND, 8, "dealer", "down", None, None, START),
            ("table/t1", 9, 2, HAND, 9, "box1", "owner", "ann", None, START),
        ]
    }


def test_decisions_and_those_of_the_clock() -> None:
    made = table.DecisionMade(
        player="ann", box=1, action="exchange", amount=120, positions=[3, 4], at=AT
    )
    assert rows(made) == {
        "DECISION": [("table/t1", 9, HAND, 1, "ann", "exchange", 120, [3, 4], False, AT_TIME)]
    }
    assert rows(table.DecisionDefaulted(box=1, action="fold")) == {
        "DECISION": [("table/t1", 9, HAND, 1, None, "fold", 0, [], True, START)]
    }


def test_the_end_of_a_hand() -> None:
    settled = table.HandSettled(
        hand_id=HAND,
        result="banker",
        lines=[
            table.SettledLine(box=1, player="ann", wager="banker", stake=100, returned=195),
            table.SettledLine(box=2, player="bob", wager="player", stake=50),
        ],
        pot_change=3,
        rake=4,
    )
    assert rows(settled) == {
        "HAND_SETTLED": [(HAND, 9, START, "banker", 150, 195, 3, 4)],
        "BET_SETTLED": [
            (HAND, 1, "ann", "banker", 100, 195),
            (HAND, 2, "bob", "player", 50, 0),
        ],
    }
    assert rows(table.HandVoided(hand_id=HAND, why="pit")) == {
        "HAND_VOIDED": [(HAND, 9, START, "pit")]
    }


def test_a_transfer_leg_by_leg() -> None:
    posted = wallet.TransferPosted(
        transfer_id=str(TRANSFER),
        transfer_kind=wallet.TRANSFER_KIND_SETTLEMENT,
        currency="EUR",
        postings=[
            wallet.Posting(account="table/t1/ann", minor_units=95),
            wallet.Posting(account="house/t1", minor_units=-95),
        ],
        at=AT,
        hand_id=HAND,
    )
    common = ("settlement",)
    assert rows(posted, "wallet/t1") == {
        "POSTING": [
            ("wallet/t1", 9, leg, TRANSFER, *common, account, "EUR", amount, HAND, "", AT_TIME)
            for leg, (account, amount) in enumerate([("table/t1/ann", 95), ("house/t1", -95)])
        ]
    }


def test_a_transfer_outside_a_hand_has_none() -> None:
    posted = wallet.TransferPosted(
        transfer_id=str(TRANSFER),
        transfer_kind=wallet.TRANSFER_KIND_DEPOSIT,
        currency="EUR",
        postings=[wallet.Posting(account="player/ann", minor_units=5)],
        at=AT,
        note="slip-7",
    )
    [row] = rows(posted, "wallet/ann")["POSTING"]
    assert row[4] == "deposit"
    assert row[8:10] == (None, "slip-7")

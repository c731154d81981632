"""Bent cards and bent shoes beside a table's log: each way is named."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from croupier.shuffle.v1 import events_pb2 as shuffle

from services.audit.verify.findings import Check, read
from tests.unit.audit.given import (
    Evidence,
    evidence,
    index_of,
    rehashed,
    set_fields,
    shift,
    told,
    with_seed,
    without,
)

# ---- Cards due, and dealt


async def test_cards_dealt_are_those_that_shuffle_showed() -> None:
    bent = await evidence()
    bent.change(bent.table, "CardsDealt", _other_card, number=2)
    [found] = [each for each in bent.findings() if each.check is Check.PROOFS]
    assert "is not the one shuffle showed" in found.message


def _other_card(body: Any) -> None:
    body.cards[0].card_plus_one = body.cards[0].card_plus_one % 52 + 1


async def test_cards_dealt_are_those_that_were_due() -> None:
    bent = await evidence()
    bent.change(
        bent.table, "CardsDealt", lambda body: set_fields(body.cards[0], hand="dealer"), number=2
    )
    assert "other cards were dealt than were due" in told(bent.findings(), Check.CARDS_DUE)
    bent = await evidence()
    bent.change(bent.table, "CardsDealt", lambda body: set_fields(body, request_id=str(uuid4())))
    assert "cards were dealt that were not due" in told(bent.findings(), Check.CARDS_DUE)


async def test_cards_that_shuffle_never_gave_are_told() -> None:
    bent = await evidence()
    without(bent.shoe, "CardsShown")
    assert "cards were dealt that shuffle has not given" in told(bent.findings(), Check.PROOFS)
    bent.shoes.clear()
    messages = told(bent.findings())
    assert "cards were dealt that shuffle has not given" in messages
    assert "shuffle has sealed no such shoe" in messages
    assert any(message.startswith("shuffle has no shoe ") for message in messages)


async def test_shuffle_is_asked_after_cards_are_due_and_before_they_are_dealt() -> None:
    bent = await evidence()
    shift(bent.shoe, "CardsShown", seconds=-1)
    assert told(bent.findings()) == ["shuffle was asked before this was due"]
    bent = await evidence()
    shift(bent.shoe, "CardsShown", seconds=1)
    assert told(bent.findings(), Check.PROOFS) == [
        "cards were dealt before shuffle put them on record"
    ]


@pytest.mark.parametrize("kind", ["ShoeOpened", "ShoeCut", "ShoeSealed"])
async def test_shoes_are_asked_for_when_they_are_due(kind: str) -> None:
    bent = await evidence()
    shift(bent.shoe, kind, seconds=-1)
    assert told(bent.findings()) == ["shuffle was asked before this was due"]


async def test_a_shoe_is_retired_between_its_end_and_being_put_away() -> None:
    bent = await Evidence.of(await with_seed())
    shift(bent.shoe, "ShoeRetired", seconds=-1)
    assert told(bent.findings()) == ["shuffle was asked before this was due"]
    bent = await Evidence.of(await with_seed())
    shift(bent.shoe, "ShoeRetired", seconds=1)
    assert told(bent.findings()) == ["shuffle had not retired the shoe"]
    without(bent.shoe, "ShoeRetired")
    assert told(bent.findings()) == ["shuffle had not retired the shoe"]


async def test_a_shoe_that_was_never_opened_may_be_put_away() -> None:
    bent = await Evidence.of(await with_seed())
    bent.shoes.clear()
    assert "shuffle had not retired the shoe" not in told(bent.findings())


async def test_a_pledged_seeds_cut_is_recorded_when_due() -> None:
    bent = await Evidence.of(await with_seed())
    shift(bent.shoe, "ShoeCut", seconds=-1)
    assert told(bent.findings()) == ["shuffle was asked before this was due"]


async def test_cards_that_leave_for_another_hand_or_use_are_told() -> None:
    bent = await evidence()
    place = index_of(bent.shoe, "CardsShown")
    bent.shoe[place] = bent.shoe[place]._replace(hand_id="t1-99")
    assert told(bent.findings()) == ["cards left the shoe for another hand"]
    bent = await evidence()
    bent.change(bent.shoe, "CardsShown", lambda body: set_fields(body.cards[0], player="ann"))
    assert "other cards left the shoe than were due" in told(bent.findings(), Check.CARDS_DUE)


async def test_cards_that_were_never_due_are_told() -> None:
    bent = await evidence()
    place = index_of(bent.shoe, "CardsShown")
    bent.shoe.append(bent.shoe[place]._replace(causation_id=uuid4()))
    assert told(bent.findings()) == ["cards left the shoe that were not due"]
    bent = await Evidence.of(await with_seed())
    place = index_of(bent.shoe, "CardsShown")
    bent.shoe.insert(place, bent.shoe[place]._replace(causation_id=uuid4()))
    assert told(bent.findings()) == ["cards left the shoe that were not due"]


async def test_what_shuffle_did_after_the_last_event_is_not_asked_after() -> None:
    bent = await evidence()
    place = index_of(bent.shoe, "CardsShown")
    later = bent.table[-1].recorded_at + timedelta(seconds=1)
    bent.shoe.append(bent.shoe[place]._replace(causation_id=uuid4(), recorded_at=later))
    assert bent.findings() == []


async def test_cards_due_and_not_dealt_yet_are_nothing_wrong() -> None:
    whole = await evidence(2)
    last = max(place for place, event in enumerate(whole.table) if event.type == "CardsDue")
    del whole.table[last + 1 :]
    hand_id = whole.table[-1].hand_id
    whole.wallet = [event for event in whole.wallet if event.hand_id != hand_id]
    assert whole.findings() == []
    due = read(whole.table[-1]).event.id
    whole.shoe[:] = [event for event in whole.shoe if event.causation_id != due]
    assert whole.findings() == []


# ---- Shoes


@pytest.mark.parametrize(
    "change",
    [
        lambda body: set_fields(body, table_id="t2"),
        lambda body: set_fields(body, decks=6),
        lambda body: set_fields(body, cut_min_top=2),
        lambda body: set_fields(body, behind_cut_card=8),
    ],
)
async def test_another_shoe_than_was_due_is_told(change: Callable[[Any], None]) -> None:
    bent = await evidence()
    bent.change(bent.shoe, "ShoeOpened", change)
    assert "another shoe was opened than was due" in told(bent.findings(), Check.SHOE)


@pytest.mark.parametrize("change", [{"by": "bob"}, {"at": 78}])
async def test_a_cut_by_another_or_elsewhere_is_told(change: dict[str, Any]) -> None:
    bent = await Evidence.of(await with_seed())
    bent.change(bent.shoe, "ShoeCut", lambda body: set_fields(body, **change))
    messages = told(bent.findings(), Check.SHOE)
    assert "the shoe was cut by another, or in another place" in messages


async def test_a_pledge_that_was_not_passed_on_is_told() -> None:
    """A house that leaves an honest player's seed out would know the order."""
    bent = await Evidence.of(await with_seed())
    del bent.shoe[index_of(bent.shoe, "SeedCommitted")]
    assert "other seeds were committed to than players pledged" in told(bent.findings())


async def test_a_revealed_seed_that_was_left_out_is_told() -> None:
    bent = await Evidence.of(await with_seed())
    del bent.shoe[index_of(bent.shoe, "SeedOpened")]
    bent.change(bent.shoe, "ShoeSealed", keeps_the_seed_out)
    assert "the seed that ann revealed was left out" in told(bent.findings())


async def test_a_revealed_seed_is_rightly_left_out_if_it_was_used_before_or_is_another() -> None:
    bent = await Evidence.of(await with_seed())
    place = index_of(bent.shoe, "SeedOpened")
    told_again = shuffle.SeedReused(player="ann", epoch=1).SerializeToString()
    bent.shoe[place] = rehashed(bent.shoe[place]._replace(type="SeedReused", payload=told_again))
    bent.change(bent.shoe, "ShoeSealed", keeps_the_seed_out)
    assert "the seed that ann revealed was left out" not in told(bent.findings())
    bent = await Evidence.of(await with_seed())
    del bent.shoe[index_of(bent.shoe, "SeedOpened")]
    bent.change(bent.shoe, "ShoeSealed", keeps_the_seed_out)
    bent.change(bent.table, "SeedRevealed", lambda body: set_fields(body, seed=b"x" * 16))
    assert "the seed that ann revealed was left out" not in told(bent.findings())


def keeps_the_seed_out(body: Any) -> None:
    body.withheld.extend(body.used)
    del body.used[:]


async def test_players_are_told_the_commitment_and_the_seal_that_are() -> None:
    bent = await evidence()
    bent.change(bent.table, "ShoeOffered", lambda body: set_fields(body, commitment=bytes(32)))
    assert told(bent.findings()) == ["players were told another commitment to the server seed"]
    bent = await evidence()
    bent.change(bent.table, "ShoeReady", lambda body: set_fields(body, root=bytes(32)))
    assert told(bent.findings()) == ["players were told another seal, cut or seeds"]
    bent = await evidence()
    shift(bent.shoe, "ShoeSealed", seconds=1)
    assert "the shoe was sealed only after the table went on" in told(bent.findings())

"""A table's log as it was played has nothing wrong in it; each way of bending it is named."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from croupier.table.v1 import events_pb2 as pb

from services.audit.verify.cards import CardsWalk
from services.audit.verify.findings import Check, Finding, Read, read
from services.audit.verify.shoe import ShoeRecord
from services.audit.verify.table_walk import TableWalk, shoes_in
from shared.table import events as e
from shared.table.evolve import evolve
from shared.table.state import TableState
from tests.playing import FIELD_KEYS
from tests.unit.audit.given import (
    CODEC,
    Evidence,
    Night,
    as_read,
    evidence,
    index_of,
    night,
    rehashed,
    set_fields,
    told,
    with_seed,
)


def where(findings: list[Finding]) -> set[tuple[str, int]]:
    return {(each.stream, each.version) for each in findings}


async def test_what_was_played_holds() -> None:
    assert (await evidence(3)).findings() == []


async def test_a_shoe_to_its_end_and_a_table_that_closes_hold() -> None:
    whole = await Evidence.of(await with_seed())
    assert whole.findings() == []
    # The shoe in use, and the next one, which was never dealt from.
    assert [event.type for event in whole.table][-5:] == [
        "ShoeFinished",
        "ShoeFinished",
        "TableClosed",
        "ShoePutAway",
        "ShoePutAway",
    ]


# ---- Rules


def bet_more(body: Any) -> None:
    body.stake += 2_000


async def test_an_input_changed_gives_other_results() -> None:
    bent = await evidence()
    bet = bent.change(bent.table, "BetPlaced", bet_more)
    [opened, *_] = findings = bent.findings()
    assert opened.message == "the rules give another HandOpened here"
    assert (opened.check, opened.hand_id) == (Check.RULES, bet.hand_id)
    assert all(each.check in (Check.RULES, Check.POSTINGS) for each in findings)


async def test_a_result_changed_is_not_what_the_rules_give() -> None:
    bent = await evidence()
    settled = bent.change(
        bent.table, "HandSettled", lambda body: set_fields(body.lines[0], returned=1)
    )
    findings = bent.findings()
    assert findings[0].message == "the rules give another HandSettled here"
    assert (findings[0].stream, findings[0].version) == ("table/t1", settled.version)


async def test_an_input_that_the_rules_refuse_is_told() -> None:
    bent = await evidence()
    bent.change(bent.table, "BetPlaced", lambda body: set_fields(body, wager="luck"))
    assert any("the rules refuse this: BAD_STAKE" in message for message in told(bent.findings()))


async def test_an_input_that_breaks_the_rules_code_is_told() -> None:
    bent = await evidence()
    place = index_of(bent.table, "TableOpened")
    bent.change(bent.table, "TableOpened", lambda body: set_fields(body, rules_json="{"))
    messages = told(bent.findings())
    assert messages[0].startswith("the rules cannot take this: ")
    assert messages[1].startswith("TableOpened fits no table as it was: ")
    assert messages[2] == (
        "the rest of this table is unchecked: it cannot be followed past this event"
    )
    assert place == 0


async def test_a_derived_event_left_out_is_missed() -> None:
    bent = await evidence()
    del bent.table[index_of(bent.table, "BettingClockStarted")]
    messages = told(bent.findings())
    assert "the rules give BettingClockStarted after this" in messages
    assert any("is missing before this one" in message for message in messages)


async def test_a_derived_event_too_many_is_told() -> None:
    bent = await evidence()
    place = index_of(bent.table, "BettingClockStarted")
    bent.table.insert(place + 1, bent.table[place])
    assert "the rules give no such event here" in told(bent.findings())


async def test_an_event_put_into_another_hand_is_told() -> None:
    bent = await evidence()
    place = index_of(bent.table, "BetPlaced")
    hand_id = bent.table[place].hand_id
    bent.table[place] = rehashed(bent.table[place]._replace(hand_id=None))
    assert f"the event belongs to hand {hand_id}" in told(bent.findings())
    place = index_of(bent.table, "ChipsRequested")
    bent.table[place] = rehashed(bent.table[place]._replace(hand_id="t1-1"))
    assert "the event belongs to hand none" in told(bent.findings())


async def test_a_derived_event_names_its_input() -> None:
    bent = await evidence()
    place = index_of(bent.table, "HandSettled")
    bent.table[place] = rehashed(bent.table[place]._replace(causation_id=uuid4()))
    assert told(bent.findings()) == ["the event does not name the input it follows from"]


async def test_an_event_that_cannot_be_read_ends_the_walk() -> None:
    bent = await evidence(2)
    place = index_of(bent.table, "BettingClosed")
    bent.table[place] = rehashed(bent.table[place]._replace(payload=b"\xff"))
    findings = bent.findings()
    assert told(findings, Check.RULES) == [
        "cannot be read: DecodeError",
        "the rest of this table is unchecked: it cannot be followed past an event that is "
        "unreadable",
    ]


# ---- Clocks


def by_clock(evening: Night, more_us: int) -> int:
    betting = evening.house.tables["t1"].betting
    assert betting is not None
    return betting.deadline + more_us


async def clocked(record_later: timedelta) -> Evidence:
    """A hand whose betting is ended by the clock."""
    evening = await night()
    await evening.house.give("t1", e.BetPlaced("ann", 1, "tie", 100))
    deadline = by_clock(evening, 0)
    evening.clock.now += record_later
    await evening.house.write("t1", e.ClockExpired(deadline, deadline, "betting"))
    await evening.house.run_errands("t1")
    await evening.house.give("t1", e.CutChosen("ann", 0))
    await evening.wallet.follow()
    return await Evidence.of(evening)


async def test_a_clock_that_ran_out_holds() -> None:
    assert (await clocked(timedelta(seconds=61))).findings() == []


async def test_a_clock_said_to_be_over_before_it_was_is_told() -> None:
    findings = (await clocked(timedelta(seconds=1))).findings()
    assert "the clock was said to be over before it was" in told(findings, Check.CLOCKS)


@pytest.mark.parametrize("field", ["deadline", "at"])
async def test_a_clock_that_did_not_run_out_is_told(field: str) -> None:
    bent = await clocked(timedelta(seconds=61))
    bent.change(
        bent.table,
        "ClockExpired",
        lambda body: set_fields(getattr(body, field), seconds=1_700_000_000),
    )
    assert "no clock had run out" in told(bent.findings(), Check.CLOCKS)


async def test_a_bet_after_the_deadline_is_told() -> None:
    evening = await night()
    await evening.house.give("t1", e.BetPlaced("ann", 1, "tie", 100))
    late = by_clock(evening, 1)
    bent = await Evidence.of(evening)
    await evening.house.give("t1", e.BetPlaced("ann", 1, "tie", 200))
    bent = await Evidence.of(evening)
    bent.change(
        bent.table,
        "BetPlaced",
        lambda body: body.at.FromMicroseconds(late),
        number=1,
    )
    assert "accepted after its deadline" in told(bent.findings(), Check.CLOCKS)


async def test_time_does_not_run_backwards() -> None:
    bent = await evidence()
    bent.change(
        bent.table, "BetPlaced", lambda body: set_fields(body.at, seconds=1_600_000_000), number=1
    )
    assert "the table's time runs backwards here" in told(bent.findings(), Check.CLOCKS)


# ---- A walk over part of a stream


async def test_a_walk_may_begin_in_the_middle_for_one_hand() -> None:
    whole = await evidence(3)
    betting = [event for event in whole.table if event.type == "BettingOpened"][1]
    first = max(
        place
        for place, event in enumerate(whole.table)
        if event.version <= betting.version and event.type == "CardsDealt"
    )
    state = TableState()
    for event in whole.table[:first]:
        state = evolve(state, CODEC.decode(event.type, event.payload, event.hand_id or ""))
    shoes = {}
    for shoe_id, events in whole.shoes.items():
        shoes[shoe_id] = ShoeRecord(shoe_id, FIELD_KEYS)
        for event in events:
            assert not list(shoes[shoe_id].step(read(event)))
    walk = TableWalk(CODEC, shoes, state, hand_id=betting.hand_id or "")
    findings = [finding for event in whole.table[first:] for finding in walk.step(event)]
    findings += walk.end()
    # The cards of the hand before were due before the walk began.
    assert told(findings) == ["cards were dealt that were not due"]
    assert findings[0].hand_id != betting.hand_id
    assert walk.hands == 2


async def test_the_mark_may_lie_within_an_append() -> None:
    whole = await evidence(1)
    states = [TableState()]
    for event in whole.table:
        body = CODEC.decode(event.type, event.payload, event.hand_id or "")
        states.append(evolve(states[-1], body))
    for number, event in enumerate(whole.table, 1):
        walk = TableWalk(CODEC, {}, mark=event.position)
        for each in whole.table:
            list(walk.step(each))
        list(walk.end())
        assert walk.at_mark == states[number]


async def test_a_shoe_is_in_use_until_it_is_put_away() -> None:
    whole = await Evidence.of(await with_seed())
    walk = TableWalk(CODEC, {})
    shoe_id, following = shoes_in(whole.table)
    in_use = []
    for event in whole.table:
        list(walk.step(event))
        in_use.append((event.type, walk.shoes_in_use()))
    list(walk.end())
    assert in_use[0] == ("TableOpened", set())
    assert ("ShoeRequested", {shoe_id}) in in_use
    assert ("HandOpened", {shoe_id, following}) in in_use
    assert ("ShoeFinished", {shoe_id, following}) in in_use
    assert walk.shoes_in_use() == set()


async def test_an_unreadable_request_names_no_shoe() -> None:
    whole = await evidence()
    place = index_of(whole.table, "ShoeRequested")
    whole.table[place] = whole.table[place]._replace(payload=b"\xff")
    assert list(shoes_in(whole.table)) == list(whole.shoes)[1:]


async def test_nothing_walked_is_nothing_found() -> None:
    assert list(TableWalk(CODEC, {}).end()) == []


def test_a_hand_voided_while_betting_is_no_hand() -> None:
    walk = TableWalk(CODEC, {})
    walk._count(as_body(e.HandVoided("t1-9", "pit")))
    assert walk.hands == 0
    walk._count(as_body(e.HandOpened("t1-9")))
    walk._count(as_body(e.HandVoided("t1-9", "pit")))
    assert walk.hands == 1


def test_a_walk_that_begins_behind_a_shoes_last_card_does_not_ask_after_it() -> None:
    walk = CardsWalk({})
    assert list(walk.step([as_body(e.ShoeFinished("t1-s2", "played"))], ())) == []


def as_body(body: Any) -> Read:
    return replace(as_read(pb.TableClosed(), "table/t1"), body=body)

"""A table's log as it was played has nothing wrong in it; each way of bending it is named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from croupier.shuffle.v1 import events_pb2 as shuffle
from croupier.table.v1 import events_pb2 as pb

from services.audit.verify.cards import CardsWalk
from services.audit.verify.findings import Check, Finding, Read, read
from services.audit.verify.shoe import ShoeRecord
from services.audit.verify.table_walk import TableWalk, shoes_in
from shared.log import RecordedEvent
from shared.proofs.seeds import player_seed_commitment
from shared.table import events as e
from shared.table.evolve import evolve
from shared.table.state import TableState
from tests.playing import FIELD_KEYS
from tests.unit.audit.given import (
    BETS,
    CODEC,
    Evidence,
    Night,
    as_read,
    night,
    played,
    rehashed,
    told,
)

SEED = bytes(range(32))


async def with_seed() -> Night:
    """A hand before which ann pledges and reveals a seed and cuts, then the table closes."""
    evening = await night()
    give = evening.house.give
    shoe = evening.house.tables["t1"].shoe
    assert shoe is not None
    commitment = player_seed_commitment(shoe.shoe_id, "ann", SEED)
    await give("t1", e.SeedPledged("ann", commitment, shoe_id=shoe.shoe_id))
    await evening.house.play("t1", *BETS, cut=77)
    await give("t1", e.SeedRevealed("ann", SEED))
    await evening.house.play("t1", *BETS)
    for player in ("ann", "bob"):
        await give("t1", e.LeaveRequested(player))
    await give("t1", e.TableClosing("pit", "late"))
    await evening.wallet.follow()
    return evening


async def evidence(hands: int = 1) -> Evidence:
    return await Evidence.of(await played(hands))


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
    settled = bent.change(bent.table, "HandSettled", lambda body: _set(body.lines[0], returned=1))
    findings = bent.findings()
    assert findings[0].message == "the rules give another HandSettled here"
    assert (findings[0].stream, findings[0].version) == ("table/t1", settled.version)


async def test_an_input_that_the_rules_refuse_is_told() -> None:
    bent = await evidence()
    bent.change(bent.table, "BetPlaced", lambda body: _set(body, wager="luck"))
    assert any("the rules refuse this: BAD_STAKE" in message for message in told(bent.findings()))


async def test_an_input_that_breaks_the_rules_code_is_told() -> None:
    bent = await evidence()
    place = index_of(bent.table, "TableOpened")
    bent.change(bent.table, "TableOpened", lambda body: _set(body, rules_json="{"))
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
        bent.table, "ClockExpired", lambda body: _set(getattr(body, field), seconds=1_700_000_000)
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
        bent.table, "BetPlaced", lambda body: _set(body.at, seconds=1_600_000_000), number=1
    )
    assert "the table's time runs backwards here" in told(bent.findings(), Check.CLOCKS)


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
    bent.change(bent.table, "CardsDealt", lambda body: _set(body.cards[0], hand="dealer"), number=2)
    assert "other cards were dealt than were due" in told(bent.findings(), Check.CARDS_DUE)
    bent = await evidence()
    bent.change(bent.table, "CardsDealt", lambda body: _set(body, request_id=str(uuid4())))
    assert "cards were dealt that were not due" in told(bent.findings(), Check.CARDS_DUE)


def without(events: list[RecordedEvent], kind: str) -> None:
    del events[index_of(events, kind)]


async def test_cards_that_shuffle_never_gave_are_told() -> None:
    bent = await evidence()
    without(bent.shoe, "CardsShown")
    assert "cards were dealt that shuffle has not given" in told(bent.findings(), Check.PROOFS)
    bent.shoes.clear()
    messages = told(bent.findings())
    assert "cards were dealt that shuffle has not given" in messages
    assert "shuffle has sealed no such shoe" in messages
    assert any(message.startswith("shuffle has no shoe ") for message in messages)


def shift(events: list[RecordedEvent], kind: str, **by: float) -> None:
    """Records the first event of a type earlier or later than it was."""
    place = index_of(events, kind)
    moved = events[place].recorded_at + timedelta(**by)
    events[place] = events[place]._replace(recorded_at=moved)


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
    bent.change(bent.shoe, "CardsShown", lambda body: _set(body.cards[0], player="ann"))
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
        lambda body: _set(body, table_id="t2"),
        lambda body: _set(body, decks=6),
        lambda body: _set(body, cut_min_top=2),
        lambda body: _set(body, behind_cut_card=8),
    ],
)
async def test_another_shoe_than_was_due_is_told(change: Callable[[Any], None]) -> None:
    bent = await evidence()
    bent.change(bent.shoe, "ShoeOpened", change)
    assert "another shoe was opened than was due" in told(bent.findings(), Check.SHOE)


@pytest.mark.parametrize("change", [{"by": "bob"}, {"at": 78}])
async def test_a_cut_by_another_or_elsewhere_is_told(change: dict[str, Any]) -> None:
    bent = await Evidence.of(await with_seed())
    bent.change(bent.shoe, "ShoeCut", lambda body: _set(body, **change))
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
    bent.change(bent.table, "SeedRevealed", lambda body: _set(body, seed=b"x" * 16))
    assert "the seed that ann revealed was left out" not in told(bent.findings())


def keeps_the_seed_out(body: Any) -> None:
    body.withheld.extend(body.used)
    del body.used[:]


async def test_players_are_told_the_commitment_and_the_seal_that_are() -> None:
    bent = await evidence()
    bent.change(bent.table, "ShoeOffered", lambda body: _set(body, commitment=bytes(32)))
    assert told(bent.findings()) == ["players were told another commitment to the server seed"]
    bent = await evidence()
    bent.change(bent.table, "ShoeReady", lambda body: _set(body, root=bytes(32)))
    assert told(bent.findings()) == ["players were told another seal, cut or seeds"]
    bent = await evidence()
    shift(bent.shoe, "ShoeSealed", seconds=1)
    assert "the shoe was sealed only after the table went on" in told(bent.findings())


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


def index_of(events: list[RecordedEvent], kind: str) -> int:
    return next(place for place, event in enumerate(events) if event.type == kind)


def _set(body: Any, **fields: Any) -> None:
    for name, value in fields.items():
        setattr(body, name, value)

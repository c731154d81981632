"""The same request again: after a lost answer, a restart, a new owner, or with another body."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

import pytest
from croupier.shuffle.v1 import shuffle_pb2 as pb

from services.shuffle.decide import Asker, Deal, Draw
from services.shuffle.shoe import Use
from services.shuffle.shoes import Request, Shoes
from services.shuffle.storage import ShoeStore
from shared.log import (
    Append,
    Appended,
    LogUnavailableError,
    Outcome,
    PostgresLog,
    open_pool,
)
from tests.integration.shuffle.conftest import (
    BURN_OPEN,
    DOWN,
    FIELD_KEYS,
    HAND,
    OPEN,
    PLAYER,
    SEED_KEYS,
    TABLE,
    Desk,
    Process,
    Start,
    holds,
    refusal,
    request_id,
    types,
)
from tests.servers import Database

FOUR = tuple(pb.DealRequest.Draw(position=at, use=OPEN) for at in range(4))


async def test_every_request_of_a_shoe_may_be_repeated(process: Process, desk: Desk) -> None:
    """Each call twice with its id: the same answer, and no event more than once each."""

    async def twice(method: str, *arguments: Any, **options: Any) -> Any:
        again = request_id()
        first = await getattr(desk, method)(*arguments, again=again, **options)
        before = await types(process)
        assert await getattr(desk, method)(*arguments, again=again, **options) == first
        assert await types(process) == before
        return first

    await twice("open")
    await twice("commit", "ann", desk.seed("ann"))
    await twice("cut")
    await twice("open_seed", "ann", desk.seed("ann"))
    await twice("seal")
    answer = await twice("deal", *FOUR)
    assert len(answer.cards) == 4
    await twice(
        "deal",
        pb.DealRequest.Draw(position=4, use=PLAYER, player="ann"),
        pb.DealRequest.Draw(position=5, use=DOWN),
    )
    await twice("deal", pb.DealRequest.Draw(position=4, use=OPEN))
    seed = await twice("retire")
    assert len(seed) == 32


async def test_after_a_restart_in_mid_shoe_the_cards_are_the_same(start: Start) -> None:
    first = (await start()).desk
    root = await first.ready()
    asked, again = request_id(), request_id()
    answer = await first.deal(*FOUR, again=asked)
    private = await first.deal(
        pb.DealRequest.Draw(position=4, use=PLAYER, player="ann"), again=again
    )
    restarted = await start()
    second = restarted.desk
    before = await types(restarted)
    assert await second.deal(*FOUR, again=asked) == answer
    assert (
        await second.deal(pb.DealRequest.Draw(position=4, use=PLAYER, player="ann"), again=again)
        == private
    )
    assert await types(restarted) == before
    assert (await second.get()).root == root
    assert (await second.deal(pb.DealRequest.Draw(position=4, use=OPEN))).cards[0] == private.cards[
        0
    ]


async def committed(desk: Desk) -> None:
    await desk.commit("ann", desk.seed("ann"))


async def cut(desk: Desk) -> None:
    await desk.cut()


async def seed_opened(desk: Desk) -> None:
    await desk.open_seed("ann", desk.seed("ann"))


async def sealed(desk: Desk) -> None:
    assert list((await desk.seal()).used) == ["ann"]


@pytest.mark.parametrize("steps", [1, 2, 3, 4])
async def test_a_restart_between_any_two_steps_of_the_ceremony_goes_on(
    start: Start, steps: int
) -> None:
    desk = (await start()).desk
    await desk.open()
    for number, step in enumerate((committed, cut, seed_opened, sealed), 1):
        await step(desk)
        if number == steps:
            desk = (await start()).desk
    assert len((await desk.deal(*FOUR)).cards) == 4


async def test_a_request_made_after_retirement_still_gives_its_cards(start: Start) -> None:
    desk = (await start()).desk
    await desk.ready()
    asked = request_id()
    answer = await desk.deal(*FOUR, again=asked)
    await desk.retire()
    assert await desk.deal(*FOUR, again=asked) == answer
    assert await (await start()).desk.deal(*FOUR, again=asked) == answer


async def test_a_request_id_with_another_body_is_refused(process: Process, desk: Desk) -> None:
    opening, asked = request_id(), request_id()
    await desk.open(again=opening)
    assert await refusal(desk.open(again=opening, decks=6)) == "REQUEST_BODY_DIFFERS"
    await desk.cut()
    await desk.seal()
    await desk.deal(pb.DealRequest.Draw(position=0, use=DOWN), again=asked)
    before = await types(process)
    # The same id for a wider audience, for more cards, for another hand.
    assert await refusal(desk.deal(pb.DealRequest.Draw(position=0, use=OPEN), again=asked)) == (
        "REQUEST_BODY_DIFFERS"
    )
    assert await refusal(desk.deal(*FOUR, again=asked)) == "REQUEST_BODY_DIFFERS"
    assert await refusal(
        desk.deal(pb.DealRequest.Draw(position=0, use=DOWN), hand="hand-2", again=asked)
    ) == ("REQUEST_BODY_DIFFERS")
    assert await refusal(desk.retire(again=asked)) == "REQUEST_BODY_DIFFERS"
    assert await types(process) == before


async def test_a_new_owner_repeats_the_old_ones_request_and_fences_him(
    process: Process, desk: Desk
) -> None:
    await desk.ready()
    asked = request_id()
    answer = await desk.deal(*FOUR, again=asked)
    newer = desk.at(epoch=2, subject="node-2")
    assert await newer.deal(*FOUR, again=asked) == answer
    assert (await types(process))[-2:] == ["CardsShown", "ShoeClaimed"]
    assert await newer.deal(*FOUR, again=asked) == answer
    assert (await types(process)).count("ShoeClaimed") == 1
    # The paused old owner wakes up: neither new cards nor the ones it had.
    assert await refusal(desk.deal(pb.DealRequest.Draw(position=4, use=OPEN))) == "STALE_EPOCH"
    assert await refusal(desk.deal(*FOUR, again=asked)) == "STALE_EPOCH"


async def test_an_opening_repeated_by_an_older_owner_is_refused(desk: Desk) -> None:
    asked = request_id()
    newer = desk.at(epoch=2)
    await newer.open(again=asked)
    assert await refusal(desk.open(again=asked)) == "STALE_EPOCH"


async def test_a_stale_owners_request_is_refused_where_nobody_has_heard_of_the_new_one(
    start: Start,
) -> None:
    """The new owner has asked another process, for the very same: it is not for the old one."""
    asked = request_id()
    here, there = (await start()).desk, (await start()).desk
    await here.ready()
    answer = await there.at(epoch=2).deal(*FOUR, again=asked)
    assert len(answer.cards) == 4
    assert await refusal(here.deal(*FOUR, again=asked)) == "STALE_EPOCH"


async def test_a_new_owner_who_repeats_a_request_elsewhere_fences_the_old_one(
    start: Start,
) -> None:
    asked = request_id()
    here, there = (await start()).desk, (await start()).desk
    await here.ready()
    answer = await there.deal(*FOUR, again=asked)
    assert await here.at(epoch=2).deal(*FOUR, again=asked) == answer
    later = pb.DealRequest.Draw(position=4, use=OPEN)
    assert await refusal(there.deal(later)) == "STALE_EPOCH"


async def test_a_seed_refused_for_its_reuse_is_refused_again(
    process: Process, start: Start
) -> None:
    """The same request gets the same answer, not that of the event that it left."""
    asked, desk = request_id(), process.desk
    second = f"{desk.shoe}-2"
    for shoe_id in (desk.shoe, second):
        await desk.open(shoe_id)
        await desk.commit("ann", desk.seed("ann"), shoe_id)
        await desk.cut(shoe_id=shoe_id)
    await desk.open_seed("ann", desk.seed("ann"))
    for each in (desk, desk, (await start()).desk):
        assert await refusal(each.open_seed("ann", desk.seed("ann"), second, again=asked)) == (
            "SEED_REUSED"
        )
    recorded = await process.log.read_stream(f"shuffle/{second}")
    assert [event.type for event in recorded].count("SeedReused") == 1


async def test_a_claim_fences_across_a_restart(start: Start) -> None:
    desk = (await start()).desk
    await desk.ready()
    shoe = await desk.at(epoch=5).claim()
    assert (shoe.epoch, shoe.next_position) == (5, 0)
    other = (await start()).desk
    assert await refusal(other.at(epoch=4).deal(*FOUR)) == "STALE_EPOCH"
    assert await refusal(other.at(epoch=4).claim()) == "STALE_EPOCH"
    assert (await other.at(epoch=5).claim()).epoch == 5
    assert len((await other.at(epoch=5).deal(*FOUR)).cards) == 4


async def test_two_processes_deal_from_one_shoe_without_giving_a_card_twice(start: Start) -> None:
    """Both hold the shoe in memory; the log's version check makes each see the other's cards."""
    one, other = (await start()).desk, (await start()).desk
    await one.ready()
    await other.get()
    first = await one.deal(pb.DealRequest.Draw(position=0, use=OPEN))
    assert (
        await refusal(other.deal(pb.DealRequest.Draw(position=0, use=OPEN)))
        == "AUDIENCE_NOT_ALLOWED"
    )
    second = await other.deal(pb.DealRequest.Draw(position=1, use=BURN_OPEN), hand="")
    third = await one.deal(pb.DealRequest.Draw(position=2, use=OPEN))
    assert [answer.cards[0].position for answer in (first, second, third)] == [0, 1, 2]


async def test_many_at_once_for_the_same_position_give_it_once(start: Start) -> None:
    desks = [(await start()).desk for _ in range(2)]
    await desks[0].ready()
    answers = await asyncio.gather(
        *(desks[n % 2].deal(pb.DealRequest.Draw(position=0, use=OPEN)) for n in range(10)),
        return_exceptions=True,
    )
    assert sum(not isinstance(answer, BaseException) for answer in answers) == 1


async def test_a_seal_counts_a_seed_that_another_process_took(start: Start) -> None:
    one, other = (await start()).desk, (await start()).desk
    await one.open()
    await one.commit("ann", one.seed("ann"))
    await one.cut()
    await other.open_seed("ann", one.seed("ann"))
    sealed = await one.seal()
    assert list(sealed.used) == ["ann"]
    assert len((await other.deal(*FOUR)).cards) == 4


class Losing(PostgresLog):
    """A log that does what it is told and loses its first answer to an append."""

    lost = False

    async def append(self, appends: Sequence[Append]) -> list[Appended]:
        answers = await super().append(appends)
        if not self.lost:
            self.lost = True
            raise LogUnavailableError("the answer is lost")
        return answers


async def test_an_answer_lost_at_commit_is_found_again(
    module_database: Database, process: Process, desk: Desk
) -> None:
    await desk.ready()
    pool = await open_pool(module_database.dsn("croupier_shuffle"), 2)
    async with Losing(pool) as log:
        shoes = Shoes(log, ShoeStore(pool, SEED_KEYS), FIELD_KEYS)
        asker = Asker(TABLE, 1)
        deal = Deal(asker, HAND, tuple(Draw(at, Use.OPEN) for at in range(4)))
        request = Request(uuid4(), bytes(32), f"table/{TABLE}", "test", uuid4(), desk.shoe)
        with pytest.raises(LogUnavailableError):
            await shoes.deal(request, deal)
        answer = await shoes.deal(request, deal)
    await pool.close()
    assert [card.position for card in answer.cards] == [0, 1, 2, 3]
    assert (await types(process)).count("CardsShown") == 1


class Contended(PostgresLog):
    """A log in which somebody else is always a step ahead."""

    async def append(self, appends: Sequence[Append]) -> list[Appended]:
        return [Appended(Outcome.CONFLICT, "shuffle.0", 0, 0, 9, None) for _ in appends]


async def test_a_shoe_that_others_write_to_all_the_time_is_given_up_for_now(
    module_database: Database, desk: Desk
) -> None:
    await desk.open()
    pool = await open_pool(module_database.dsn("croupier_shuffle"), 1)
    async with Contended(pool) as log:
        shoes = Shoes(log, ShoeStore(pool, SEED_KEYS), FIELD_KEYS)
        request = Request(uuid4(), bytes(32), f"table/{TABLE}", "test", uuid4(), desk.shoe)
        commit = shoes.commit_seed(request, Asker(TABLE, 1), "ann", bytes(32))
        assert await refusal(commit) == "LOG_CONFLICT"
    await pool.close()


async def test_more_shoes_than_fit_in_memory_are_dealt_from_alike(
    module_database: Database, desk: Desk
) -> None:
    names = [desk.shoe, f"{desk.shoe}-2", f"{desk.shoe}-3"]
    roots = [await desk.ready(name) for name in names]
    pool = await open_pool(module_database.dsn("croupier_shuffle"), 1)
    async with PostgresLog(pool) as log:
        shoes = Shoes(log, ShoeStore(pool, SEED_KEYS), FIELD_KEYS, max_live=2)
        for position in range(3):
            for name, root in zip(names, roots, strict=True):
                request = Request(uuid4(), bytes(32), f"table/{TABLE}", "test", uuid4(), name)
                deal = Deal(Asker(TABLE, 1), HAND, (Draw(position, Use.OPEN),))
                [card] = (await shoes.deal(request, deal)).cards
                assert holds(root, name, card)
    await pool.close()


@pytest.mark.parametrize("dealt", [False, True])
async def test_a_shoe_that_another_process_has_retired_is_over_here_too(
    start: Start, dealt: bool
) -> None:
    """Its seed is public and no longer stored; this process still has it as sealed."""
    one, other = (await start()).desk, (await start()).desk
    await one.ready()
    if dealt:
        await one.deal(*FOUR)
    assert (await other.get()).phase == pb.SHOE_PHASE_SEALED
    await other.retire()
    assert await refusal(one.retire()) == "SHOE_RETIRED"
    assert await refusal(other.deal(*FOUR)) == "SHOE_RETIRED"


async def test_cards_asked_of_a_shoe_retired_meanwhile_are_refused(start: Start) -> None:
    """The process knows the shoe but not yet its order, and finds the seed gone."""
    one, other = (await start()).desk, (await start()).desk
    await one.ready()
    assert (await other.get()).phase == pb.SHOE_PHASE_SEALED
    await one.retire()
    assert await refusal(other.deal(*FOUR)) == "SHOE_RETIRED"

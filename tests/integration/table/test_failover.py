"""kill -9 of the node that has the tables, in every phase of every game: the other one goes on with
the same hands at the same point."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial

import pytest
from croupier.shuffle.v1 import shuffle_pb2
from croupier.table.v1 import table_pb2 as pb

from shared.errors import CroupierError
from shared.games.registry import GAMES
from tests.integration.table.gamblers import OVERTAKEN, UNKNOWN, AtTable, Gambler
from tests.integration.table.gate import Gate
from tests.integration.table.house import House
from tests.integration.table.nodes import at, table_of
from tests.integration.table.people import PlayCall, assert_seamless

CLOCK_MS = 600_000
GRACES_MS = (1_200_000, 1_000)
"""Longer than any clock, and shorter: what a claim makes of one is known."""
_CLOCKS = ("betting_ms", "decision_warn_ms", "decision_default_ms", "cut_ms", "seed_ms", "entry_ms")
NOT_COMPARED = ("table", "deadline", "warn_at")

Reached = Callable[[AtTable], bool]


def staked(at: AtTable) -> bool:
    return at.sight.table.table.phase == pb.PHASE_BETTING and at.sight.staked() > 0


def offered(command: str, word: str = "") -> Reached:
    return lambda at: bool(at.sight.options(command, word))


def settled(at: AtTable) -> bool:
    return any(event.type == "HandSettled" for event in at.events)


@dataclass(frozen=True)
class Stage:
    """Where a table of a game stands when its node is killed. `hold`: what has been asked of
    shuffle, once that is `reached`, and not answered; `lost`: it has been done all the same."""

    game: str
    reached: Reached
    hold: str = ""
    lost: bool = False
    seeds: bool = False


def stages() -> list[Stage]:
    """All phases of all games."""
    words = {
        "battle": ("fight",),
        "casino_holdem": ("bet",),
        "oasis_poker": ("exchange", "bet"),
        "draw_poker": ("bet", "call", "exchange"),
    }
    # What a decision has cards follow: the board, exchanged cards.
    drawn = {"casino_holdem": "bet", "oasis_poker": "exchange", "draw_poker": "exchange"}
    found = []
    for game in GAMES:
        found += [
            Stage(game, staked),
            Stage(game, offered("cut_shoe")),
            Stage(game, offered("reveal_seed"), seeds=True),
            Stage(game, settled),
            Stage(game, offered("cut_shoe"), hold="SealShoe"),
            Stage(game, offered("cut_shoe"), hold="DealMany"),
            Stage(game, offered("cut_shoe"), hold="DealMany", lost=True),
        ]
        found += [Stage(game, offered("decide", word)) for word in words.get(game, ())]
        if game in drawn:
            reached = offered("decide", drawn[game])
            found.append(Stage(game, reached, hold="DealMany", lost=True))
    return found


@dataclass
class Holding:
    """Keeps back what is asked of shuffle for these tables, or its answer, by method."""

    news: asyncio.Event
    held: dict[str, Stage] = field(default_factory=dict)
    waiting: set[str] = field(default_factory=set)

    async def __call__(
        self, method: str, request: bytes, pass_on: Callable[[], Awaitable[bytes]]
    ) -> bytes:
        tables = [table for table in _tables(method, request) if table in self.held]
        kept = [table for table in tables if self.held[table].hold == method]
        if kept and self.held[kept[0]].lost:
            await pass_on()
        if kept:
            self.waiting.update(kept)
            self.news.set()
            await asyncio.Event().wait()
        return await pass_on()


def _tables(method: str, request: bytes) -> list[str]:
    asked = getattr(shuffle_pb2, f"{method}Request").FromString(request)
    if method == "DealMany":
        return [deal.table_id for deal in asked.deals]
    return [getattr(asked, "table_id", "")]


@dataclass
class Case:
    """A table and its stage, as its players see it; they are at node b."""

    stage: Stage
    players: list[tuple[Gambler, AtTable]]
    grace_ms: int
    seen: list[pb.Update] = field(default_factory=list)
    under_way: list[asyncio.Future[pb.PlayResponse]] = field(default_factory=list)
    at_stage: bool = False
    same_point: bool = False

    @property
    def sights(self) -> list[AtTable]:
        return [sight for _, sight in self.players]

    @property
    def table_id(self) -> str:
        return self.sights[0].table_id

    async def play_until(self, reached: Callable[[], bool]) -> None:
        await asyncio.gather(
            *(gambler.play_until(sight, reached) for gambler, sight in self.players)
        )

    async def to_its_stage(self) -> None:
        """One of them is asked what the stage is about. It may pass, with what they had just said:
        once one has seen it, nobody says any more."""
        await self.play_until(self._has_been_at_its_stage)

    def _has_been_at_its_stage(self) -> bool:
        self.at_stage = self.at_stage or any(map(self.stage.reached, self.sights))
        return self.at_stage

    async def into_its_hold(self, holding: Holding) -> None:
        """Does what has the held call follow."""
        holding.held[self.table_id] = self.stage
        await self.play_until(lambda: self.table_id in holding.waiting)

    def say_what_comes_next(self) -> None:
        """Without waiting for the answer."""
        for gambler, sight in self.players:
            command = sight.next_command()
            if command is not None:
                self.under_way.append(gambler.send(self.table_id, command))

    async def comes_to_rest(self) -> None:
        """The house has nothing to do by itself (a shoe may come long after it was asked for), and
        all players have heard so."""
        for gambler, _ in self.players:
            await gambler.until(self._is_at_rest)

    def _is_at_rest(self) -> bool:
        views = [sight.sight.table for sight in self.sights]
        shoes = [shoe for view in views for shoe in (view.shoe, view.next_shoe) if shoe.shoe_id]
        same = len({view.table.version for view in views}) == 1
        return same and all(shoe.commitment for shoe in shoes)

    def remember(self) -> None:
        self.seen = [sight.updates[-1] for sight in self.sights]

    def has_happened(self, kind: str) -> bool:
        """To all of them, since the kill."""
        seen = zip(self.sights, self.seen, strict=True)
        return all(sight.has_happened(kind, last.version) for sight, last in seen)

    async def goes_on(self) -> None:
        """The hand that ran is played to its end; where none ran, one is."""
        for answer in self.under_way:
            assert (await answer).refusal.reason in ("", UNKNOWN, *OVERTAKEN)
        for gambler, _ in self.players:
            await gambler.until(lambda: self.has_happened("TableClaimed"))
        await self.play_until(lambda: self.has_happened("HandSettled"))

    def check(self) -> None:
        for sight, seen in zip(self.sights, self.seen, strict=True):
            assert_seamless(sight.updates)
            later = [event for event in sight.events if event.version > seen.version]
            claimed = next(event for event in later if event.type == "TableClaimed")
            told = (claimed.table_claimed.node, claimed.table_claimed.epoch)
            assert told == ("node-b", seen.table.table.epoch + 1)
            first = next(update for update in sight.updates if claimed in update.events)
            if {event.type for event in first.events} <= {"TableClaimed", "DeadlineMoved"}:
                self.same_point = first.previous == seen.version
                if self.same_point:
                    check_same_point(seen, first, claimed, self.grace_ms)
            if seen.table.hand_id:
                ended = next(event for event in later if event.type == "HandSettled")
                assert ended.hand_id == seen.table.hand_id


def check_same_point(
    seen: pb.Update, now: pb.Update, claimed: pb.TableEvent, grace_ms: int
) -> None:
    """The table is as it was, and its clock has at least the grace left."""
    for name in pb.TableView.DESCRIPTOR.fields_by_name:
        if name not in NOT_COMPARED:
            assert getattr(now.table, name) == getattr(seen.table, name), name
    assert now.table.table.phase == seen.table.table.phase
    assert now.you.hands == seen.you.hands
    had = [(option.command, option.box, option.word) for option in seen.you.options]
    assert [(option.command, option.box, option.word) for option in now.you.options] == had
    assert now.table.HasField("deadline") == seen.table.HasField("deadline")
    if seen.table.HasField("deadline"):
        least = claimed.table_claimed.at.ToMilliseconds() + grace_ms
        had_until = seen.table.deadline.ToMilliseconds()
        assert now.table.deadline.ToMilliseconds() == max(least, had_until)


async def at_their_stages(house: House, holding: Holding) -> tuple[list[Case], list[Gambler]]:
    """A table for each stage, all of them on node a."""
    await asyncio.gather(*(house.fund(name, 50_000_000) for name in ("ann", "bob")))
    people = [at(house, "node-b", name) for name in ("ann", "bob")]
    gamblers = [Gambler(person, box, holding.news) for box, person in enumerate(people, 1)]
    cases = []
    for number, stage in enumerate(stages(), 1):
        poker = stage.game == "draw_poker"
        grace_ms = GRACES_MS[number % 3 == 0]
        table_id = await house.open(
            table_of("node-a", number=number),
            stage.game,
            "node-b",
            dict.fromkeys(_CLOCKS, CLOCK_MS) | {"grace_ms": grace_ms},
            ante=100 if poker else 0,
            open_joining=poker,
        )
        sitting = gamblers if poker else gamblers[:1]
        players = [(each, await each.watch(table_id, stage.seeds)) for each in sitting]
        cases.append(Case(stage, players, grace_ms))
    await asyncio.gather(*(case.to_its_stage() for case in cases))
    # One kind of hold after the other: cards of several tables are asked for in one call.
    for lost in (False, True):
        holds = [case for case in cases if case.stage.hold and case.stage.lost is lost]
        await asyncio.gather(*(case.into_its_hold(holding) for case in holds))
    return cases, gamblers


@pytest.mark.timeout(300)
async def test_a_hand_goes_on_at_the_same_point_wherever_its_node_was_killed(
    empty_house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    # All tables are claimed at once, and a busy machine takes longer than a caller is kept waiting.
    monkeypatch.setattr("services.table.node.CLAIM_WAIT_S", 60.0)
    house = empty_house
    shuffle = await house.shuffle()
    await house.wallet()
    await house.relay()
    holding = Holding(asyncio.Event())
    async with Gate(shuffle.address) as gate:
        gate.passing_request = holding
        await house.node_process("node-a", shuffle_address=gate.address)
        await house.node("node-b")
        cases, gamblers = await at_their_stages(house, holding)
        watching = [case.table_id for case in cases[:3]]
        eve = await Onlooker.at(house, "node-a", watching)
        at_rest = [case for case in cases if not case.stage.hold]
        for case in at_rest:
            await case.comes_to_rest()
        for case in cases:
            case.remember()
        # At every other table the next command is on its way.
        for case in at_rest[::2]:
            case.say_what_comes_next()
        under_way = [answer for case in cases for answer in case.under_way]
        await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
        await house.kill_node("node-a")
        await asyncio.gather(*(case.goes_on() for case in cases))
        for case in cases:
            case.check()
        assert all(case.same_point for case in at_rest[1::2])
        await eve.goes_on_at("node-b")
        for gambler in gamblers:
            await say_all_again(gambler)
            await gambler.leave()
    await assert_books_balance(house)


class Onlooker:
    """Somebody at the node that is killed, who goes to the other one and on from where he was."""

    def __init__(self, house: House, stream: PlayCall) -> None:
        self._house = house
        self._stream = stream

    @classmethod
    async def at(cls, house: House, node: str, table_ids: list[str]) -> Onlooker:
        stream = at(house, node, "eve").play()
        for table_id in table_ids:
            await stream.watch(table_id)
            await stream.until(partial(_is_update_of, table_id))
        return cls(house, stream)

    async def goes_on_at(self, node: str) -> None:
        with pytest.raises(CroupierError):
            await self._stream.until(lambda _: False)
        before = self._stream.updates
        stream = at(self._house, node, "eve").play()
        for table_id in {update.table_id for update in before}:
            mine = [update for update in before if update.table_id == table_id]
            await stream.watch(table_id, mine[-1].version)
            await stream.until(partial(_is_update_of, table_id))
            mine += [update for update in stream.updates if update.table_id == table_id]
            assert_seamless(mine)
            assert any(event.type == "TableClaimed" for u in mine for event in u.events)
        stream.cancel()


def _is_update_of(table_id: str, answer: pb.PlayResponse) -> bool:
    return answer.update.table_id == table_id


async def say_all_again(gambler: Gambler) -> None:
    """What was acknowledged is in the log once, and the same again gets the same answer."""
    for table_id, command, first in list(gambler.acknowledged.values()):
        again = (await gambler.do(table_id, command)).acknowledgement
        assert (again.first_version, again.version) == (first.first_version, first.version)


async def assert_books_balance(house: House) -> None:
    """All that was won was lost."""
    [row] = await house.sql("SELECT sum(balance)::bigint AS balance FROM wallet.accounts")
    assert row["balance"] == 0

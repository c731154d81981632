"""People who play any game by what their view offers, at many tables in one stream, and stop where
a test wants them to."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from croupier.table.v1 import table_pb2 as pb

from clients.api import commands
from clients.api.seeds import SeedKeeper
from clients.api.sight import Sight
from tests.integration.table.people import Person, PlayCall

STAKE = 100
CHIPS = 100_000
WAGERS = {
    "baccarat": "player",
    "battle": "stake",
    "casino_holdem": "ante",
    "oasis_poker": "ante",
    "draw_poker": "entry",
}
# In this order: what keeps the hand going, an exchange before a bet.
WORDS = ("look", "keep", "fight", "exchange", "call", "bet", "check", "fold", "surrender")

OVERTAKEN = ("BETTING_CLOSED", "DECISION_NOT_DUE")
"""What somebody else, or a clock, may be quicker with."""

UNKNOWN = "LOG_UNAVAILABLE"
"""On a machine that has too much to do."""


@dataclass
class AtTable:
    """What one person has seen of one table."""

    person: str
    box: int
    table_id: str
    updates: list[pb.Update] = field(default_factory=list)
    seeds: SeedKeeper | None = None

    @property
    def sight(self) -> Sight:
        last = self.updates[-1]
        return Sight(self.person, last.table, last.you)

    @property
    def events(self) -> list[pb.TableEvent]:
        return [event for update in self.updates for event in update.events]

    def has_happened(self, kind: str, after: int = 0) -> bool:
        """Whether there was an event of this type behind version `after`."""
        return any(event.version > after and event.type == kind for event in self.events)

    def next_command(self) -> pb.Command | None:
        """What to do now; None to wait."""
        sight = self.sight
        if sight.options("join") and sight.seat is None:
            return commands.join()
        if self.seeds is not None:
            seed = self.seeds.next_command(sight.table, sight.you)
            if seed is not None:
                return seed
        if sight.options("cut_shoe"):
            return commands.cut_shoe(sight.options("cut_shoe")[0].minimum)
        if sight.options("decide"):
            return self._decision(sight)
        has = sight.you.free_chips.minor_units + sight.you.pending_chips.minor_units
        if sight.options("buy_chips") and has + sight.staked() < CHIPS // 2:
            return commands.buy_chips(sight.money(CHIPS))
        return self._bet(sight)

    def _decision(self, sight: Sight) -> pb.Command:
        due = {option.word: option for option in sight.options("decide")}
        option = next(due[word] for word in WORDS if word in due)
        held = [position for position, _ in sight.placed_cards(f"box{option.box}")]
        positions = held[:1] if option.word == "exchange" else []
        amount = sight.money(option.minimum) if option.minimum else None
        return commands.decide(option.box, option.word, amount=amount, positions=positions)

    def _bet(self, sight: Sight) -> pb.Command | None:
        wager = WAGERS[sight.game]
        # Seven boxes make a tie at battle likely.
        boxes = set(range(1, 8)) if sight.game == "battle" else {self.box}
        mine = {box.box for box in sight.table.boxes if box.owner == self.person}
        offered = [o for o in sight.options("place_bet", wager) if o.box in (0, self.box)]
        if offered and mine < boxes:
            box = min(boxes - mine)
            stake = max(offered[0].minimum, min(STAKE, offered[0].maximum))
            return commands.place_bet(box, wager, sight.money(stake))
        if sight.staked() and sight.options("done_betting"):
            return commands.done_betting()
        return None


class Gambler:
    """One person's stream over many tables, at each of which he bets on `box`. `news` is set for
    all who wait when anybody hears something."""

    def __init__(self, person: Person, box: int, news: asyncio.Event) -> None:
        self.name = person.name
        self.box = box
        self.acknowledged: dict[str, tuple[str, pb.Command, pb.Acknowledgement]] = {}
        """By command id: the table, the command and its answer."""
        self._tables: dict[str, AtTable] = {}
        self._answers: dict[str, asyncio.Future[pb.PlayResponse]] = {}
        self._news = news
        self._call: PlayCall = person.play()
        self._saying: asyncio.Queue[tuple[str, dict[str, Any]]] = asyncio.Queue()
        self._stream = asyncio.gather(self._read(), self._write())

    async def watch(self, table_id: str, seeds: bool = False) -> AtTable:
        """Begins to watch a table."""
        keeper = SeedKeeper(self.name) if seeds else None
        at = self._tables[table_id] = AtTable(self.name, self.box, table_id, seeds=keeper)
        self._saying.put_nowait((table_id, {"watch": pb.WatchRequest()}))
        await self.until(lambda: bool(at.updates))
        return at

    async def do(self, table_id: str, command: pb.Command) -> pb.PlayResponse:
        """Sends a command, the same again where nobody knows what became of it; its answer."""
        async with asyncio.timeout(60):
            while True:
                answer = await self.send(table_id, command)
                if answer.refusal.reason != UNKNOWN:
                    return answer

    def send(self, table_id: str, command: pb.Command) -> asyncio.Future[pb.PlayResponse]:
        """The same without waiting."""
        answer = asyncio.get_running_loop().create_future()
        self._answers[command.command_id] = answer
        answer.add_done_callback(lambda done: self._answered(table_id, command, done))
        self._saying.put_nowait((table_id, {"command": command}))
        return answer

    def _answered(self, table_id: str, command: pb.Command, done: Any) -> None:
        if done.cancelled():
            return
        answer: pb.PlayResponse = done.result()
        if answer.HasField("acknowledgement"):
            given = (table_id, command, answer.acknowledgement)
            self.acknowledged[command.command_id] = given

    async def play_until(self, at: AtTable, reached: Callable[[], bool]) -> None:
        """Plays at the table until it is where the test wants it to be."""
        while not reached():
            seen = len(at.updates)
            command = at.next_command()
            if command is not None:
                answer = await self.do(at.table_id, command)
                assert answer.refusal.reason in ("", *OVERTAKEN), answer
                if answer.HasField("acknowledgement"):
                    continue
            try:
                await self.until(partial(_either, at, seen, reached))
            except TimeoutError:
                raise AssertionError(f"nothing happens any more: {at.updates[-1]}") from None

    async def until(self, check: Callable[[], bool]) -> None:
        """Waits for something to be heard."""
        async with asyncio.timeout(60):
            while not check():
                self._check_stream()
                self._news.clear()
                await self._news.wait()

    def _check_stream(self) -> None:
        if self._stream.done():
            self._stream.result()

    async def _write(self) -> None:
        while True:
            table_id, request = await self._saying.get()
            await self._call.say(table_id, **request)

    async def _read(self) -> None:
        while True:
            answer = await self._call.next()
            kind = answer.WhichOneof("response")
            if kind == "update":
                self._tables[answer.update.table_id].updates.append(answer.update)
            else:
                given = answer.acknowledgement if kind == "acknowledgement" else answer.refusal
                waiting = self._answers.pop(given.command_id, None)
                if waiting is None:
                    raise AssertionError(f"an answer that nobody waits for: {answer}")
                waiting.set_result(answer)
            self._news.set()

    async def leave(self) -> None:
        """Hangs up; raises what went wrong with the stream."""
        self._check_stream()
        self._stream.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._stream
        self._call.cancel()


def _either(at: AtTable, seen: int, reached: Callable[[], bool]) -> bool:
    return len(at.updates) > seen or reached()

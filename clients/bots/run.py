"""A run: bots sit down at tables of a house, play a number of hands and go home."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from random import Random

from croupier.table.v1.events_pb2 import HandSettled
from croupier.table.v1.table_pb2 import CardHand, TableView, Update
from croupier.type.v1.money_pb2 import Money

from clients.api.errors import RefusedError
from clients.api.house import House, Identity, new_player_id
from clients.api.seat import Seat
from clients.api.table import TableClient
from clients.api.wallet import WalletClient
from clients.bots.bot import Bot
from clients.bots.progress import Progress, Summary, TableProgress
from clients.bots.quota import Quota
from clients.bots.roster import Roster, roster_of
from clients.bots.strategies import STRATEGIES

OPERATOR = Identity("house-runner", "operator")
CURRENCY = "CHF"
BUY_IN_MINOR = 200_000
DEPOSIT_MINOR = 2_000_000
_ANTE_MINOR = 500
STALL_TIMEOUT_S = 180.0
"""A run in which no hand is settled for so long is given up."""
LEAVE_TIMEOUT_S = 60.0
LOOK_ON_TIMEOUT_S = 10.0

_RECENT_RESULTS = 40
_NAMES = ("Ann", "Bob", "Cid", "Dee", "Eve", "Fay", "Gus", "Hal", "Ida", "Jim", "Kay", "Leo")
_RULES_JSON: Mapping[str, str] = {
    "baccarat": '{"min": 500, "max": 100000}',
    "battle": '{"min": 500, "max": 50000}',
    "casino_holdem": '{"min": 500, "max": 50000}',
    "oasis_poker": '{"min": 500, "max": 50000}',
    "draw_poker": "{}",
}


async def open_tables(
    house: House, games: Sequence[str] = ("baccarat",), currency: str = CURRENCY
) -> list[str]:
    """Opens a table `<game>-1` for each game; one that is there already is kept."""
    table_ids = []
    async with house.connect("table", OPERATOR) as connection:
        client = TableClient(connection)
        for game in games:
            table_id = f"{game}-1"
            name = game.replace("_", " ").capitalize()
            try:
                await client.open_table(
                    table_id,
                    game,
                    currency,
                    name=name,
                    rules_json=_RULES_JSON[game],
                    ante=_ANTE_MINOR if game == "draw_poker" else 0,
                    open_joining=True,
                )
            except RefusedError as refusal:
                if refusal.reason != "TABLE_EXISTS":
                    raise
            table_ids.append(table_id)
    return table_ids


async def play_hands(
    house: House,
    tables: Sequence[str],
    hands: int | None,
    on_update: Callable[[Progress], None],
    *,
    stop: asyncio.Event | None = None,
    seats: int = 3,
    seed: int | None = None,
) -> Summary:
    """Lets `seats` bots play at each of the `tables` until `hands` hands are settled in all, or
    until `stop` is set; then they leave, chips and all.

    `on_update` is called with every change at a table. `seed` makes the bots' choices (not the
    cards) repeatable. Raises `RefusedError` where the house will not let them play.
    """
    run = _Run(house, hands, on_update, stop or asyncio.Event(), Random(seed))
    async with AsyncExitStack() as stack:
        await run.look_on(tables, stack)
        roster = stack.enter_context(roster_of(house.folder))
        await run.seat_bots(seats, roster, stack)
        try:
            await run.play()
        except ExceptionGroup as failures:
            refusals = failures.subgroup(RefusedError)
            if refusals is None:
                raise
            raise _first(refusals) from failures
        return run.summary()


@dataclass(slots=True)
class _Watched:
    """A table that the run looks at from the side."""

    seat: Seat
    view: TableView
    """As of the last update taken; the seat's own may be ahead of it."""
    hands_before: int
    results: deque[str] = field(default_factory=lambda: deque(maxlen=_RECENT_RESULTS))
    last: HandSettled | None = None
    last_hands: tuple[CardHand, ...] = ()


class _Run:
    """What one run holds together while it lasts."""

    def __init__(
        self,
        house: House,
        hands: int | None,
        on_update: Callable[[Progress], None],
        stop: asyncio.Event,
        random: Random,
    ) -> None:
        self._house = house
        self._hands = hands
        self._on_update = on_update
        self._stop = stop
        self._random = random
        self._quota = Quota(hands)
        self._watched: dict[str, _Watched] = {}
        self._onlooker: TableClient | None = None
        self._wallet: WalletClient | None = None
        self._bots: list[tuple[str, Bot]] = []
        self._names: dict[str, str] = {}
        self._staked_minor = 0
        self._returned_minor = 0
        self._still_seated = 0
        self._seen_all = asyncio.Event()
        self._began_s = self._ended_s = asyncio.get_running_loop().time()

    async def look_on(self, tables: Sequence[str], stack: AsyncExitStack) -> None:
        """Watches the tables as somebody who does not play."""
        who = Identity(new_player_id(), "player")
        connection = await stack.enter_async_context(self._house.connect("table", who))
        client = await stack.enter_async_context(TableClient(connection, who.subject))
        for table_id in tables:
            seat = await client.seat(table_id, seeds=False)
            self._quota.see(seat.table)
            self._watched[table_id] = _Watched(seat, seat.table, seat.table.table.hands_played)
        self._onlooker = client

    async def seat_bots(self, seats: int, roster: Roster, stack: AsyncExitStack) -> None:
        """Makes the bots, each with an account of its own and money on it."""
        connection = await stack.enter_async_context(self._house.connect("wallet", OPERATOR))
        self._wallet = WalletClient(connection)
        for table_id, watched in self._watched.items():
            game = watched.view.table.game
            currency = watched.view.table.currency
            for player in roster.players(table_id, seats):
                who = Identity(player, "player")
                self._names[who.subject] = _NAMES[len(self._names) % len(_NAMES)]
                await self._see_to_account(who.subject, currency)
                connection = await stack.enter_async_context(self._house.connect("table", who))
                client = await stack.enter_async_context(TableClient(connection, who.subject))
                dice = Random(self._random.getrandbits(64))
                bot = Bot(
                    client=client,
                    strategy=STRATEGIES[game](dice),
                    random=dice,
                    buy_in_minor=BUY_IN_MINOR,
                    may_bet=self._quota.may_bet,
                    top_up=self._deposit,
                )
                self._bots.append((table_id, bot))

    async def play(self) -> None:
        """Plays until the quota is used up or somebody says stop, then sees the bots out."""
        async with asyncio.TaskGroup() as group:
            around = [
                group.create_task(self._watch(one), name="onlooker")
                for one in self._watched.values()
            ]
            around.append(group.create_task(self._give_up_when_stalled(), name="stall"))
            playing = [
                group.create_task(bot.play(table_id, self._stop), name=f"bot-{bot.client.player}")
                for table_id, bot in self._bots
            ]
            await self._stop.wait()
            self._ended_s = asyncio.get_running_loop().time()
            _, seated = await asyncio.wait(playing, timeout=LEAVE_TIMEOUT_S)
            self._still_seated = len(seated)
            # The bots saw their last hands; who looks on may be a moment behind.
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._seen_all.wait(), LOOK_ON_TIMEOUT_S)
            for task in (*around, *seated):
                task.cancel()

    def summary(self) -> Summary:
        """The run as it ended."""
        refusals: Counter[str] = Counter()
        for _, bot in self._bots:
            refusals.update(bot.refusals)
        return Summary(
            hands=self._quota.played,
            wanted=self._hands,
            elapsed_s=self._ended_s - self._began_s,
            by_table={table_id: self._hands_at(table_id) for table_id in self._watched},
            bots=len(self._bots),
            staked_minor=self._staked_minor,
            returned_minor=self._returned_minor,
            currency=self._currency,
            refusals=refusals,
            reconnects=sum(bot.client.stream.reconnects for _, bot in self._bots),
            still_seated=self._still_seated,
        )

    @property
    def _currency(self) -> str:
        for watched in self._watched.values():
            return watched.view.table.currency
        return CURRENCY

    def _hands_at(self, table_id: str) -> int:
        watched = self._watched[table_id]
        return watched.view.table.hands_played - watched.hands_before

    async def _see_to_account(self, player: str, currency: str) -> None:
        assert self._wallet is not None
        try:
            account = await self._wallet.open_account(currency, player)
        except RefusedError as refusal:
            if refusal.reason != "ACCOUNT_EXISTS":
                raise
            account = await self._wallet.account(player)
        if account.balance.minor_units < BUY_IN_MINOR:
            await self._deposit(player, currency)

    async def _deposit(self, player: str, currency: str = "") -> None:
        assert self._wallet is not None
        money = Money(currency=currency or self._currency, minor_units=DEPOSIT_MINOR)
        await self._wallet.deposit(player, money, "play-money:bot")

    async def _watch(self, watched: _Watched) -> None:
        while True:
            self._take(watched, await watched.seat.next_update())

    def _take(self, watched: _Watched, update: Update) -> None:
        watched.view = update.table
        for event in update.events:
            if event.HasField("hand_settled"):
                watched.last = event.hand_settled
                watched.last_hands = tuple(update.table.last_hands)
                watched.results.append(event.hand_settled.result)
                self._staked_minor += sum(line.stake for line in watched.last.lines)
                self._returned_minor += sum(line.returned for line in watched.last.lines)
        self._quota.see(watched.view)
        self._on_update(self._progress())
        if self._quota.used_up:
            self._stop.set()
        if sum(map(self._hands_at, self._watched)) >= self._quota.played:
            self._seen_all.set()
        else:
            self._seen_all.clear()

    def _progress(self) -> Progress:
        assert self._onlooker is not None
        return Progress(
            elapsed_s=asyncio.get_running_loop().time() - self._began_s,
            hands=self._quota.played,
            wanted=self._hands,
            tables={
                table_id: TableProgress(
                    watched.view,
                    self._hands_at(table_id),
                    tuple(watched.results),
                    watched.last,
                    watched.last_hands,
                )
                for table_id, watched in self._watched.items()
            },
            names=self._names,
            staked_minor=self._staked_minor,
            returned_minor=self._returned_minor,
            currency=self._currency,
            connected=self._onlooker.stream.connected,
        )

    async def _give_up_when_stalled(self) -> None:
        played = -1
        while played < self._quota.played:
            played = self._quota.played
            await asyncio.sleep(STALL_TIMEOUT_S)
        raise RefusedError("NO_PROGRESS", f"no hand was settled for {STALL_TIMEOUT_S:g} s")


def _first(failures: ExceptionGroup[RefusedError]) -> RefusedError:
    failure = failures.exceptions[0]
    return _first(failure) if isinstance(failure, ExceptionGroup) else failure

"""Moments at the tables as the screen shows them, the same on every run.

`python -m tests.unit.clients.scenes` writes them to `screens/`, to be looked at; the tests compare.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from croupier.audit.v1 import audit_pb2
from croupier.type.v1.money_pb2 import Money
from rich.console import Console, RenderableType

from clients.api import commands
from clients.api.house import House
from clients.bots.progress import Ledger, Progress, Summary, TableProgress, Verified
from clients.cli.audit import replay_lines
from clients.cli.live import picture, print_summary
from clients.cli.names import Names
from clients.cli.play.screen import Showing, fitting
from clients.cli.play.words import command_of
from clients.cli.story import tell
from tests.unit.clients.fake_house import START_US, FakeHouse, FakeTable, execute, sight_of

FOLDER = Path(__file__).parent / "screens"
ME, BOB = "p_meeeeeeeeeeeeee2", "p_bobbbbbbbbbbbbb2"
NAMES = Names(ME, {BOB: "Bob"})
WIDTH, HEIGHT = 100, 48
_RULES = {"draw_poker": "{}"}


class Scene:
    """A table with two players who have chips; what they say is typed as people do."""

    def __init__(self, game: str, seed: int = 5) -> None:
        house = FakeHouse(seed)
        rules = _RULES.get(game, '{"min": 500, "max": 100000}')
        self.table: FakeTable = house.open(f"{game}-1", game, rules)
        for player in (ME, BOB):
            house.accounts[player] = 1_000_000
            execute(self.table, player, commands.join())
            money = sight_of(self.table, player).money(50_000)
            execute(self.table, player, commands.buy_chips(money))

    def say(self, player: str, *lines: str) -> Scene:
        """A player types lines."""
        for line in lines:
            execute(self.table, player, command_of(line, sight_of(self.table, player)))
        return self

    def story(self) -> list[str]:
        """All that was told so far."""
        update = self.table.update(ME, 1)
        return [said for event in update.events if (said := tell(event, NAMES))]

    def showing(self, **more: object) -> Showing:
        """What the first player's screen shows."""
        now = datetime.fromtimestamp(START_US / 1_000_000 + 2, UTC)
        return Showing(sight_of(self.table, ME), NAMES, now, self.story(), **more)  # type: ignore[arg-type]

    def shown(self, height: int = HEIGHT, **more: object) -> str:
        """The same as text."""
        console = _console(height)
        return _text(console, fitting(self.showing(**more), console, WIDTH))


def betting(game: str, *lines: str) -> Scene:
    """Both have bet and the cards lie: the first player says `lines` before he is done."""
    scene = Scene(game).say(ME, *lines)
    wager = {"baccarat": "player", "battle": "stake", "draw_poker": "entry"}.get(game, "ante")
    scene.say(BOB, wager if game == "draw_poker" else f"{wager} 5", *_done(game))
    scene.say(ME, *_done(game))
    return scene.say(ME, "cut 20") if sight_of(scene.table, ME).options("cut_shoe") else scene


def _done(game: str) -> tuple[str, ...]:
    return () if game == "draw_poker" else ("done",)


def _live(height: int) -> str:
    scene = betting("casino_holdem", "ante 50")
    done = betting("baccarat", "banker 50", "tie 5")
    tables = {}
    for one in (scene, done):
        view = sight_of(one.table, ME).table
        last = view.last_result if view.HasField("last_result") else None
        results = ("banker", "player", "tie", "player")
        tables[view.table.table_id] = TableProgress(view, 12, results, last, tuple(view.last_hands))
    progress = Progress(
        elapsed_s=12.5,
        hands=130,
        wanted=200,
        tables=tables,
        names={ME: "Ann", BOB: "Bob"},
        staked_minor=123_400,
        returned_minor=120_000,
        currency="CHF",
        connected=True,
    )
    console = _console(height)
    return _text(console, picture(progress, console))


def _summary(good: bool) -> str:
    console = _console()
    zero = Money(currency="CHF", minor_units=0 if good else 5)
    findings = () if good else (_finding(),)
    print_summary(
        console,
        Summary(
            hands=200 if good else 190,
            wanted=200,
            elapsed_s=9.5,
            by_table={"baccarat-1": 200 if good else 190},
            bots=3,
            staked_minor=123_400,
            returned_minor=120_000,
            currency="CHF",
            refusals={} if good else {"BETTING_CLOSED": 2},
            reconnects=0 if good else 3,
            still_seated=0 if good else 1,
        ),
        Ledger((), (zero,), caught_up=True),
        Verified(200 if good else 189, 0 if good else 1, 3800, findings, complete=True),
        House({"table": ("127.0.0.1:7001",), "wallet": ("127.0.0.1:7002",)}),
    )
    return _printed(console)


def _finding() -> audit_pb2.Finding:
    return audit_pb2.Finding(
        check=audit_pb2.CHECK_RULES,
        hand_id="baccarat-1-9",
        stream="table/baccarat-1",
        version=17,
        message="HandSettled is not what the rules make of it",
    )


def _replay() -> str:
    answer = audit_pb2.ReplayHandResponse(
        hand=audit_pb2.Hand(
            hand_id="baccarat-1-9",
            table_id="baccarat-1",
            game="baccarat",
            number=3,
            shoe_id="baccarat-1-s2",
            result="banker",
        ),
        shoe_root=bytes(range(32)),
    )
    for version, (kind, derived, text, sights) in enumerate(_STEPS, 9):
        step = answer.steps.add(
            stream="table/baccarat-1", version=version, type=kind, derived=derived, text=text
        )
        step.recorded_at.FromMicroseconds(START_US + version * 1000)
        for party, cards in sights:
            step.sights.add(party=party, cards=cards)
    console = _console()
    for part in replay_lines(answer):
        console.print(part)
    return _printed(console)


_SEEN = {"player": "9c 4d", "banker": "Th ??"}
_STEPS: tuple[tuple[str, bool, str, list[tuple[str, dict[str, str]]]], ...] = (
    ("BetPlaced", False, "p_ann stakes 5000 on banker, box 1", [("public", {})]),
    ("BettingClosed", True, "No more bets", []),
    (
        "CardsDealt",
        False,
        "4 cards are dealt [as they lie]",
        [("public", _SEEN), ("player:p_ann", _SEEN), ("auditor", _SEEN | {"banker": "Th 2s"})],
    ),
    ("HandSettled", True, "The hand is over: banker", [("public", _SEEN)]),
)

SCENES: dict[str, Callable[[], str]] = {
    "baccarat_betting": lambda: Scene("baccarat").shown(topic="help"),
    "baccarat_cut": lambda: (
        Scene("baccarat").say(BOB, "player 5", "done").say(ME, "b 50", "done").shown()
    ),
    "baccarat_result": lambda: betting("baccarat", "banker 50", "tie 5").shown(),
    "baccarat_rules": lambda: Scene("baccarat").shown(topic="rules", note="hm?", typed="b 5"),
    "baccarat_away": lambda: Scene("baccarat").shown(connected=False),
    "battle_fight": lambda: betting("battle", "stake 50").shown(),
    "battle_small": lambda: betting("battle", "stake 50").shown(height=20),
    "casino_holdem_bet": lambda: betting("casino_holdem", "ante 50").shown(),
    "casino_holdem_result": lambda: (
        betting("casino_holdem", "ante 50").say(ME, "bet").say(BOB, "fold").shown()
    ),
    "oasis_exchange": lambda: betting("oasis_poker", "ante 50", "bonus 10").say(ME, "look").shown(),
    "draw_poker_entry": lambda: Scene("draw_poker").shown(),
    "draw_poker_turn": lambda: betting("draw_poker", "entry").shown(),
    "draw_poker_raise": lambda: (
        betting("draw_poker", "entry").say(ME, "bet 30").say(BOB, "raise 80").shown()
    ),
    "draw_poker_result": lambda: (
        betting("draw_poker", "entry")
        .say(ME, "bet 30")
        .say(BOB, "call")
        .say(ME, "exchange 1 4 5")
        .say(BOB, "exchange 1 2 3")
        .say(ME, "check")
        .say(BOB, "check")
        .shown()
    ),
    "oasis_rules": lambda: Scene("oasis_poker").shown(topic="rules"),
    "oasis_result": lambda: (
        betting("oasis_poker", "ante 50", "bonus 10")
        .say(ME, "look", "exchange 1 4")
        .say(BOB, "fold")
        .say(ME, "bet")
        .shown()
    ),
    "battle_result": lambda: (
        betting("battle", "stake 50").say(BOB, "surrender").say(ME, "fight").shown()
    ),
    "live": lambda: _live(HEIGHT),
    "live_small": lambda: _live(18),
    "live_tiny": lambda: _live(8),
    "summary_good": lambda: _summary(good=True),
    "summary_bad": lambda: _summary(good=False),
    "replay": _replay,
}


def _console(height: int = HEIGHT) -> Console:
    return Console(
        record=True,
        width=WIDTH,
        height=height,
        file=io.StringIO(),
        force_terminal=True,
        no_color=True,
    )


def _text(console: Console, renderable: RenderableType) -> str:
    console.print(renderable)
    return _printed(console)


def _printed(console: Console) -> str:
    return "\n".join(line.rstrip() for line in console.export_text().splitlines()) + "\n"


async def _write() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, scene in SCENES.items():
        (FOLDER / f"{name}.txt").write_text(scene())


if __name__ == "__main__":
    asyncio.run(_write())

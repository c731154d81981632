"""Playing at a terminal: the table as a picture that moves, and a prompt."""

from __future__ import annotations

import asyncio
import signal

from croupier.table.v1.table_pb2 import Command
from rich.live import Live

from clients.api import commands
from clients.api.errors import RefusedError, UnansweredError
from clients.api.sight import Sight
from clients.cli.advice import ADVICE
from clients.cli.play.keyboard import END_OF_INPUT, Terminal
from clients.cli.play.screen import Showing, fitting
from clients.cli.play.visit import Visit
from clients.cli.play.words import NotNowError, NotUnderstoodError
from clients.cli.shell import Shell

REFRESH_S = 0.25
MOST_WIDTH = 110
_GOODBYE = frozenset({"leave", "quit", "exit", "q"})
_TOPICS = frozenset({"help", "rules", "?"})


class Turning:
    """Cards are turned on the screen one after another, in the order they were dealt. What lay
    there at the first look is not in it."""

    def __init__(self) -> None:
        self.unturned: list[int] = []
        self._known: set[int] | None = None

    def lay(self, sight: Sight) -> None:
        """Takes note of new cards."""
        table = sight.table
        hands = (*(table.hands or table.last_hands), *sight.you.hands)
        seen = {card.position for hand in hands for card in hand.cards if card.card}
        if self._known is not None:
            self.unturned = sorted((seen - self._known) | (set(self.unturned) & seen))
        self._known = seen

    def turn_one(self) -> None:
        """Turns the next one."""
        if self.unturned:
            self.unturned.pop(0)


class AtTerminal:
    """The visit of somebody who looks at the screen and types."""

    def __init__(self, shell: Shell, visit: Visit) -> None:
        self._shell = shell
        self._visit = visit
        self._note = ""
        self._topic = ""
        self._ended = asyncio.Event()
        self._interrupts = 0
        self._turning = Turning()
        self._told: list[str] = []
        self._doing: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Plays until the player has left, or wants to go at once."""
        loop = asyncio.get_running_loop()
        following = asyncio.create_task(self._follow())
        following.add_done_callback(lambda _: self._ended.set())
        console = self._shell.out
        with (
            Live(console=console, screen=True, auto_refresh=False) as live,
            Terminal(self._line, lambda: self._show(live, terminal)) as terminal,
        ):
            loop.add_signal_handler(signal.SIGINT, self._interrupted)
            try:
                while not self._ended.is_set():
                    self._turning.turn_one()
                    self._show(live, terminal)
                    try:
                        await asyncio.wait_for(self._ended.wait(), REFRESH_S)
                    except TimeoutError:
                        continue
            finally:
                loop.remove_signal_handler(signal.SIGINT)
        if following.done():
            await following
        following.cancel()

    async def _follow(self) -> None:
        visit = self._visit
        while not visit.over:
            chore = visit.chore()
            if chore is not None:
                await self._execute(chore)
            visit.take(await visit.seat.next_update())
            self._turning.lay(visit.sight())

    def _show(self, live: Live, terminal: Terminal) -> None:
        visit = self._visit
        unturned = self._turning.unturned
        if not unturned:
            self._told = list(visit.story)
        showing = Showing(
            sight=visit.sight(),
            names=visit.names,
            now=visit.seat.now(),
            story=self._told,
            typed=terminal.editor.typed,
            note=self._note,
            topic=self._topic,
            connected=visit.seat.connected,
            unturned=tuple(unturned),
            mine=visit.mine,
        )
        console = self._shell.out
        live.update(fitting(showing, console, min(console.width, MOST_WIDTH)), refresh=True)

    def _line(self, line: str | None) -> None:
        if line is END_OF_INPUT or line in _GOODBYE:
            self._go_home()
        elif line in _TOPICS:
            topic = "help" if line == "?" else line
            self._topic = "" if self._topic == topic else topic
            self._note = ""
        else:
            try:
                command = self._visit.command(line)
            except (NotNowError, NotUnderstoodError) as error:
                self._note = str(error)
            else:
                self._start(command)

    def _interrupted(self) -> None:
        self._interrupts += 1
        if self._interrupts > 1:
            self._ended.set()
        else:
            self._go_home()

    def _go_home(self) -> None:
        if self._visit.seat.seated and not self._visit.leaving():
            self._start(commands.leave())
            self._note = "you leave after this hand"
        elif not self._visit.seat.seated:
            self._ended.set()

    def _start(self, command: Command) -> None:
        self._note = "…"
        task = asyncio.create_task(self._execute(command))
        self._doing.add(task)
        task.add_done_callback(self._doing.discard)

    async def _execute(self, command: Command) -> None:
        try:
            await self._visit.seat.execute(command)
            self._note = ""
        except (RefusedError, UnansweredError) as refusal:
            advice = ADVICE.get(refusal.reason, "")
            self._note = f"{refusal.message}. {advice}".strip()

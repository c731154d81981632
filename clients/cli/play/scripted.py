"""Playing from lines on standard input: each is held until it can be done."""

from __future__ import annotations

import asyncio
import re

from croupier.table.v1.table_pb2 import Command
from rich.markup import escape

from clients.api import commands
from clients.api.errors import RefusedError, UnansweredError
from clients.cli.play.keyboard import END_OF_INPUT
from clients.cli.play.visit import Visit
from clients.cli.play.words import NotNowError, NotUnderstoodError, possible
from clients.cli.rules import RULES
from clients.cli.shell import Shell

PATIENCE_S = 120.0
"""How long a line waits until it can be done."""

_CUT = re.compile(r"cut (\d{1,5})")
_GOODBYE = frozenset({"leave", "quit", "exit"})
_TOPICS = frozenset({"help", "?", "rules"})
_HELP = """\
One command a line; each waits until it can be done, # begins a comment.
  banker 50 [BOX], ante 20 blind, bonus 5, entry   bets; `bet 20` where there is only one wager
  done                                             no more bets in this hand
  fight, fold box 4, raise 40, bet insure 10       decisions, of the box named or the first due
  look, exchange 2c 10d                            cards by name, or by place from 1
  cut 100                                          whenever you are asked; else the dealer cuts
  buy 100, cash [50], back [BOX], out, in          chips, bets taken back, sitting out
  admit PLAYER [BOX], object PLAYER                on your box, at your table
  rules, help                                      the game in short, and this
  leave                                            after the hand; so does the end of the lines
Now you may:"""


class Scripted:
    """Prints what happens on standard output, complaints on standard error."""

    def __init__(self, shell: Shell, visit: Visit, lines: asyncio.Queue[str | None]) -> None:
        self._shell = shell
        self._visit = visit
        self._lines = lines
        self._failed = False
        self._done_with = ""
        self._cut_place = 0
        self._nothing_more = False
        self._happened = asyncio.Event()

    async def run(self) -> bool:
        """Plays until the lines end or the player has left; whether every line could be done."""
        following = asyncio.create_task(self._follow())
        following.add_done_callback(self._no_more)
        try:
            await self._play(following)
        finally:
            following.cancel()
        return not self._failed

    async def _play(self, following: asyncio.Task[None]) -> None:
        while not self._visit.over:
            line = await self._lines.get()
            if line is END_OF_INPUT or line in _GOODBYE:
                break
            if not line or line.startswith("#"):
                continue
            self._shell.out.print(f"> {escape(line)}", style="dim")
            if line in _TOPICS:
                self._explain(line)
            elif (cut := _CUT.fullmatch(line)) is not None:
                self._cut_place = int(cut[1])
            else:
                await self._carry_out(line)
            if following.done():
                await following
        if self._visit.over or await self._execute(commands.leave()):
            await self._until_over()
        if following.done():
            await following

    def _explain(self, topic: str) -> None:
        """What may be said at all and at this moment, or the rules in short."""
        sight = self._visit.sight()
        if topic == "rules":
            self._shell.out.print(escape(RULES[sight.game]), soft_wrap=True)
            return
        self._shell.out.print(_HELP, soft_wrap=True, markup=False)
        now = [
            f"  {form}: {meaning}" if meaning else f"  {form}" for form, meaning in possible(sight)
        ]
        for said in now or ["  nothing but wait"]:
            self._shell.out.print(said, soft_wrap=True, markup=False)

    async def _carry_out(self, line: str) -> None:
        try:
            async with asyncio.timeout(PATIENCE_S):
                command = await self._possible(line)
        except NotUnderstoodError as error:
            self._complain(str(error))
        except TimeoutError:
            self._complain(f"`{line}` could not be done for {PATIENCE_S:g} s")
        else:
            if command is not None:
                await self._execute(command)

    async def _possible(self, line: str) -> Command | None:
        """The line's command as soon as the table offers it; `None` when the visit is over."""
        while not self._ended:
            self._happened.clear()
            try:
                command = self._visit.command(line)
            except NotNowError:
                command = None
            sight = self._visit.sight()
            # After `done` a bet is meant for the next hand.
            early = command is not None and command.HasField("place_bet")
            if command is not None and not (early and sight.table.hand_id == self._done_with):
                if command.HasField("done_betting"):
                    self._done_with = sight.table.hand_id
                return command
            await self._happened.wait()
        return None

    async def _execute(self, command: Command) -> bool:
        try:
            await self._visit.seat.execute(command)
        except (RefusedError, UnansweredError) as refusal:
            self._complain(str(refusal))
            return False
        return True

    def _cut(self) -> Command | None:
        """`cut 100` holds for every cut that will be offered; without it the dealer cuts."""
        if not self._visit.sight().options("cut_shoe"):
            return None
        return commands.cut_shoe(self._cut_place)

    async def _until_over(self) -> None:
        while not self._ended:
            self._happened.clear()
            await self._happened.wait()

    @property
    def _ended(self) -> bool:
        return self._visit.over or self._nothing_more

    def _no_more(self, _: object) -> None:
        self._nothing_more = True
        self._happened.set()

    async def _follow(self) -> None:
        visit = self._visit
        while not visit.over:
            chore = visit.chore() or self._cut()
            if chore is not None:
                await self._execute(chore)
            update = await visit.seat.next_update()
            for told in visit.take(update):
                self._shell.out.print(escape(told.sentence), soft_wrap=True)
                if told.why:
                    self._shell.out.print(escape(told.why), style="dim", soft_wrap=True)
            self._happened.set()

    def _complain(self, message: str) -> None:
        self._failed = True
        self._shell.err.print(escape(message), style="red")

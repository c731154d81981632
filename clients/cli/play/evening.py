"""From the door to the door: account, table, play, farewell."""

from __future__ import annotations

import contextlib

from clients.api import commands
from clients.api.errors import RefusedError, UnansweredError
from clients.api.seat import Seat
from clients.api.table import TableClient
from clients.cli.names import Names
from clients.cli.play.at_terminal import AtTerminal
from clients.cli.play.keyboard import piped_lines
from clients.cli.play.ready import balance_after, find_table, see_to_money
from clients.cli.play.screen import farewell
from clients.cli.play.scripted import Scripted
from clients.cli.play.visit import Visit
from clients.cli.shell import Shell

LEAVE_TIMEOUT_S = 3.0


async def play_evening(
    shell: Shell, game: str, table_id: str, buy_in_minor: int, at_terminal: bool
) -> bool:
    """Plays one visit; whether all that was asked could be done."""
    who = shell.player()
    good = True
    async with (
        shell.connect("table", who) as connection,
        TableClient(connection, who.subject) as client,
    ):
        table = await find_table(shell, client, game, table_id)
        chips_minor = await see_to_money(shell, who, table.currency, buy_in_minor)
        seat = await client.seat(table.table_id)
        if seat.sight().options("join"):
            await seat.execute(commands.join())
        visit = Visit(seat, Names(who.subject), chips_minor)
        try:
            if at_terminal:
                await AtTerminal(shell, visit).run()
            else:
                with piped_lines() as lines:
                    good = await Scripted(shell, visit, lines).run()
        finally:
            await _leave(seat)
        balance = await balance_after(shell, who, table.table_id)
    shell.out.print(farewell(visit.hands, visit.gain_minor, balance, visit.last_hand))
    return good


async def _leave(seat: Seat) -> None:
    """Nobody who has gone should keep the others waiting."""
    if seat.sight().options("leave"):
        with contextlib.suppress(RefusedError, UnansweredError):
            await seat.execute(commands.leave(), LEAVE_TIMEOUT_S)

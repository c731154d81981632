"""Before the first hand: an account with money on it, and a table with a free seat."""

from __future__ import annotations

import asyncio

from croupier.table.v1 import table_pb2 as pb
from croupier.type.v1.money_pb2 import Money

from clients.api.back_off import BackOff
from clients.api.errors import RefusedError
from clients.api.house import Identity
from clients.api.table import TableClient
from clients.api.wallet import WalletClient
from clients.cli.amounts import write_money
from clients.cli.shell import Shell
from clients.cli.tables import free_name

PLAY_MONEY_MINOR = 1_000_000
ANTE_MINOR = 500
CHIPS_BACK_TIMEOUT_S = 3.0
_CURRENCY = "CHF"


async def find_table(shell: Shell, client: TableClient, game: str, wanted: str) -> pb.TableSummary:
    """The table that is wanted, else the fullest of the game that has a free seat, else (next to a
    house of one's own) a new one."""
    tables = await client.tables()
    if wanted:
        for table in tables:
            if table.table_id == wanted:
                return _of_game(table, game)
        raise RefusedError("TABLE_NOT_FOUND", f"there is no table {wanted}", "table")
    free = [
        table
        for table in tables
        if table.game == game
        and table.status == pb.TABLE_STATUS_OPEN
        and table.seated < table.seats
    ]
    if free:
        return max(free, key=lambda table: (table.seated, table.hands_played))
    if not shell.house.may_be_anybody():
        raise RefusedError("TABLE_NOT_FOUND", f"no {game} table has a free seat")
    table_id = await free_name(client, game)
    async with shell.connect("table", shell.staff("operator")) as connection:
        ante = ANTE_MINOR if game == "draw_poker" else 0
        opened = await TableClient(connection).open_table(table_id, game, _CURRENCY, ante=ante)
    shell.err.print(f"No {game} table had a free seat: opened [bold]{table_id}[/].")
    return opened


async def see_to_money(shell: Shell, who: Identity, currency: str, needed_minor: int) -> int:
    """Makes sure of an account; what may be spent of it on chips, `needed_minor` at most.

    Next to a house of one's own an account that cannot pay gets play money.
    """
    async with shell.connect("wallet", who) as connection:
        wallet = WalletClient(connection)
        try:
            account = await wallet.account()
        except RefusedError as refusal:
            if refusal.reason != "ACCOUNT_NOT_FOUND":
                raise
            account = await wallet.open_account(currency)
            shell.err.print(f"Opened an account for you ([bold]{who.subject}[/]).")
        balance = account.balance.minor_units
    if balance < needed_minor and shell.house.may_be_anybody():
        balance = await _give_play_money(shell, who, currency)
    if balance <= 0:
        raise RefusedError("INSUFFICIENT_FUNDS", "there is no money on your account")
    return min(balance, needed_minor)


async def balance_after(shell: Shell, who: Identity, table_id: str) -> str:
    """What is on the account once the chips from the table are back on it; the wallet follows the
    table by a moment."""
    loop = asyncio.get_running_loop()
    give_up_at = loop.time() + CHIPS_BACK_TIMEOUT_S
    back_off = BackOff()
    async with shell.connect("wallet", who) as connection:
        wallet = WalletClient(connection)
        while True:
            account = await wallet.account()
            away = any(chips.table_id == table_id for chips in account.at_tables)
            if not away or loop.time() > give_up_at:
                return write_money(account.balance)
            await asyncio.sleep(back_off.next_s())


async def _give_play_money(shell: Shell, who: Identity, currency: str) -> int:
    async with shell.connect("wallet", shell.staff("operator")) as connection:
        money = Money(currency=currency, minor_units=PLAY_MONEY_MINOR)
        answer = await WalletClient(connection).deposit(who.subject, money, "play-money")
    shell.err.print(f"The house gives you {write_money(money)} of play money.")
    return answer.balance_after.minor_units


def _of_game(table: pb.TableSummary, game: str) -> pb.TableSummary:
    if table.game != game:
        raise RefusedError(
            "BAD_REQUEST", f"they play {table.game} at {table.table_id}, not {game}", "table"
        )
    return table

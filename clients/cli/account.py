"""`croupier account …`: money outside the tables."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar

import typer
from croupier.type.v1.money_pb2 import Money
from croupier.wallet.v1 import events_pb2
from croupier.wallet.v1 import wallet_pb2 as pb
from rich.markup import escape
from rich.table import Table

from clients.api.errors import RefusedError
from clients.api.house import Identity
from clients.api.wallet import WalletClient
from clients.cli.amounts import AmountError, parse_minor, write_minor, write_money
from clients.cli.shell import Shell, shell_of
from shared.events import to_json

Answer = TypeVar("Answer")
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Player = Annotated[str, typer.Option(help="Whose account (operators); else your own.")]
Amount = Annotated[str, typer.Argument(help="50 or 12.50")]
Note = Annotated[str, typer.Option(help="What it is for.")]


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    account = typer.Typer(help="Accounts and the money on them.", no_args_is_help=True)
    account.command("open")(open_account)
    account.command("deposit")(deposit)
    account.command("withdraw")(withdraw)
    account.command("show")(show)
    account.command("statement")(statement)
    app.add_typer(account, name="account")
    app.command("ledger")(ledger)


def open_account(
    context: typer.Context,
    player: Player = "",
    currency: Annotated[str, typer.Option(help="Three letters.")] = "CHF",
    as_json: Json = False,
) -> None:
    """Open an account, your own unless you are an operator who names another."""
    shell = shell_of(context)
    account = _ask(shell, _who(shell, player), lambda wallet: wallet.open_account(currency, player))
    _print_account(shell, account, as_json)


def deposit(
    context: typer.Context,
    amount: Amount,
    player: Player = "",
    currency: Annotated[str, typer.Option(help="Else the account's own.")] = "",
    note: Note = "",
    as_json: Json = False,
) -> None:
    """Put money on an account (operators; next to a house of one's own, anybody)."""
    shell = shell_of(context)
    whose = player or shell.player().subject

    async def put(wallet: WalletClient) -> pb.DepositResponse:
        return await wallet.deposit(whose, await _money(wallet, amount, currency, whose), note)

    answer = _ask(shell, shell.staff("operator"), put)
    if as_json:
        shell.print_json(answer)
    else:
        shell.out.print(f"Deposited. Balance: [bold]{write_money(answer.balance_after)}[/]")


def withdraw(
    context: typer.Context,
    amount: Amount,
    player: Player = "",
    currency: Annotated[str, typer.Option(help="Else the account's own.")] = "",
    note: Note = "",
    as_json: Json = False,
) -> None:
    """Take money off an account."""
    shell = shell_of(context)

    async def take(wallet: WalletClient) -> pb.WithdrawResponse:
        return await wallet.withdraw(await _money(wallet, amount, currency, player), player, note)

    answer = _ask(shell, _who(shell, player), take)
    if as_json:
        shell.print_json(answer)
    else:
        shell.out.print(f"Withdrawn. Balance: [bold]{write_money(answer.balance_after)}[/]")


def show(context: typer.Context, player: Player = "", as_json: Json = False) -> None:
    """What is on an account, and at which tables its chips are."""
    shell = shell_of(context)
    account = _ask(shell, _who(shell, player), lambda wallet: wallet.account(player))
    _print_account(shell, account, as_json)


def statement(
    context: typer.Context,
    player: Player = "",
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="The newest so many.")] = 20,
    as_json: Json = False,
) -> None:
    """The newest transfers of an account, each with the balance after it."""
    shell = shell_of(context)
    transfers = _ask(shell, _who(shell, player), lambda wallet: wallet.transfers(player, limit))
    if as_json:
        shell.print_json([to_json(transfer) for transfer in transfers])
        return
    grid = Table(box=None, header_style="bold dim", pad_edge=False)
    grid.add_column("when (UTC)")
    grid.add_column("what")
    grid.add_column("change", justify="right")
    grid.add_column("balance", justify="right")
    grid.add_column("hand or note")
    for transfer in transfers:
        gained = transfer.change.minor_units
        grid.add_row(
            transfer.at.ToDatetime().strftime("%Y-%m-%d %H:%M:%S"),
            _kind(transfer.transfer_kind),
            f"[{'green' if gained > 0 else 'red'}]{write_minor(gained, sign=True)}[/]",
            write_minor(transfer.balance_after.minor_units),
            transfer.hand_id or escape(transfer.note),
        )
    shell.out.print(grid)


def ledger(context: typer.Context, as_json: Json = False) -> None:
    """The sum of all accounts, which is zero unless something is wrong (exit status 1)."""
    shell = shell_of(context)
    books = _ask(shell, shell.staff("auditor"), lambda wallet: wallet.ledger())
    if as_json:
        shell.print_json(books)
    else:
        grid = Table(box=None, header_style="bold dim", pad_edge=False)
        grid.add_column("accounts")
        grid.add_column("number", justify="right")
        grid.add_column("total", justify="right")
        for total in books.totals:
            grid.add_row(total.account_kind, str(total.accounts), write_money(total.amount))
        for money in books.sums:
            grid.add_row("[bold]sum[/]", "", f"[bold]{write_money(money)}[/]")
        shell.out.print(grid)
    if any(money.minor_units for money in books.sums):
        raise typer.Exit(1)


def _ask(
    shell: Shell, who: Identity, question: Callable[[WalletClient], Awaitable[Answer]]
) -> Answer:
    async def ask() -> Answer:
        async with shell.connect("wallet", who) as connection:
            return await question(WalletClient(connection))

    return shell.run(ask())


def _who(shell: Shell, player: str) -> Identity:
    return shell.staff("operator") if player else shell.player()


async def _money(wallet: WalletClient, written: str, currency: str, player: str) -> Money:
    try:
        minor_units = parse_minor(written)
    except AmountError as error:
        raise RefusedError("BAD_AMOUNT", str(error), "amount") from error
    if not currency:
        currency = (await wallet.account(player)).balance.currency
    return Money(currency=currency, minor_units=minor_units)


def _print_account(shell: Shell, account: pb.Account, as_json: bool) -> None:
    if as_json:
        shell.print_json(account)
        return
    shell.out.print(f"{account.player}: [bold]{write_money(account.balance)}[/]")
    for chips in account.at_tables:
        shell.out.print(f"  chips at {chips.table_id}: {write_money(chips.amount)}")


def _kind(kind: int) -> str:
    name: str = events_pb2.TransferKind.Name(events_pb2.TransferKind.ValueType(kind))
    return name.removeprefix("TRANSFER_KIND_").replace("_", " ").lower()

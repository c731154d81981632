"""`croupier pit …`: what dealers, the pit and the management do at a table (TAB-08, TAB-12)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer
from croupier.table.v1 import table_pb2 as pb
from croupier.type.v1.money_pb2 import Money
from croupier.wallet.v1.wallet_pb2 import CorrectResponse
from rich.table import Table
from rich.text import Text

from clients.api import commands
from clients.api.errors import RefusedError
from clients.api.table import TableClient
from clients.api.wallet import WalletClient
from clients.cli.amounts import AmountError, parse_minor, write_minor, write_money
from clients.cli.felt import phase_text, seen_hands
from clients.cli.names import Names
from clients.cli.picture import card_text
from clients.cli.rules import INCIDENTS, OUTCOMES
from clients.cli.shell import Shell, shell_of
from clients.cli.story import tell
from clients.cli.tables import close_as
from shared.events import to_json

TableId = Annotated[str, typer.Argument(help="The table's id.")]
Player = Annotated[str, typer.Argument(help="A player's id, or the start of it.")]
Note = Annotated[str, typer.Option(help="Why; it is kept in the log, sealed.")]
Json = Annotated[bool, typer.Option("--json", help="Print the events as JSON.")]

_GAMES = ("baccarat", "battle", "casino_holdem", "oasis_poker", "draw_poker")


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    pit = typer.Typer(
        help="Incidents, penalties and rulings at a table (dealers, pit, management).",
        no_args_is_help=True,
    )
    for name, does in (
        ("incidents", incidents),
        ("show", show),
        ("report", report),
        ("confirm", confirm),
        ("void", void),
        ("correct", correct),
        ("warn", warn),
        ("fine", fine),
        ("remove", remove),
        ("close", close),
    ):
        pit.command(name)(does)
    app.add_typer(pit, name="pit")


def incidents(context: typer.Context) -> None:
    """What may be reported, and what it leads to at each game (TAB-08)."""
    grid = Table(box=None, header_style="bold dim", pad_edge=False)
    grid.add_column("incident")
    for game in _GAMES:
        grid.add_column(game)
    for incident, outcomes in INCIDENTS.items():
        grid.add_row(f"[bold]{incident}[/]", *outcomes)
    shell = shell_of(context)
    shell.out.print(grid)
    shell.out.print()
    for outcome, meaning in OUTCOMES.items():
        shell.out.print(f"[bold]{outcome}[/]: {meaning}", soft_wrap=True)


def show(context: typer.Context, table: TableId) -> None:
    """A table as the pit sees it: every card with its position, which `report --card` wants."""
    shell = shell_of(context)

    async def look() -> pb.TableView:
        async with shell.connect("table", shell.staff("pit")) as connection:
            return (await TableClient(connection).view(table)).table

    view = shell.run(look())
    names = Names()
    head = Text.assemble(
        (view.table.table_id, "bold"), f"  {view.table.game}  ", (phase_text(view), "cyan")
    )
    if view.hand_id:
        head.append(f"  hand {view.hand_id}", style="dim")
    shell.out.print(head)
    if view.HasField("incident"):
        waits = "" if view.incident.confirmed else ", waits to be confirmed"
        shell.out.print(f"[bold red]{view.incident.incident}[/]{waits}")
    grid = Table(box=None, header_style="bold dim", pad_edge=False)
    for heading in ("player", "chips", "boxes", ""):
        grid.add_column(heading, justify="right" if heading == "chips" else "left")
    for seat in view.seats:
        own = [str(box.box) for box in view.boxes if box.owner == seat.player]
        remark = "leaving" if seat.leaving else "sits out" if seat.sitting_out else ""
        chips = write_minor(seat.chips.minor_units)
        grid.add_row(seat.player, chips, " ".join(own), remark)
    shell.out.print(grid)
    owners = {f"box{box.box}": box.owner for box in view.boxes}
    for name, _ in seen_hands(view)[0] if view.hands else ():
        (hand,) = (one for one in view.hands if one.name == name)
        line = Text(f"{name:<8}", style="bold")
        for card in hand.cards:
            line.append(f"  {card.position} ", style="dim").append_text(card_text(card.card))
        if name in owners:
            line.append(f"  {names.of(owners[name])}", style="dim")
        shell.out.print(line)


def report(
    context: typer.Context,
    table: TableId,
    incident: Annotated[str, typer.Argument(help=", ".join(INCIDENTS))],
    card: Annotated[
        int | None, typer.Option(help="The exposed card's position (`croupier pit show`).", min=0)
    ] = None,
    note: Note = "",
    as_dealer: Annotated[
        bool, typer.Option("--as-dealer", help="The dealer reports; the pit may have to confirm.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Report an incident. What follows depends on the game: `croupier pit incidents`."""
    if incident not in INCIDENTS:
        raise typer.BadParameter(f"an incident is one of {', '.join(INCIDENTS)}")

    def make(view: pb.TableView) -> pb.Command:
        if incident == "card_exposed" and view.table.game == "draw_poker" and card is None:
            raise typer.BadParameter(
                "whose card? --card POSITION; `croupier pit show` lists positions"
            )
        return commands.report_incident(incident, card or 0, note)

    happened = _give(shell_of(context), table, make, "dealer" if as_dealer else "pit", as_json)
    if [event.type for event in happened] == ["IncidentReported"] and not as_json:
        shell_of(context).out.print(
            f"It waits for the pit: [bold]croupier pit confirm {table}[/]"
            if not happened[0].incident_reported.by_pit
            else "It waits for the cards that are on their way."
        )


def confirm(context: typer.Context, table: TableId, as_json: Json = False) -> None:
    """Confirm what a dealer reported."""
    _give(shell_of(context), table, lambda _: commands.confirm_incident(), "pit", as_json)


def void(context: typer.Context, table: TableId, note: Note = "", as_json: Json = False) -> None:
    """Management's ruling: the hand is void, every stake goes back (TAB-12)."""
    _give(shell_of(context), table, lambda _: commands.rule_void(note), "pit", as_json)


def correct(
    context: typer.Context,
    table: TableId,
    player: Annotated[str, typer.Argument(help="The player's id.")],
    amount: Annotated[str, typer.Argument(help="50 or 12.50")],
    hand: Annotated[str, typer.Option(help="The settled hand (`croupier hands`).")],
    take: Annotated[
        bool, typer.Option("--take", help="The player gives the amount, and does not get it.")
    ] = False,
    note: Annotated[str, typer.Option(help="A reference; it is kept in the log.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Management's ruling: correct a settled hand by a transfer of its own (TAB-12)."""
    shell = shell_of(context)
    minor_units = _minor(amount) * (-1 if take else 1)

    async def transfer() -> CorrectResponse:
        async with shell.connect("table", shell.staff("pit")) as connection:
            currency = (await TableClient(connection).view(table)).table.table.currency
        async with shell.connect("wallet", shell.staff("pit")) as connection:
            money = Money(currency=currency, minor_units=minor_units)
            return await WalletClient(connection).correct(player, table, hand, money, note)

    answer = shell.run(transfer())
    if as_json:
        shell.print_json(answer)
    else:
        shell.out.print(f"Corrected. Balance: [bold]{write_money(answer.balance_after)}[/]")


def warn(
    context: typer.Context, table: TableId, player: Player, note: Note = "", as_json: Json = False
) -> None:
    """Warn a player; it is on record (DRW-15)."""
    _penalise(context, table, player, "warning", note, as_json)


def fine(
    context: typer.Context,
    table: TableId,
    player: Player,
    amount: Annotated[str, typer.Argument(help="50 or 12.50")],
    note: Note = "",
    as_json: Json = False,
) -> None:
    """Fine a player: it is taken from his free chips, once no hand is played (DRW-15)."""
    _penalise(context, table, player, "fine", note, as_json, amount)


def remove(
    context: typer.Context, table: TableId, player: Player, note: Note = "", as_json: Json = False
) -> None:
    """Remove a player: he leaves with the running hand and may not come back (DRW-15)."""
    _penalise(context, table, player, "removal", note, as_json)


def close(context: typer.Context, table: TableId, note: Note = "") -> None:
    """Close a table: after the running hand all chips go back."""
    close_as("pit", context, table, note)


def _penalise(
    context: typer.Context,
    table: str,
    player: str,
    penalty: str,
    note: str,
    as_json: bool,
    amount: str = "",
) -> None:
    def make(view: pb.TableView) -> pb.Command:
        named = [seat.player for seat in view.seats if seat.player.startswith(player)]
        if player in named:
            named = [player]
        if len(named) != 1:
            seated = ", ".join(seat.player for seat in view.seats) or "nobody"
            raise typer.BadParameter(f"{player!r} is not one of those seated: {seated}")
        money = None
        if amount:
            money = Money(currency=view.table.currency, minor_units=_minor(amount))
        return commands.penalise(named[0], penalty, money, note)

    _give(shell_of(context), table, make, "pit", as_json)


def _minor(written: str) -> int:
    try:
        return parse_minor(written)
    except AmountError as error:
        raise RefusedError("BAD_AMOUNT", str(error), "amount") from error


def _give(
    shell: Shell, table: str, make: Callable[[pb.TableView], pb.Command], role: str, as_json: bool
) -> list[pb.TableEvent]:
    """Gives a command that is made with the table in view; prints, and returns, what it caused."""
    who = shell.staff(role)

    async def give() -> list[pb.TableEvent]:
        async with (
            shell.connect("table", who) as connection,
            TableClient(connection, who.subject) as client,
        ):
            seat = await client.seat(table, seeds=False)
            done = await seat.execute(make(seat.table))
            return [
                event
                for update in seat.unread()
                for event in update.events
                if done.first_version <= event.version <= done.version
            ]

    happened = shell.run(give())
    if as_json:
        shell.print_json([to_json(event) for event in happened])
        return happened
    names = Names()
    for event in happened:
        if said := tell(event, names):
            shell.out.print(Text(said), soft_wrap=True)
    return happened

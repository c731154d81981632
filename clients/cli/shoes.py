"""`croupier shoes`, `croupier disclosures`, `croupier disclose`."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

import typer
from croupier.audit.v1 import audit_pb2 as pb
from rich.markup import escape
from rich.table import Table

from clients.api.audit import AuditClient
from clients.cli.picture import cards_text
from clients.cli.shell import shell_of
from shared.events import to_json

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Limit = Annotated[int, typer.Option(min=1, max=100_000, help="The newest so many.")]
CARDS_A_LINE = 26


class Which(StrEnum):
    """Which shoes are listed."""

    ALL = "all"
    OPEN = "open"
    ABORTED = "aborted"
    UNCHECKED = "unchecked"
    FAILED = "failed"


_FILTERS = {
    Which.ALL: pb.SHOE_FILTER_UNSPECIFIED,
    Which.OPEN: pb.SHOE_FILTER_OPEN,
    Which.ABORTED: pb.SHOE_FILTER_ABORTED,
    Which.UNCHECKED: pb.SHOE_FILTER_UNCHECKED,
    Which.FAILED: pb.SHOE_FILTER_FAILED,
}


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command("shoes")(list_shoes)
    app.command("disclosures")(list_disclosures)
    app.command("disclose")(disclose)


def list_shoes(
    context: typer.Context,
    table: Annotated[str, typer.Option(help="Only shoes of this table.")] = "",
    which: Annotated[
        Which, typer.Option("--only", help="`aborted` also lists those never dealt from.")
    ] = Which.ALL,
    limit: Limit = 20,
    as_json: Json = False,
) -> None:
    """Account for every shoe that was ever opened: in use, played, given up, checked.

    Exit status 1 if one does not hold, or no table has asked for it.
    """
    shell = shell_of(context)

    async def ask() -> tuple[list[pb.Shoe], pb.ShoeTotals]:
        async with shell.connect("audit", shell.staff("auditor")) as connection:
            return await AuditClient(connection).shoes(table, _FILTERS[which], limit)

    shoes, totals = shell.run(ask())
    if as_json:
        shell.print_json({"totals": to_json(totals), "shoes": [to_json(shoe) for shoe in shoes]})
    else:
        if shoes:
            shell.out.print(_grid(shoes))
        for line in summary(totals):
            shell.out.print(line)
    if totals.failed or totals.not_requested:
        raise typer.Exit(1)


def summary(totals: pb.ShoeTotals) -> Sequence[str]:
    """Every opened shoe in one of the sums (markup)."""
    ended = (
        (totals.played, "played"),
        (totals.redeal, "changed for a redeal"),
        (totals.table_closed, "put away with their table"),
        (totals.log_recovered, "given up after a loss of the log"),
        (totals.aborted, "given up"),
    )
    parts = [f"{totals.open} open", *(f"{count} {words}" for count, words in ended if count)]
    lines = [
        f"[bold]{totals.opened}[/] shoes opened: {', '.join(parts)}; "
        f"{totals.never_dealt} of them never dealt from",
        f"{totals.seeds_used} players' seeds used, {totals.seeds_withheld} withheld",
    ]
    if totals.unchecked:
        lines.append(f"[yellow]{totals.unchecked} secret shoes are still to be derived again[/]")
    if totals.failed:
        lines.append(f"[bold red]✗ {totals.failed} shoes do not hold[/]")
    if totals.not_requested:
        lines.append(f"[bold red]✗ no table has asked for {totals.not_requested} shoes[/]")
    return lines


def list_disclosures(
    context: typer.Context,
    shoe: Annotated[str, typer.Option(help="Only this shoe.")] = "",
    limit: Limit = 20,
    as_json: Json = False,
) -> None:
    """Who has opened a shoe that your hands were dealt from, and why. Auditors see all."""
    shell = shell_of(context)

    async def ask() -> list[pb.Disclosure]:
        async with shell.connect("audit", shell.player()) as connection:
            return await AuditClient(connection).disclosures(shoe, limit)

    found = shell.run(ask())
    if as_json:
        shell.print_json([to_json(each) for each in found])
        return
    if not found:
        shell.err.print("Nobody has opened a shoe of your hands.")
        return
    grid = Table(box=None, header_style="bold dim", pad_edge=False)
    for heading in ("when (UTC)", "shoe", "who", "why", "hands"):
        grid.add_column(heading)
    for each in found:
        at = each.at.ToDatetime().strftime("%Y-%m-%d %H:%M:%S")
        grid.add_row(at, each.shoe_id, each.to, escape(each.why), " ".join(each.hand_ids))
    shell.out.print(grid)


def disclose(
    context: typer.Context,
    shoe: Annotated[str, typer.Argument(help="A retired shoe, as `croupier shoes` shows it.")],
    why: Annotated[str, typer.Option(help="The reason: the players concerned will read it.")],
    as_json: Json = False,
) -> None:
    """Open a retired shoe (auditors). That you did, and why, goes on record for its players."""
    shell = shell_of(context)

    async def ask() -> pb.DiscloseShoeResponse:
        async with shell.connect("audit", shell.staff("auditor")) as connection:
            return await AuditClient(connection).open_shoe(shoe, why)

    opened = shell.run(ask())
    if as_json:
        shell.print_json(opened)
        return
    shell.out.print(f"shoe [bold]{opened.shoe_id}[/], sealed as {opened.root.hex()}")
    cards = [proof.card for proof in opened.cards]
    for first in range(0, len(cards), CARDS_A_LINE):
        line = cards_text(cards[first : first + CARDS_A_LINE])
        shell.out.print(f"[dim]{first:3}[/] ", line)


def _grid(shoes: Sequence[pb.Shoe]) -> Table:
    grid = Table(box=None, header_style="bold dim", pad_edge=False)
    for heading in ("shoe", "opened (UTC)", "state", "cards", "hands", "seeds", "checked"):
        numbers = heading in ("cards", "hands", "seeds")
        grid.add_column(heading, justify="right" if numbers else "left")
    for shoe in shoes:
        since = shoe.opened_at if shoe.HasField("opened_at") else shoe.requested_at
        seeds = f"{len(shoe.seeds_used)}"
        if shoe.seeds_withheld:
            seeds += f" [yellow]−{len(shoe.seeds_withheld)}[/]"
        grid.add_row(
            shoe.shoe_id,
            since.ToDatetime().strftime("%Y-%m-%d %H:%M:%S"),
            state(shoe),
            f"{shoe.dealt}/{shoe.decks * 52}" if shoe.HasField("retired_at") else "",
            str(shoe.hands),
            seeds,
            checked(shoe),
        )
    return grid


def state(shoe: pb.Shoe) -> str:
    """What has become of the shoe, in words (markup)."""
    if shoe.HasField("retired_at"):
        words = shoe.retire_reason.replace("_", " ")
        if not shoe.dealt:
            words += ", never dealt"
        return f"[yellow]{words}[/]" if shoe.retire_reason == "aborted" else words
    if not shoe.HasField("opened_at"):
        return "asked for"
    return "in use" if shoe.HasField("sealed_at") else "made ready"


def checked(shoe: pb.Shoe) -> str:
    """Whether it is known to hold (markup)."""
    if not shoe.HasField("requested_at"):
        return "[bold red]✗ not asked for[/]"
    if shoe.HasField("checked_at"):
        return "[green]✓[/]" if shoe.holds else f"[bold red]✗ {escape('; '.join(shoe.findings))}[/]"
    if shoe.HasField("retired_at"):
        return "seed published" if shoe.publish else "[yellow]not yet[/]"
    return ""

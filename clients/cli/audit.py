"""`croupier hands`, `croupier replay`, `croupier verify`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

import typer
from croupier.audit.v1 import audit_pb2 as pb
from croupier.table.v1 import table_pb2
from rich.console import Console, RenderableType
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from clients.api.audit import AuditClient
from clients.api.table import TableClient
from clients.bots.closing import verify_everything
from clients.bots.progress import Verified
from clients.cli.checkpoints import Key, signed_notes
from clients.cli.picture import cards_text
from clients.cli.shell import Shell, shell_of
from shared.events import to_json

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
HandId = Annotated[str, typer.Argument(help="The hand's id, as `croupier hands` shows it.")]


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command("hands")(list_hands)
    app.command("replay")(replay_hand)
    app.command("verify")(verify)


def list_hands(
    context: typer.Context,
    table: Annotated[str, typer.Option(help="Only hands of this table.")] = "",
    player: Annotated[str, typer.Option(help="Only hands that this player played.")] = "",
    game: Annotated[str, typer.Option(help="Only hands of this game.")] = "",
    since: Annotated[datetime | None, typer.Option(help="Opened at or after (UTC).")] = None,
    until: Annotated[datetime | None, typer.Option(help="Opened before (UTC).")] = None,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="The newest so many.")] = 20,
    as_json: Json = False,
) -> None:
    """Hands, newest first: finished ones, and for auditors those that are played."""
    shell = shell_of(context)
    hands = shell.run(_find(shell, table, player, game, _utc(since), _utc(until), limit))
    if as_json:
        shell.print_json([to_json(hand) for hand in hands])
        return
    if not hands:
        shell.err.print("No such hands.")
        return
    grid = Table(box=None, header_style="bold dim", pad_edge=False)
    for heading in ("hand", "game", "number", "result", "ended (UTC)"):
        grid.add_column(heading, justify="right" if heading == "number" else "left")
    for hand in hands:
        voided = isinstance(hand, pb.Hand) and hand.voided
        ended = hand.HasField("ended_at")
        result = hand.result if ended else "[dim]is played[/]"
        grid.add_row(
            hand.hand_id,
            hand.game,
            str(hand.number),
            "[yellow]void[/]" if voided else result,
            hand.ended_at.ToDatetime().strftime("%Y-%m-%d %H:%M:%S") if ended else "",
        )
    shell.out.print(grid)
    shell.err.print(f"[dim]Look at one: croupier replay {hands[0].hand_id}[/]")


def replay_hand(context: typer.Context, hand: HandId, as_json: Json = False) -> None:
    """A hand step by step, with what each party could see."""
    shell = shell_of(context)

    async def ask() -> pb.ReplayHandResponse:
        async with shell.connect("audit", shell.staff("auditor")) as connection:
            return await AuditClient(connection).replay(hand)

    answer = shell.run(ask())
    if as_json:
        shell.print_json(answer)
        return
    for part in replay_lines(answer):
        shell.out.print(part)


def verify(
    context: typer.Context,
    hand: Annotated[str, typer.Argument(help="The hand's id.")] = "",
    everything: Annotated[
        bool, typer.Option("--all", help="Every hand, the chain and the ledger.")
    ] = False,
    table: Annotated[str, typer.Option(help="With --all: only this table.")] = "",
    against: Annotated[
        typer.FileText | None,
        typer.Option(
            encoding="utf-8",
            help="With --all: the log must be what these checkpoints were signed over.",
        ),
    ] = None,
    key: Key = "",
    as_json: Json = False,
) -> None:
    """Re-run a hand (or all) from the log and check its proofs, chain, postings and clocks.

    Exit status 1 if anything does not verify.
    """
    shell = shell_of(context)
    if bool(hand) == everything:
        raise typer.BadParameter("give a HAND or --all")
    if against is not None and (hand or table):
        raise typer.BadParameter("--against is for everything together", param_hint="--against")
    if everything:
        notes = shell.run(signed_notes(shell, against, key)) if against is not None else []
        good = _verify_all(shell, table, notes, as_json)
    else:
        good = _verify_one(shell, hand, as_json)
    if not good:
        raise typer.Exit(1)


def replay_lines(answer: pb.ReplayHandResponse) -> Sequence[RenderableType]:
    """The replay for people: one step after another, and what is seen wherever that changes."""
    hand = answer.hand
    heading = f"[bold]{hand.hand_id}[/]  {hand.game} hand {hand.number} at {hand.table_id}"
    result = "[yellow]void[/]" if hand.voided else f"[bold]{hand.result}[/]"
    grid = Table(box=None, show_header=False, pad_edge=False)
    grid.add_column(justify="right", style="dim", no_wrap=True)
    grid.add_column(justify="right", style="dim", no_wrap=True)
    grid.add_column(no_wrap=True)
    grid.add_column()
    seen: dict[str, dict[str, str]] = {}
    for step in answer.steps:
        began = answer.steps[0].recorded_at.ToDatetime()
        after_s = (step.recorded_at.ToDatetime() - began).total_seconds()
        mark = "[dim]·[/]" if step.derived else "[bold cyan]▸[/]"
        grid.add_row(
            f"{step.stream.partition('/')[0]} {step.version}",
            f"{after_s:+.3f} s",
            f"{mark} [bold]{step.type}[/]",
            escape(step.text),
        )
        changed: dict[tuple[tuple[str, str], ...], list[str]] = {}
        for sight in step.sights:
            cards = dict(sight.cards)
            if cards and cards != seen.get(sight.party):
                changed.setdefault(tuple(sorted(cards.items())), []).append(sight.party)
            seen[sight.party] = cards
        for held, parties in changed.items():
            grid.add_row("", "", "", _sight(parties, held))
    return [
        Text.from_markup(f"{heading}: {result}"),
        Text.from_markup(f"[dim]shoe {hand.shoe_id}, sealed as {answer.shoe_root.hex()}[/]"),
        Text(""),
        grid,
    ]


def _sight(parties: Sequence[str], held: Sequence[tuple[str, str]]) -> Text:
    line = Text(f"{', '.join(parties)} ", style="dim").append("see" if parties[1:] else "sees")
    for name, cards in held:
        line.append(f"  {name} ")
        line.append_text(cards_text(cards.split()))
    return line


async def _find(
    shell: Shell,
    table: str,
    player: str,
    game: str,
    since: datetime | None,
    until: datetime | None,
    limit: int,
) -> Sequence[pb.Hand | table_pb2.HandSummary]:
    who = shell.staff("auditor")
    if who.role != "auditor" and table and not (player or game or since or until):
        # Players see the hands of a table without the audit.
        async with shell.connect("table", who) as connection:
            return await TableClient(connection).hands(table, limit)
    async with shell.connect("audit", who) as connection:
        return await AuditClient(connection).hands(table, player, game, since, until, limit)


def _verify_one(shell: Shell, hand_id: str, as_json: bool) -> bool:
    async def ask() -> pb.VerifyHandResponse:
        async with shell.connect("audit", shell.staff("auditor")) as connection:
            return await AuditClient(connection).verify(hand_id)

    answer = shell.run(ask())
    if as_json:
        shell.print_json(answer)
        return answer.verified
    print_findings(shell.out, answer.findings)
    checks = ", ".join(check_name(check) for check in answer.checks_done)
    if answer.verified:
        shell.out.print(
            f"[green]✓[/] [bold]{hand_id}[/] verifies: {answer.events} events ({checks})"
        )
    else:
        shell.out.print(f"[bold red]✗ {hand_id} does not verify[/] ({checks})")
    return answer.verified


def _verify_all(shell: Shell, table: str, against: Sequence[str], as_json: bool) -> bool:
    with Progress(
        TextColumn("verifying"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=shell.err,
        transient=True,
    ) as bar:
        task = bar.add_task("verify", total=None)

        def show(answer: pb.VerifyAllResponse) -> None:
            bar.update(
                task,
                completed=answer.hands_verified + answer.hands_failed,
                total=answer.hands_total or None,
            )

        once = dict.fromkeys(against)  # A quiet house is saved with the same ones every time.
        verified = shell.run(
            verify_everything(shell.house, show, table, shell.staff("auditor"), once)
        )
    if as_json:
        shell.print_json(
            {
                "verified": verified.clean,
                "hands": verified.hands,
                "failed": verified.failed,
                "events": verified.events,
                "complete": verified.complete,
                "against": len(against),
                "findings": [to_json(finding) for finding in verified.findings],
            }
        )
    else:
        print_findings(shell.out, verified.findings)
        shell.out.print(verdict(verified))
        if against and verified.clean:
            shell.out.print(
                f"[green]✓[/] the log is what {len(against)} checkpoints were signed over"
            )
    return verified.clean


def verdict(verified: Verified) -> str:
    """What came of verifying everything, in a line (markup)."""
    if verified.clean:
        return (
            f"[green]✓[/] [bold]{verified.hands}[/] hands verify, "
            f"{verified.events} events checked, chain and ledger hold"
        )
    if not verified.complete:
        return f"[bold red]✗ the check did not come to its end[/] ({verified.hands} hands verified)"
    return (
        f"[bold red]✗ {verified.failed} hands do not verify[/], "
        f"{len(verified.findings)} findings, {verified.hands} hands do"
    )


def print_findings(console: Console, findings: Sequence[pb.Finding]) -> None:
    """Each finding with its place."""
    for finding in findings:
        if finding.stream:
            place = f"{finding.stream} version {finding.version}"
        elif finding.partition:
            place = f"{finding.partition} position {finding.position}"
        else:
            place = finding.hand_id
        console.print(
            f"[red]{check_name(finding.check)}[/] at [bold]{escape(place)}[/]: "
            f"{escape(finding.message)}"
        )


def check_name(check: int) -> str:
    """`cards due`."""
    return pb.Check.Name(pb.Check.ValueType(check)).removeprefix("CHECK_").replace("_", " ").lower()


def _utc(moment: datetime | None) -> datetime | None:
    return moment.replace(tzinfo=UTC) if moment and moment.tzinfo is None else moment

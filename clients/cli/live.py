"""`croupier run` on the screen: the hands as they are played, and what came of them."""

from __future__ import annotations

from types import TracebackType

from croupier.table.v1.table_pb2 import TableView
from rich.box import ROUNDED
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from clients.api.house import House
from clients.bots.progress import Ledger, Progress, Summary, TableProgress, Verified
from clients.cli.amounts import write_minor, write_money
from clients.cli.audit import print_findings, verdict
from clients.cli.felt import boxes_table, phase_text, players_line, road, small_cards
from clients.cli.names import Names
from clients.cli.story import result_line

REFRESH_PER_S = 12
LINE_EVERY_S = 2.0
_WIDTH = 100


class LiveScreen:
    """Shows a run while it lasts: on a terminal the tables themselves, else a line now and then."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._newest: Progress | None = None
        self._next_line_s = 0.0
        # Drawn when the screen is due, however many updates come in between.
        self._live = Live(
            console=console,
            refresh_per_second=REFRESH_PER_S,
            transient=True,
            get_renderable=self._picture,
        )

    def __enter__(self) -> LiveScreen:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.stop()

    def update(self, progress: Progress) -> None:
        """Takes the run's newest state."""
        self._newest = progress
        if not self._console.is_terminal and progress.elapsed_s >= self._next_line_s:
            self._next_line_s = progress.elapsed_s + LINE_EVERY_S
            self._console.print(progress_line(progress))

    def _picture(self) -> RenderableType:
        if self._newest is None:
            return Text("the bots are sitting down…", style="dim")
        return picture(self._newest, self._console)


def progress_line(progress: Progress) -> str:
    """`120 of 200 hands, 14.2 a second`."""
    wanted = f" of {progress.wanted}" if progress.wanted is not None else ""
    rate = progress.hands / progress.elapsed_s if progress.elapsed_s else 0.0
    return f"{progress.hands}{wanted} hands, {rate:.1f} a second"


def picture(progress: Progress, console: Console) -> RenderableType:
    """The whole screen: totals, then each table, as fully as the console has the height for."""
    names = Names(known=progress.names)
    width = min(console.width, _WIDTH)
    tables = [table for _, table in sorted(progress.tables.items())]
    for draw in (_table_panel, _table_lines, _table_line):
        parts = [_totals(progress, width), *(draw(table, names, width) for table in tables)]
        parts.append(_footer(progress))
        shown = Group(*parts)
        if len(console.render_lines(shown)) <= console.height:
            break
    return shown


def _footer(progress: Progress) -> Text:
    if progress.connected:
        return Text("Ctrl-C ends it cleanly. Join them: croupier play baccarat", style="dim")
    return Text("the house is away, coming back to it…", style="bold red")


def _totals(progress: Progress, width: int) -> RenderableType:
    minutes, seconds = divmod(int(progress.elapsed_s), 60)
    kept = progress.staked_minor - progress.returned_minor
    line = Text.assemble(
        ("Croupier", "bold green"),
        "   ",
        (progress_line(progress), "bold"),
        f"   {minutes}:{seconds:02d}   staked {write_minor(progress.staked_minor)}"
        f"   house {write_minor(kept, sign=True)} {progress.currency}",
    )
    if progress.wanted is None:
        return line
    bar = Table.grid()
    bar.add_row(ProgressBar(total=progress.wanted, completed=progress.hands, width=width))
    return Group(line, bar)


def _table_panel(table: TableProgress, names: Names, width: int) -> RenderableType:
    view = table.view
    parts: list[RenderableType] = [
        small_cards(view, names),
        _last_line(table),
        Text(""),
        boxes_table(view, names),
        players_line(view, names),
    ]
    if table.results and view.table.game == "baccarat":
        parts.append(road(table.results))
    return Panel(Group(*parts), title=_title(view), box=ROUNDED, width=width, padding=(0, 1))


def _table_lines(table: TableProgress, names: Names, width: int) -> RenderableType:
    """A table in a small panel: its cards and how the last hand ended."""
    parts = (small_cards(table.view, names), _last_line(table))
    return Panel(Group(*parts), title=_title(table.view), box=ROUNDED, width=width, padding=(0, 1))


def _table_line(table: TableProgress, names: Names, width: int) -> RenderableType:
    """A table in a line."""
    line = _title(table.view).append_text(_last_line(table))
    line.truncate(width, overflow="ellipsis")
    return line


def _title(view: TableView) -> Text:
    return Text.assemble(
        (f" {view.table.table_id} ", "bold"),
        (f"· hand {view.table.hands_played + 1} · ", "dim"),
        (phase_text(view), "cyan"),
        " ",
    )


def _last_line(table: TableProgress) -> Text:
    view = table.view
    if table.last is None:
        return Text()
    result = table.last
    line = Text(result_line(view.table.game, result, table.last_hands), style="bold yellow")
    staked = sum(bet.stake for bet in result.lines)
    returned = sum(bet.returned for bet in result.lines)
    line.append(f"   players {write_minor(returned - staked, sign=True)}", style="dim")
    return line.append(f"   {', '.join(result.clauses)}", style="dim")


def print_summary(
    console: Console, summary: Summary, ledger: Ledger, verified: Verified, house: House
) -> None:
    """What was played, whether it all holds, where everything is and what to try next."""
    grid = Table.grid(padding=(0, 2))
    for label, value in _facts(summary, ledger, verified):
        grid.add_row(Text(label, style="dim"), Text.from_markup(value))
    good = summary.ok(ledger, verified)
    console.print(
        Panel(
            grid,
            title="[bold green]everything holds[/]"
            if good
            else "[bold red]NOT EVERYTHING HOLDS[/]",
            border_style="green" if good else "red",
            box=ROUNDED,
            width=min(console.width, _WIDTH),
        )
    )
    print_findings(console, verified.findings)
    where = ", ".join(
        f"{service} {' '.join(nodes)}" for service, nodes in sorted(house.addresses.items())
    )
    console.print(f"[dim]addresses[/]  {where}")
    console.print("[dim]try next[/]   croupier hands · croupier replay HAND · croupier verify HAND")
    console.print("           croupier up, then croupier play baccarat")


def _facts(summary: Summary, ledger: Ledger, verified: Verified) -> list[tuple[str, str]]:
    rate = summary.hands / summary.elapsed_s if summary.elapsed_s else 0.0
    kept = summary.staked_minor - summary.returned_minor
    tables = ", ".join(f"{table} {hands}" for table, hands in sorted(summary.by_table.items()))
    facts = [
        (
            "played",
            f"[bold]{summary.hands} hands[/] in {summary.elapsed_s:.1f} s, {rate:.1f} a second "
            f"({tables}; {summary.bots} bots)",
        ),
        ("verified", verdict(verified)),
        ("ledger", _ledger(ledger)),
        (
            "staked",
            f"{write_minor(summary.staked_minor)} {summary.currency}, "
            f"the house {'won' if kept >= 0 else 'lost'} {write_minor(abs(kept))}",
        ),
    ]
    if summary.wanted is not None and summary.hands < summary.wanted:
        facts.append(("missing", f"[red]{summary.wanted - summary.hands} hands[/]"))
    if summary.still_seated:
        facts.append(("seated", f"[red]{summary.still_seated} bots could not leave[/]"))
    if summary.reconnects:
        facts.append(("reconnects", str(summary.reconnects)))
    if summary.refusals:
        counted = ", ".join(f"{reason} {n}" for reason, n in sorted(summary.refusals.items()))
        facts.append(("refused", counted))
    return facts


def _ledger(ledger: Ledger) -> str:
    sums = ", ".join(write_money(money) for money in ledger.sums) or "empty"
    if ledger.balanced:
        return f"[green]✓[/] all accounts together: [bold]{sums}[/]"
    if not ledger.caught_up:
        return f"[red]✗ wallet or audit have not caught up with the log[/] (sum so far {sums})"
    return f"[bold red]✗ all accounts together: {sums}[/]"

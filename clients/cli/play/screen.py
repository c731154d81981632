"""What somebody who plays sees."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from croupier.table.v1 import table_pb2 as pb
from rich.box import HEAVY, ROUNDED
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from clients.api.sight import Sight
from clients.cli.amounts import write_minor, write_money
from clients.cli.felt import (
    big_cards,
    boxes_table,
    clock_text,
    phase_text,
    players_line,
    pot_line,
    small_cards,
)
from clients.cli.names import Names
from clients.cli.play.words import possible
from clients.cli.rules import RULES
from clients.cli.story import clauses_line, own_lines, result_line

FRAME_MARGIN = 6
_HELP = (
    "Type what you want to do and press Enter; words may be shortened (`b 50` bets 50 on banker).\n"
    "[BOX] may be left out: a box of yours is taken. Cards have a rank and a suit: 2c 10d Qh As.\n"
    "`rules` explains the game, `help` hides this. Ctrl-C leaves after the hand, twice at once."
)


@dataclass(frozen=True, slots=True)
class Showing:
    """All that a screen shows. `story`: sentences, oldest first; `typed`: the line so far; `note`:
    what the last line led to; `topic`: `help` or `rules` where one was asked for; `unturned`:
    positions of cards that are still to be turned, which the result waits for; `mine`: the cards
    that the player had in the last hand, which he may go on looking at."""

    sight: Sight
    names: Names
    now: datetime
    story: Sequence[str] = ()
    typed: str = ""
    note: str = ""
    topic: str = ""
    connected: bool = True
    unturned: Collection[int] = ()
    mine: Mapping[str, pb.CardHand] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Room:
    """How much of it there is room for."""

    pictures: bool
    sentences: int
    clauses: bool
    gaps: bool


ROOMS = (
    Room(pictures=True, sentences=4, clauses=True, gaps=True),
    Room(pictures=True, sentences=2, clauses=True, gaps=False),
    Room(pictures=True, sentences=0, clauses=False, gaps=False),
    Room(pictures=False, sentences=2, clauses=True, gaps=False),
    Room(pictures=False, sentences=0, clauses=False, gaps=False),
)


def fitting(showing: Showing, console: Console, width: int) -> RenderableType:
    """The fullest screen that the console has the height for, so that the prompt is always seen."""
    for room in ROOMS:
        picture = screen(showing, width, room)
        if len(console.render_lines(picture)) <= console.height:
            break
    return picture


def screen(showing: Showing, width: int, room: Room = ROOMS[0]) -> RenderableType:
    """The table, what happened, what may be done, and the prompt."""
    sight, names, table = showing.sight, showing.names, showing.sight.table
    rule = Rule(style="grey35")
    if room.pictures:
        inside = width - FRAME_MARGIN
        cards = big_cards(table, sight.you, names, inside, showing.unturned, showing.mine)
    else:
        cards = small_cards(table, names, sight.you, showing.unturned, showing.mine)
    blocks: list[list[RenderableType]] = [
        [cards],
        [boxes_table(table, names)],
        [players_line(table, names), *pot_line(table)],
    ]
    if not table.hands and table.HasField("last_result") and not showing.unturned:
        blocks.append([last_result(table, names, room.clauses)])
    parts = blocks[0]
    for block in blocks[1:]:
        parts += [Text(""), *block] if room.gaps else block
    story = list(showing.story)[-room.sentences :] if room.sentences else []
    if story:
        parts += [rule, *(Text(line, style="dim") for line in story)]
    if showing.topic == "rules":
        parts += [Rule("rules in short", style="grey35"), Text(RULES.get(sight.game, ""))]
    parts += [Rule("you may", style="grey35"), choices(sight)]
    if showing.topic == "help":
        parts.append(Text(_HELP, style="italic"))
    parts += [rule, _prompt(showing.typed, showing.note, showing.connected)]
    return Panel(
        Group(*parts),
        title=title(table, showing.now),
        subtitle=_purse(sight),
        box=HEAVY if sight.options("decide") or sight.options("cut_shoe") else ROUNDED,
        border_style="green" if showing.connected else "red",
        width=width,
        padding=(0, 2),
    )


def title(table: pb.TableView, now: datetime) -> Text:
    """Table, hand, phase and clock."""
    number = table.table.hands_played + (1 if table.hand_id else 0)
    text = Text.assemble(
        (f" {table.table.name or table.table.table_id} ", "bold"),
        (f"· hand {number} · ", "dim"),
        (phase_text(table), "bold cyan"),
        " ",
    )
    clock = clock_text(table, now)
    return text.append_text(clock).append(" ") if clock else text


def last_result(table: pb.TableView, names: Names, clauses: bool = True) -> RenderableType:
    """How the last hand ended, why, and what it brought."""
    result = table.last_result
    staked, returned, said = own_lines(result, names.me)
    text = Text.assemble(
        (result_line(table.table.game, result, table.last_hands).capitalize(), "bold yellow")
    )
    if said:
        gain = returned - staked
        style = "bold green" if gain > 0 else "bold red" if gain < 0 else "bold"
        text.append(f"   you: {', '.join(said)}  ")
        text.append(write_minor(gain, sign=True), style=style)
    if clauses and result.clauses:
        text.append("\n" + clauses_line(result), style="dim")
    return text


def choices(sight: Sight) -> RenderableType:
    """What may be typed now."""
    lines = possible(sight)
    if not lines:
        return Text("wait", style="dim")
    grid = Table.grid(padding=(0, 3, 0, 0))
    for form, meaning in lines:
        grid.add_row(Text(form, style="bold cyan"), Text(meaning, style="dim"))
    return grid


def _prompt(typed: str, note: str, connected: bool) -> RenderableType:
    if not connected:
        return Text("the house is away, coming back to it…", style="bold red")
    line = Text.assemble(("> ", "bold green"), typed, ("▏", "blink"))
    return Group(line, Text(note or " ", style="yellow"))


def _purse(sight: Sight) -> Text:
    you = sight.you
    if sight.seat is None:
        return Text(" you are not seated ", style="dim")
    text = Text.assemble(
        " you have ",
        (write_money(you.chips), "bold green"),
        (f", {write_minor(you.free_chips.minor_units)} free", "dim"),
    )
    if you.pending_chips.minor_units:
        text.append(f", {write_minor(you.pending_chips.minor_units)} on the way", style="yellow")
    return text.append(" ")


def farewell(hands: int, gain_minor: int, balance: str, last_hand: str) -> Text:
    """Said when somebody has left."""
    text = Text.assemble(
        f"You played {hands} hand{'' if hands == 1 else 's'}: ",
        (write_minor(gain_minor, sign=True), "bold green" if gain_minor >= 0 else "bold red"),
        f". On your account: {balance}.",
    )
    if last_hand:
        text.append(f"\nCheck your last hand yourself: croupier verify {last_hand}", style="dim")
    return text

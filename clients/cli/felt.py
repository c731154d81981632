"""A table on the screen: cards, boxes, players, clock. The same view gives the same picture."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime

from croupier.table.v1 import table_pb2 as pb
from google.protobuf.timestamp_pb2 import Timestamp
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from clients.cli.amounts import write_minor
from clients.cli.names import Names
from clients.cli.picture import WIDTH, cards_text, draw
from clients.cli.story import holding, points

NO_HANDS: Mapping[str, pb.CardHand] = {}
_WARN_S = 10
_ORDER = ("player", "banker", "dealer", "board")
_PLACES = {"player": 3, "banker": 3, "board": 5}
_PHASES = {
    pb.PHASE_SHOE: "preparing the shoe",
    pb.PHASE_BETTING: "place your bets",
    pb.PHASE_DEALING: "dealing",
    pb.PHASE_DECIDING: "decisions",
    pb.PHASE_CLOSED: "closed",
}
_RESULT_STYLES = {"player": "bold blue", "banker": "bold red", "tie": "bold green"}


def phase_text(table: pb.TableView) -> str:
    """What the table does now, in a word or two."""
    if table.table.status == pb.TABLE_STATUS_CLOSING:
        return "closing"
    return _PHASES.get(table.table.phase, "")


def seen_hands(
    table: pb.TableView,
    you: pb.PlayerView | None = None,
    unturned: Collection[int] = (),
    mine: Mapping[str, pb.CardHand] = NO_HANDS,
) -> tuple[list[tuple[str, list[str]]], bool]:
    """Hands of cards by name in the order they are shown, and whether they are still in play.

    A viewer's own cards come from his view; where no cards lie, the last hand's are shown, and
    `mine`, those that he had in it, face up for him. Cards at the positions `unturned` are shown
    face down: the screen turns them one after another.
    """
    running = bool(table.hands)
    shown = {hand.name: hand for hand in (table.hands if running else table.last_hands)}
    if you is not None and running:
        shown |= {hand.name: hand for hand in you.hands}
    elif not running:
        shown |= {name: hand for name, hand in mine.items() if name in shown}
    hands = {
        name: ["" if card.position in unturned else card.card for card in hand.cards]
        for name, hand in shown.items()
    }
    rank = {name: place for place, name in enumerate(_ORDER)}
    names = sorted(hands, key=lambda name: (rank.get(name, len(rank)), name))
    return [(name, hands[name]) for name in names], running


def hand_label(
    name: str, cards: Sequence[str], board: Sequence[str], table: pb.TableView, names: Names
) -> Text:
    """`PLAYER 7`, `BOX 3  two pair · you`."""
    game = table.table.game
    label = Text(name.replace("box", "box ").upper(), style="bold")
    if game == "baccarat" and cards:
        label.append(f"  {points(cards)}", style="bold yellow")
    elif name != "board" and (holds := holding(game, cards, board)):
        label.append(f"  {holds}", style="bold yellow")
    for box in table.boxes:
        if name == f"box{box.box}":
            label.append(f" · {names.of(box.owner)}", style="dim")
            if box.box in table.deciding_boxes:
                label.append(" ◂ to decide", style="bold yellow")
    return label


def big_cards(
    table: pb.TableView,
    you: pb.PlayerView | None,
    names: Names,
    width: int,
    unturned: Collection[int] = (),
    mine: Mapping[str, pb.CardHand] = NO_HANDS,
) -> RenderableType:
    """The hands as pictures, as many side by side as the width has room for; others' in a line."""
    hands, running = seen_hands(table, you, unturned, mine)
    board = dict(hands).get("board", [])
    if not hands and table.table.game == "baccarat":
        hands = [("player", []), ("banker", [])]
    own = {f"box{box.box}" for box in table.boxes if box.owner == names.me}
    if not running:
        own = {f"box{line.box}" for line in table.last_result.lines if line.player == names.me}
    pictured = [(name, cards) for name, cards in hands if name in _ORDER or name in own]
    rest = [one for one in hands if one not in pictured]
    rows: list[RenderableType] = []
    row: list[RenderableType] = []
    used = 0
    for name, cards in pictured:
        places = max(len(cards), _PLACES.get(name, 2))
        needed = places * (WIDTH + 1) + 3
        if row and used + needed > width:
            rows.append(_side_by_side(row))
            row, used = [], 0
        label = hand_label(name, cards, board, table, names)
        row.append(Group(label, draw(cards, places)))
        used += needed
    if row:
        rows.append(_side_by_side(row))
    for name, cards in rest:
        line = Text.assemble(hand_label(name, cards, board, table, names), "  ")
        rows.append(line.append_text(cards_text(cards)))
    if not running and table.last_hands:
        rows.append(Text("the last hand's cards", style="dim italic"))
    return Group(*rows)


def small_cards(
    table: pb.TableView,
    names: Names,
    you: pb.PlayerView | None = None,
    unturned: Collection[int] = (),
    mine: Mapping[str, pb.CardHand] = NO_HANDS,
) -> RenderableType:
    """The hands in lines."""
    hands, _ = seen_hands(table, you, unturned, mine)
    board = dict(hands).get("board", [])
    grid = Table.grid(padding=(0, 2))
    cells = []
    for name, cards in hands:
        label = hand_label(name, cards, board, table, names)
        cells.append(Text.assemble(label, " ", cards_text(cards)))
    if table.table.game == "baccarat":
        grid.add_row(*cells)
    else:
        for cell in cells:
            grid.add_row(cell)
    if not cells:
        return Text("no cards yet", style="dim")
    return grid


def boxes_table(table: pb.TableView, names: Names) -> RenderableType:
    """Who has what on which box."""
    if not table.boxes:
        return Text("no bets yet", style="dim")
    if table.HasField("betting_round"):
        return _stakes_table(table.betting_round, names)
    grid = Table.grid(padding=(0, 2))
    for box in table.boxes:
        bets: dict[str, list[str]] = {}
        for bet in box.bets:
            bets.setdefault(bet.player, []).append(f"{bet.wager} {write_minor(bet.stake)}")
        said = ", ".join(
            f"{names.of(player)}: {' + '.join(lines)}" for player, lines in bets.items()
        )
        said = said or names.of(box.owner)
        mine = names.me in bets
        grid.add_row(
            Text(f"box {box.box}", style="bold" if mine else "dim"),
            Text(said + (" (blind)" if box.blind else ""), style="bold" if mine else ""),
        )
    return grid


def _stakes_table(betting: pb.BettingRoundView, names: Names) -> RenderableType:
    """What each has in the pot, and what he has still to call."""
    grid = Table.grid(padding=(0, 2))
    for stake in betting.stakes:
        mine = "bold" if stake.player == names.me else ""
        in_round = stake.in_round.minor_units
        missing = betting.level.minor_units - in_round
        said = Text()
        if stake.folded:
            said.append("folded", style="dim")
        elif missing:
            said.append(f"{write_minor(missing)} to call", style="yellow")
        grid.add_row(
            Text(f"box {stake.box}", style=mine or "dim"),
            Text(names.of(stake.player), style=mine),
            Text(f"{write_minor(stake.in_hand.minor_units)} in the pot", style=mine),
            Text(f"{write_minor(in_round)} this round" if in_round else ""),
            said,
        )
    return grid


def players_line(table: pb.TableView, names: Names) -> Text:
    """Who sits there with how many chips."""
    line = Text()
    for seat in table.seats:
        if line:
            line.append("   ")
        line.append(names.of(seat.player), style="bold" if seat.player == names.me else "")
        line.append(f" {write_minor(seat.chips.minor_units)}", style="green")
        if seat.owed.minor_units:
            line.append(f" (owes {write_minor(seat.owed.minor_units)})", style="dim")
        if seat.done_betting and table.table.phase == pb.PHASE_BETTING:
            line.append(" ✓", style="green")
        if seat.leaving:
            line.append(" leaving", style="dim")
        elif seat.sitting_out:
            line.append(" sits out", style="dim")
    return line or Text("nobody is seated", style="dim")


def pot_line(table: pb.TableView) -> list[Text]:
    """What lies in the middle: the pot of a table between players, else all stakes; nothing where
    there is none."""
    pot, carried = table.pot.minor_units, table.carried_pot.minor_units
    if not pot + carried:
        return []
    label = "pot " if table.table.game == "draw_poker" else "stakes "
    line = Text.assemble(label, (write_minor(pot + carried), "bold yellow"))
    if carried:
        much = f"{write_minor(carried)} " if pot else ""
        line.append(f" ({much}carried over)", style="dim")
    level = table.betting_round.level.minor_units
    if level:
        least = level + table.betting_round.least_raise.minor_units
        line.append(f"   highest bet {write_minor(level)}, a raise goes to {write_minor(least)}")
    return [line]


def clock_text(table: pb.TableView, now: datetime) -> Text:
    """How long the running clock has still got; empty where none runs."""
    left = seconds_left(table.deadline, now) if table.HasField("deadline") else None
    if left is None:
        return Text()
    warned = table.HasField("warn_at") and now >= table.warn_at.ToDatetime(UTC)
    style = "bold red" if warned or left <= _WARN_S else "bold"
    return Text(f"{left // 60}:{left % 60:02d} left", style=style)


def seconds_left(deadline: Timestamp, now: datetime) -> int:
    """Whole seconds to a deadline, at least 0."""
    return max(0, round((deadline.ToDatetime(UTC) - now).total_seconds()))


def road(results: Sequence[str]) -> Text:
    """The newest results of a table as a row of letters."""
    line = Text()
    for result in results:
        line.append(result[:1].upper() + " ", style=_RESULT_STYLES.get(result, "bold"))
    return line


def _side_by_side(parts: Sequence[RenderableType]) -> RenderableType:
    grid = Table.grid(padding=(0, 3, 0, 0))
    grid.add_row(*parts)
    return grid

"""Cards as pictures for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

WIDTH = 7
HEIGHT = 5

_SUITS = {"c": "♣", "d": "♦", "h": "♥", "s": "♠"}
_FACE = "on grey93"
_BACK = "grey78 on dark_blue"
_EDGE = "grey62 on grey93"
_UNKNOWN = frozenset({"", "??"})


def _color(card: str) -> str:
    return "red3" if card[1] in "dh" else "black"


def card_name(card: str) -> str:
    """`10♦`; `▒▒` for one that lies face down."""
    if card in _UNKNOWN:
        return "▒▒"
    rank = "10" if card[0] == "T" else card[0]
    return rank + _SUITS[card[1]]


def card_text(card: str) -> Text:
    """One card in a line of text, on white in its colour."""
    if card in _UNKNOWN:
        return Text(" ▒▒ ", style=_BACK)
    return Text(f" {card_name(card)} ", style=f"bold {_color(card)} {_FACE}")


def cards_text(cards: Sequence[str]) -> Text:
    """Several in a line."""
    return Text(" ").join(card_text(card) for card in cards)


def draw(cards: Sequence[str], places: int = 0) -> Text:
    """Cards side by side, five lines high; with `places` that many places are kept, empty where no
    card lies yet."""
    drawn = [_draw_one(card) for card in cards]
    drawn += [_empty()] * (places - len(cards))
    lines = [Text(" ").join(parts) for parts in zip(*drawn, strict=True)]
    return Text("\n").join(lines) if lines else Text("\n" * (HEIGHT - 1))


def _draw_one(card: str) -> list[Text]:
    if card in _UNKNOWN:
        return [
            Text("╭─────╮", style=_BACK),
            *(Text("│▒▒▒▒▒│", style=_BACK) for _ in range(HEIGHT - 2)),
            Text("╰─────╯", style=_BACK),
        ]
    rank, suit = card_name(card)[:-1], _SUITS[card[1]]
    style = f"bold {_color(card)} {_FACE}"
    rows = (f"{rank:<5}", f"  {suit}  ", f"{rank:>5}")
    return [
        Text("╭─────╮", style=_EDGE),
        *(Text.assemble(("│", _EDGE), (row, style), ("│", _EDGE)) for row in rows),
        Text("╰─────╯", style=_EDGE),
    ]


def _empty() -> list[Text]:
    return [
        Text("╭╌╌╌╌╌╮", style="grey35"),
        *(Text("╎     ╎", style="grey35") for _ in range(HEIGHT - 2)),
        Text("╰╌╌╌╌╌╯", style="grey35"),
    ]

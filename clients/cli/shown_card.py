"""`croupier verify-card`: whether cards are those that the seal of their shoe fixed, and whether a
published shoe is the one that its seeds make.

Checked here, by mathematics alone; clients/verify-card.mjs checks the same documents without any of
this code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from croupier.table.v1 import table_pb2 as pb
from rich.markup import escape

from clients.api.audit import AuditClient
from clients.api.errors import RefusedError
from clients.api.table import TableClient
from clients.cli.picture import card_text
from clients.cli.shell import Shell, shell_of
from clients.cli.whole_shoe import WholeShoe, of_document, readable
from clients.cli.whole_shoe import of_answer as whole_of_answer
from shared.cards import parse_card
from shared.proofs.shown_card import ShownCard, shown_card_holds

CARDS_PER_DECK = 52
_DECKS = {"baccarat": 8, "battle": 6}
"""What a shoe holds where the table has no setting of its own."""


@dataclass(frozen=True, slots=True)
class Sealed:
    """A shoe's seal, and cards that are said to be under it."""

    shoe_id: str
    decks: int
    root: bytes
    cards: tuple[ShownCard, ...]

    def holds(self, card: ShownCard) -> bool:
        """Whether the seal has this card at this position."""
        return shown_card_holds(self.root, self.shoe_id, self.decks * CARDS_PER_DECK, card)


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("verify-card")(verify_cards)


def verify_cards(
    context: typer.Context,
    file: Annotated[
        typer.FileText | None,
        typer.Argument(help="A document with cards and their proofs; - for standard input."),
    ] = None,
    hand: Annotated[str, typer.Option(help="Ask the house for the cards of this hand.")] = "",
    shoe: Annotated[
        str, typer.Option(help="Ask for all that this shoe, played and published, was made from.")
    ] = "",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the document, each card with `holds`.")
    ] = False,
) -> None:
    """Check shown cards against the root that sealed their shoe, whole shoes against their seeds.

    Exit status 1 if anything is wrong.
    """
    shell = shell_of(context)
    if (file is not None) + bool(hand) + bool(shoe) != 1:
        raise typer.BadParameter("give a FILE, --hand HAND or --shoe SHOE")
    whole = None
    if file is not None:
        sealed, whole = read_document(_text_of(file))
    elif hand:
        sealed = shell.run(_of_hand(shell, hand))
    else:
        whole = shell.run(_of_shoe(shell, shoe))
        sealed = Sealed(whole.shoe_id, whole.decks, whole.root, ())
    held = [sealed.holds(card) for card in sealed.cards]
    problems = list(whole.problems()) if whole is not None else []
    holds = all(held) and not problems and bool(held or whole)
    if as_json:
        told = (whole.document() if whole is not None else {}) | _document(sealed, held)
        shell.print_json(told | {"problems": problems, "holds": holds})
    else:
        _print(shell, sealed, held, whole, problems)
    if not holds:
        raise typer.Exit(1)


def read_document(text: str) -> tuple[Sealed, WholeShoe | None]:
    """`{"shoe_id", "decks", "root", "cards": [{"position", "card", "salt", "path"}]}`, hex bytes;
    with a server seed the whole shoe as well (docs/shuffle.md).

    Raises `RefusedError` `BAD_REQUEST` where it is not that.
    """
    try:
        document = json.loads(text)
        sealed = Sealed(
            shoe_id=readable(document["shoe_id"]),
            decks=int(document["decks"]),
            root=bytes.fromhex(document["root"]),
            cards=tuple(_read_card(card) for card in document["cards"]),
        )
        return sealed, of_document(document) if "server_seed" in document else None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise RefusedError("BAD_REQUEST", f"not a document of cards: {error!r}", "file") from error


def _text_of(file: typer.FileText) -> str:
    try:
        return file.read()
    except UnicodeDecodeError as error:
        raise RefusedError("BAD_REQUEST", "not a document of cards: no text", "file") from error


def of_answer(answer: pb.GetHandResponse) -> Sealed:
    """The cards of a hand that the caller may see, with their proofs."""
    opened = next(
        (event.hand_opened for event in answer.events if event.HasField("hand_opened")), None
    )
    if opened is None:
        raise RefusedError("NO_HAND", "no cards were dealt in this hand")
    decks = json.loads(opened.rules_json or "{}").get("decks", _DECKS.get(opened.game, 1))
    cards = tuple(
        ShownCard(proof.position, parse_card(proof.card), proof.salt, tuple(proof.path))
        for proof in sorted(answer.proofs, key=lambda proof: proof.position)
    )
    return Sealed(answer.shoe_id, decks, answer.shoe_root, cards)


async def _of_shoe(shell: Shell, shoe_id: str) -> WholeShoe:
    async with shell.connect("audit", shell.player()) as connection:
        return whole_of_answer(await AuditClient(connection).published_shoe(shoe_id))


async def _of_hand(shell: Shell, hand_id: str) -> Sealed:
    async with shell.connect("table", shell.player()) as connection:
        return of_answer(await TableClient(connection).hand(hand_id))


def _read_card(card: Mapping[str, Any]) -> ShownCard:
    return ShownCard(
        position=int(card["position"]),
        card=parse_card(card["card"]),
        salt=bytes.fromhex(card["salt"]),
        path=tuple(bytes.fromhex(node) for node in card["path"]),
    )


def _document(sealed: Sealed, held: list[bool]) -> dict[str, Any]:
    return {
        "shoe_id": sealed.shoe_id,
        "decks": sealed.decks,
        "root": sealed.root.hex(),
        "cards": [
            {
                "position": card.position,
                "card": str(card.card),
                "salt": card.salt.hex(),
                "path": [node.hex() for node in card.path],
                "holds": holds,
            }
            for card, holds in zip(sealed.cards, held, strict=True)
        ],
        "holds": bool(held) and all(held),
    }


def _print(
    shell: Shell, sealed: Sealed, held: list[bool], whole: WholeShoe | None, problems: list[str]
) -> None:
    shell.out.print(f"shoe [bold]{escape(sealed.shoe_id)}[/], sealed as {sealed.root.hex()}")
    if whole is not None:
        for line in whole.lines():
            shell.out.print(f"  {line}")
        for problem in problems:
            shell.out.print(f"  [bold red]✗ {escape(problem)}[/]")
        if not problems:
            shell.out.print("  [green]the seeds give the commitments, the cut and the seal[/]")
    for card, holds in zip(sealed.cards, held, strict=True):
        verdict = "[green]holds[/]" if holds else "[bold red]is NOT under this seal[/]"
        shell.out.print(f"  position {card.position:>3}  ", card_text(str(card.card)), verdict)
    if not held and whole is None:
        shell.err.print("There are no cards to check.")

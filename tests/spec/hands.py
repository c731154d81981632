"""Hands told in a few words: what the clause tests are written in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shared.cards import Card, parse_card
from shared.games.play import Cell, Deal, Decision, Decisions, Done, Due, Face, Game, Setup, Show
from shared.games.script import run_script

Result = dict[str, Any]


def cards(words: str) -> tuple[Card, ...]:
    """The cards written with blanks between them."""
    return tuple(parse_card(word) for word in words.split())


def box(owner: str = "ann", /, **bets: Any) -> dict[str, Any]:
    """A box of a script with the owner's wagers: `box("ann", player=100)`."""
    return {"owner": owner, "bets": {owner: bets}}


def shared(owner: str, **bets: dict[str, int]) -> dict[str, Any]:
    """A box of a script with several bettors: `shared("ann", ann={"stake": 5}, bob=…)`."""
    return {"owner": owner, "bets": bets}


def play(
    game: str,
    deck: str,
    boxes: dict[int, dict[str, Any]],
    decisions: str = "",
    **others: Any,
) -> Result:
    """The result of a script; decisions as `"1 fight, 2 surrender"` (see `decision`)."""
    return run_script(
        {
            "game": game,
            "deck": deck.split(),
            "boxes": {str(number): at_box for number, at_box in boxes.items()},
            "decisions": [decision(words) for words in decisions.split(",") if words.strip()],
            **others,
        }
    )


def decision(words: str) -> dict[str, Any]:
    """A script's decision: `"1 fight"`, `"2 raise 60"`, `"1 exchange 2c 3d"`, `"1 bet ann=200"`
    (insurance)."""
    number, do, *rest = words.split()
    made: dict[str, Any] = {"box": int(number), "do": do}
    if do == "exchange":
        made["cards"] = [word for word in rest if "=" not in word]
    for word in rest:
        if "=" in word:
            player, stake = word.split("=")
            made.setdefault("insurance", {})[player] = int(stake)
        elif do != "exchange":
            made["amount"] = int(word)
    return made


def reason(result: Result) -> str:
    """Why a script was refused."""
    return str(result["error"]["reason"])


def back(result: Result, number: int = 1, player: str = "ann") -> dict[str, int]:
    """What went back of each wager of a player on a box."""
    lines = result["boxes"][str(number)][player]
    return {line["bet"]: line["returned"] for line in lines}


def stakes(result: Result, number: int = 1, player: str = "ann") -> dict[str, int]:
    """What was staked on each wager of a player on a box."""
    lines = result["boxes"][str(number)][player]
    return {line["bet"]: line["stake"] for line in lines}


class Live:
    """A hand played as a table plays it: `step` tells what is due, cards come by themselves."""

    def __init__(self, rules: Game, settings: dict[str, Any], setup: Setup, deck: str) -> None:
        self.rules = rules
        self.deck = cards(deck)
        self.used = 0
        self.hand = rules.start(rules.settings(settings), setup)
        self.asked: list[Deal | Show] = []
        self._go_on()

    def decide(self, number: int, do: str, **parts: Any) -> None:
        """One decision, then the cards that it brings about."""
        self.hand = self.rules.decide(self.hand, Decision(number, do, **parts))
        self._go_on()

    @property
    def step(self) -> Decisions | Done:
        """The decisions due, or the result."""
        step = self.rules.next_step(self.hand)
        assert isinstance(step, Decisions | Done)
        return step

    @property
    def done(self) -> Done:
        """The result of a hand that is over."""
        assert isinstance(self.step, Done)
        return self.step

    @property
    def due(self) -> tuple[Due, ...]:
        """The boxes that may decide now."""
        assert isinstance(self.step, Decisions)
        return self.step.due

    def options(self) -> dict[int, list[str]]:
        """The words each box may say now."""
        return {due.box: [option.do for option in due.options] for due in self.due}

    def _go_on(self) -> None:
        while isinstance(step := self.rules.next_step(self.hand), Deal | Show):
            self.asked.append(step)
            if isinstance(step, Deal):
                self.hand = self.rules.dealt(self.hand, tuple(self._cells(step)))
            else:
                turned = (Cell(turn.position, self.deck[turn.position]) for turn in step.turns)
                self.hand = self.rules.shown(self.hand, tuple(turned))

    def _cells(self, deal: Deal) -> Iterator[Cell]:
        for slot in deal.slots:
            hidden = slot.face is Face.DOWN
            yield Cell(self.used, None if hidden else self.deck[self.used])
            self.used += 1

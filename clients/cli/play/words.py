"""What a person types at a table, as a command; and the other way, what may be typed now."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from croupier.table.v1.table_pb2 import Command, Option

from clients.api import commands
from clients.api.sight import Sight
from clients.cli.amounts import AmountError, parse_minor, write_minor
from clients.cli.names import Names
from clients.cli.picture import card_name


class NotUnderstoodError(ValueError):
    """Nothing that is known here."""


class NotNowError(ValueError):
    """It is known, and may be right later: the view does not offer it at the moment."""


def command_of(line: str, sight: Sight) -> Command:
    """The command that a line means in this view. Words may be shortened to where they are clear.

    Raises `NotNowError` or `NotUnderstoodError` with words for the person.
    """
    words = line.lower().split()
    if not words:
        raise NotUnderstoodError("say something, or `help`")
    decision = _decision(words, sight)
    if decision is not None:
        return decision
    bet = _bet(words, sight)
    if bet is not None:
        return bet
    verb = _complete(words[0], _VERBS)
    if verb is None:
        raise NotUnderstoodError(f"{words[0]!r} means nothing here; `help` tells what does")
    command, make = _VERBS[verb]
    if not sight.options(command):
        if verb == "done" and sight.options("take_back_bets"):
            said = sight.seat is not None and sight.seat.done_betting
            why = "you have said so already" if said else "what you bet on a box is too little"
            raise NotNowError(f"you cannot be done now: {why}")
        raise NotNowError(f"you cannot {verb} now")
    return make(words[1:], sight)


def possible(sight: Sight) -> list[tuple[str, str]]:
    """What may be typed now: each form with what it does."""
    lines: list[tuple[str, str]] = []
    stakes: dict[tuple[int, int], list[Option]] = {}
    for option in sight.options("place_bet"):
        stakes.setdefault((option.minimum, option.maximum), []).append(option)
    for (least, most), options in stakes.items():
        wagers = "|".join(dict.fromkeys(option.word for option in options))
        if least == most:
            lines.append((f"{wagers} [BOX]", write_minor(least)))
        else:
            lines.append((f"{wagers} AMOUNT [BOX]", f"{write_minor(least)} to {write_minor(most)}"))
    lines += _due(sight)
    cut = sight.options("cut_shoe")
    if cut:
        bounds = (
            f"cards above the cut, {cut[0].minimum} to {cut[0].maximum}; alone: the dealer cuts"
        )
        lines.append(("cut [CARDS]", bounds))
    for verb, shown, meaning in _SHOWN:
        command, _ = _VERBS[verb]
        offered = sight.options(command)
        if verb == "out":
            lines += _sitting_out(sight)
        elif offered:
            whom = f": {_players(offered, sight)}" if verb in _ABOUT_SOMEBODY else ""
            lines.append((shown, meaning + whom))
    return lines


def _sitting_out(sight: Sight) -> list[tuple[str, str]]:
    """Told between hands, when it matters."""
    if sight.seat is not None and sight.seat.sitting_out:
        return [("in", "plays again")]
    return [_OUT] if sight.options("done_betting") else []


_MEANING = {
    "look": "at your cards; no decision yet",
    "fold": "gives the hand up",
    "surrender": "gives up what lies on the box",
    "check": "bets nothing now",
    "keep": "plays on with the card that was exposed",
    "redeal": "has the hand dealt again",
}


def _due(sight: Sight) -> list[tuple[str, str]]:
    due = sight.options("decide")
    several = len({option.box for option in due}) > 1
    lines = []
    for option in due:
        form = option.word
        meaning = f"{write_minor(option.price)} more" if option.price else _MEANING.get(form, "")
        if option.counts:
            form += " CARDS…"
            meaning = f"{_numbers(option.counts)} cards, by name or by place from 1"
            if any(option.prices):
                priced = zip(option.counts, option.prices, strict=True)
                meaning = ", ".join(
                    f"{count} card{'s' * (count > 1)} for {write_minor(price)}"
                    for count, price in priced
                )
        elif option.maximum:
            form += " AMOUNT"
            bounds = f"{write_minor(option.minimum)} to {write_minor(option.maximum)}"
            meaning = f"{bounds} in this round"
        if option.insurance_max:
            form += " [insure AMOUNT]"
            most = sum(one.stake for one in option.insurance_max if one.player == sight.player)
            insured = f"insurance up to {write_minor(most)}" if most else ""
            meaning = ", ".join(filter(None, (meaning, insured)))
        if several:
            form += f" box {option.box}"
        lines.append((form, meaning))
    return lines


def _numbers(counts: Sequence[int]) -> str:
    """`0 to 3`, `1 or 2 or 5`."""
    if len(counts) > 2 and list(counts) == list(range(counts[0], counts[-1] + 1)):
        return f"{counts[0]} to {counts[-1]}"
    return " or ".join(str(count) for count in counts)


# ---- Decisions


def _decision(words: Sequence[str], sight: Sight) -> Command | None:
    """`fold`, `bet box 3`, `raise 40`, `exchange 2c td`, `bet insure 20`."""
    due = sight.options("decide")
    word = _complete(words[0], {option.word: option for option in due})
    if word is None:
        return None
    rest = list(words[1:])
    box = _take_number(rest, "box")
    insured = _take_amount(rest, "insure")
    option = next((one for one in due if one.word == word and box in (0, one.box)), None)
    if option is None:
        raise NotNowError(f"you cannot {word} on box {box} now")
    if option.counts:
        return commands.decide(option.box, word, positions=_positions(rest, sight, option))
    amount = None
    if rest and option.maximum:
        amount = sight.money(_amount(rest.pop(0)))
    elif option.maximum and option.minimum != option.maximum:
        raise NotUnderstoodError(f"how much? `{word} AMOUNT`")
    elif option.maximum:
        amount = sight.money(option.minimum)
    if rest:
        raise NotUnderstoodError(f"what is {rest[0]!r}?")
    insurance = {sight.player: insured} if insured else None
    return commands.decide(option.box, word, amount=amount, insurance=insurance)


def _positions(words: Sequence[str], sight: Sight, option: Option) -> list[int]:
    """Cards by name (`2c`, `10d`) or by place in the hand, from 1."""
    held = sight.placed_cards(f"box{option.box}")
    by_name = {}
    for place, (position, card) in enumerate(held, 1):
        by_name[str(card).lower()] = position
        by_name[card_name(str(card)).lower()] = position
        by_name[str(card).lower().replace("t", "10", 1)] = position
        by_name[str(place)] = position
    positions = []
    for word in words:
        if word not in by_name:
            raise NotUnderstoodError(f"you do not hold {word!r}")
        positions.append(by_name[word])
    return positions


# ---- Bets


def _bet(words: Sequence[str], sight: Sight) -> Command | None:
    """`banker 50`, `bet banker 50`, `b 50 3` or, where there is one wager only, `bet 50`."""
    rest = list(words)
    spoken = _complete(rest[0], ("bet",)) is not None and len(rest[0]) > 1
    if spoken:
        rest.pop(0)
    offered: dict[str, Option] = {}
    for option in sight.options("place_bet"):
        offered.setdefault(option.word, option)
    wager = _complete(rest[0], offered) if rest else None
    if wager is not None:
        rest.pop(0)
    elif spoken and len(offered) == 1 and rest:
        wager = next(iter(offered))
    elif spoken or (len(rest) > 1 and any(one.startswith(rest[0]) for one in _WAGERS)):
        if not offered:
            raise NotNowError("no bets can be placed now")
        raise NotUnderstoodError(f"bet on {', '.join(offered)}: `{next(iter(offered))} AMOUNT`")
    else:
        return None
    fixed = offered[wager].minimum == offered[wager].maximum
    stake = _stake(rest, offered[wager], fixed)
    blind = "blind" in rest
    rest = [word for word in rest if word not in ("on", "box", "blind")]
    boxes = [option.box for option in sight.options("place_bet", wager)]
    box = sight.free_box()
    if rest:
        box = _number(rest.pop(0))
    elif 0 not in boxes and box not in boxes:
        box = boxes[0]
    if rest:
        raise NotUnderstoodError(f"what is {rest[0]!r}?")
    return commands.place_bet(box, wager, sight.money(stake), blind)


def _stake(rest: list[str], option: Option, fixed: bool) -> int:
    """Takes the amount out of the words; where there is only one it may be left out."""
    if fixed and (not rest or rest[0] in ("on", "box") or _amount(rest[0]) != option.minimum):
        return option.minimum
    if not rest:
        raise NotUnderstoodError(f"how much? `{option.word} AMOUNT`")
    return _amount(rest.pop(0))


_WAGERS = ("player", "banker", "tie", "ante", "bonus", "stake", "entry")


# ---- The rest


def _join(words: Sequence[str], sight: Sight) -> Command:
    return commands.join()


def _leave(words: Sequence[str], sight: Sight) -> Command:
    return commands.leave()


def _done(words: Sequence[str], sight: Sight) -> Command:
    return commands.done_betting()


def _buy(words: Sequence[str], sight: Sight) -> Command:
    if not words:
        raise NotUnderstoodError("how much? `buy AMOUNT`")
    return commands.buy_chips(sight.money(_amount(words[0])))


def _cash(words: Sequence[str], sight: Sight) -> Command:
    return commands.cash_out(sight.money(_amount(words[0])) if words else None)


def _back(words: Sequence[str], sight: Sight) -> Command:
    boxes = [option.box for option in sight.options("take_back_bets")]
    return commands.take_back_bets(_number(words[0]) if words else boxes[0])


def _cut(words: Sequence[str], sight: Sight) -> Command:
    return commands.cut_shoe(_number(words[0]) if words else 0)


def _out(words: Sequence[str], sight: Sight) -> Command:
    return commands.sit_out(True)


def _in(words: Sequence[str], sight: Sight) -> Command:
    return commands.sit_out(False)


def _admit(words: Sequence[str], sight: Sight) -> Command:
    box = _number(words[1]) if len(words) > 1 else 0
    offered = [one for one in sight.options("admit_bettor") if box in (0, one.box)]
    if not offered:
        raise NotNowError(f"nobody can be let in on box {box} now")
    guest = _somebody(words, offered, sight)
    return commands.admit_bettor(guest.box, guest.word)


def _object(words: Sequence[str], sight: Sight) -> Command:
    return commands.object_to_join(_somebody(words, sight.options("object_to_join"), sight).word)


def _somebody(words: Sequence[str], offered: Sequence[Option], sight: Sight) -> Option:
    """The option of the player whom the first word names, by the start of his id; without a word
    that of the only one there is."""
    named = [one for one in offered if not words or one.word.lower().startswith(words[0])]
    if len({one.word for one in named}) != 1:
        raise NotUnderstoodError(f"whom? {_players(offered, sight)}")
    return named[0]


def _players(offered: Sequence[Option], sight: Sight) -> str:
    names = Names(sight.player)
    return ", ".join(dict.fromkeys(names.of(option.word) for option in offered))


_Make = Callable[[Sequence[str], Sight], Command]

_VERBS: dict[str, tuple[str, _Make]] = {
    "join": ("join", _join),
    "leave": ("leave", _leave),
    "done": ("done_betting", _done),
    "buy": ("buy_chips", _buy),
    "cash": ("cash_out", _cash),
    "back": ("take_back_bets", _back),
    "cut": ("cut_shoe", _cut),
    "out": ("sit_out", _out),
    "in": ("sit_out", _in),
    "admit": ("admit_bettor", _admit),
    "object": ("object_to_join", _object),
}
_OUT = ("out", "sits out, the seat stays yours; `in` again later")
_SHOWN = (
    ("join", "join", "sit down"),
    ("done", "done", "no more bets from you"),
    ("back", "back [BOX]", "take your bets back"),
    ("buy", "buy AMOUNT", "chips from your account"),
    ("cash", "cash [AMOUNT]", "chips back to it"),
    ("admit", "admit PLAYER [BOX]", "lets another bet on your box"),
    ("object", "object PLAYER", "to one who wants to join"),
    ("out", *_OUT),
    ("leave", "leave", "after this hand, chips and all"),
)
_ABOUT_SOMEBODY = frozenset({"admit", "object"})


def _complete(word: str, known: Collection[str]) -> str | None:
    """The known word that `word` is, or is the only one to begin with it."""
    if word in known:
        return word
    fitting = [one for one in known if one.startswith(word)]
    return fitting[0] if len(fitting) == 1 else None


def _amount(word: str) -> int:
    try:
        return parse_minor(word)
    except AmountError as error:
        raise NotUnderstoodError(str(error)) from None


def _number(word: str) -> int:
    if not word.isdecimal() or len(word) > 9:
        raise NotUnderstoodError(f"{word!r} is no number")
    return int(word)


def _take_number(words: list[str], marker: str) -> int:
    """Takes `marker N` out of the words; 0 where it is not there."""
    if marker not in words:
        return 0
    at = words.index(marker)
    if at + 1 >= len(words):
        raise NotUnderstoodError(f"which {marker}?")
    number = _number(words[at + 1])
    del words[at : at + 2]
    return number


def _take_amount(words: list[str], marker: str) -> int:
    """Takes `marker AMOUNT` out of the words; 0 where it is not there."""
    if marker not in words:
        return 0
    at = words.index(marker)
    if at + 1 >= len(words):
        raise NotUnderstoodError(f"{marker} how much?")
    amount = _amount(words[at + 1])
    del words[at : at + 2]
    return amount

"""Commands to a table, each with an id of its own made here."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping

from croupier.table.v1 import events_pb2
from croupier.table.v1.table_pb2 import (
    AdmitBettor,
    BuyChips,
    CashOut,
    Command,
    ConfirmIncident,
    CutShoe,
    Decide,
    DoneBetting,
    JoinTable,
    LeaveTable,
    ObjectToJoin,
    Penalise,
    PlaceBet,
    PledgeSeed,
    ReportIncident,
    RevealSeed,
    RuleVoid,
    SitOut,
    TakeBackBets,
)
from croupier.type.v1.money_pb2 import Money


def join() -> Command:
    """Takes a seat."""
    return Command(command_id=_id(), join=JoinTable())


def leave() -> Command:
    """After the running hand: chips are cashed and the seat is free."""
    return Command(command_id=_id(), leave=LeaveTable())


def sit_out(sitting_out: bool) -> Command:
    """Stays seated without being waited for, or comes back."""
    return Command(command_id=_id(), sit_out=SitOut(sitting_out=sitting_out))


def buy_chips(amount: Money) -> Command:
    """Asks for chips from one's account."""
    return Command(command_id=_id(), buy_chips=BuyChips(amount=amount))


def cash_out(amount: Money | None = None) -> Command:
    """Sends chips back to one's account; all that may be cashed where no amount is given."""
    return Command(command_id=_id(), cash_out=CashOut(amount=amount))


def place_bet(
    box: int, wager: str, stake: Money, blind: bool = False, done: bool = False
) -> Command:
    """Stakes on a wager of a box, in place of what was on it. `done`: it is the last bet of this
    player in this hand, as `done_betting` would say."""
    return Command(
        command_id=_id(),
        place_bet=PlaceBet(box=box, wager=wager, stake=stake, blind=blind, done=done),
    )


def take_back_bets(box: int) -> Command:
    """Takes one's bets off a box while betting is open."""
    return Command(command_id=_id(), take_back_bets=TakeBackBets(box=box))


def admit_bettor(box: int, bettor: str) -> Command:
    """Lets another player bet on one's box."""
    return Command(command_id=_id(), admit_bettor=AdmitBettor(box=box, bettor=bettor))


def done_betting() -> Command:
    """No more bets in this hand."""
    return Command(command_id=_id(), done_betting=DoneBetting())


def cut_shoe(place: int) -> Command:
    """Cuts with `place` cards above the cut; 0 leaves it to the dealer."""
    return Command(command_id=_id(), cut_shoe=CutShoe(place=place))


def pledge_seed(shoe_id: str, commitment: bytes) -> Command:
    """Commits to a seed for a shoe that is not cut yet."""
    pledge = PledgeSeed(shoe_id=shoe_id, commitment=commitment)
    return Command(command_id=_id(), pledge_seed=pledge)


def reveal_seed(seed: bytes) -> Command:
    """Opens it."""
    return Command(command_id=_id(), reveal_seed=RevealSeed(seed=seed))


def decide(
    box: int,
    action: str,
    amount: Money | None = None,
    positions: Iterable[int] = (),
    insurance: Mapping[str, int] | None = None,
) -> Command:
    """A decision for a box: a word of the view's options, with what it needs."""
    return Command(
        command_id=_id(),
        decide=Decide(
            box=box,
            action=action,
            amount=amount,
            positions=positions,
            insurance=[
                events_pb2.InsuranceStake(player=player, stake=stake)
                for player, stake in (insurance or {}).items()
            ],
        ),
    )


def object_to_join(player: str) -> Command:
    """At a table between players: one does not want this one there (TAB-10)."""
    return Command(command_id=_id(), object_to_join=ObjectToJoin(player=player))


def report_incident(incident: str, position: int = 0, note: str = "") -> Command:
    """Dealers and the pit: something went wrong at the table (TAB-08)."""
    return Command(
        command_id=_id(),
        report_incident=ReportIncident(incident=incident, position=position, note=note),
    )


def confirm_incident() -> Command:
    """The pit confirms what a dealer reported."""
    return Command(command_id=_id(), confirm_incident=ConfirmIncident())


def penalise(player: str, penalty: str, amount: Money | None = None, note: str = "") -> Command:
    """The pit: `warning`, `fine` (of an amount) or `removal` (DRW-15)."""
    return Command(
        command_id=_id(),
        penalise=Penalise(player=player, penalty=penalty, amount=amount, note=note),
    )


def rule_void(note: str) -> Command:
    """Management voids the running hand (TAB-12)."""
    return Command(command_id=_id(), rule_void=RuleVoid(note=note))


def _id() -> str:
    return str(uuid.uuid4())

"""What follows by itself between the last bet and the first card: cut, seal, burn, the hand."""

from __future__ import annotations

from collections.abc import Sequence

from shared.games import draw_entries
from shared.games.play import Face
from shared.table import events as e
from shared.table.apply_hand import BURN
from shared.table.state import Betting, Shoe, TableState


def before_deal(state: TableState, betting: Betting) -> e.Derived | None:
    """A new shoe is cut, sealed and burned; then the hand opens with all that it starts from."""
    shoe = state.shoe
    if shoe is None:
        return shoe_requested(state)
    if shoe.spoiled:
        return e.ShoeFinished(shoe.shoe_id, "redeal")
    if not shoe.offered or state.cards is not None:
        return None
    if not shoe.sealed:
        return _cut(state, betting, shoe)
    burn = _burn(state, shoe)
    return burn if burn is not None else _hand_opened(state, betting, shoe)


def shoe_requested(state: TableState) -> e.ShoeRequested:
    """A shoe under an id that follows from where its request stands."""
    shoe_id = f"{state.table.table_id}-s{state.version + 1}"
    return e.ShoeRequested(shoe_id, state.table.decks, state.table.shoe_rules.publish_seed)


def _cut(state: TableState, betting: Betting, shoe: Shoe) -> e.Derived | None:
    clocks = state.table.clocks
    if shoe.cut_decided:
        if shoe.cut_recorded and not shoe.seeds_over and not shoe.seeds_deadline:
            return e.SeedsDue(state.now + clocks.seed_ms * 1000)
        return None
    if shoe.cut_deadline:
        return None
    box = None if shoe.cut_offered else _cutting_box(state, sorted(betting.owners))
    if box is None:  # it was declined or ran out of time, or nobody is to be asked
        return e.CutLeftToDealer()
    low, high = state.table.shoe_rules.cut_range(state.table.decks * 52)
    return e.CutOffered(
        player=betting.owners[box],
        box=box,
        minimum=low,
        maximum=high,
        deadline=state.now + clocks.cut_ms * 1000,
    )


def _cutting_box(state: TableState, boxes: Sequence[int]) -> int | None:
    """The lowest occupied box, moving on by one box each shoe (TAB-09); at draw poker that to the
    right of the last winner's (DRW-02)."""
    if state.table.between_players:
        return draw_entries.cutting_box(boxes, state.pot.winners)
    return next((box for box in boxes if box > state.last_cut_box), boxes[0])


def _burn(state: TableState, shoe: Shoe) -> e.CardsDue | None:
    """The burn of a new shoe: so many face down, or a first card that tells how many (BAC-03)."""
    rules = state.table.shoe_rules
    if not shoe.burn_started and rules.burn_by is not None:
        return e.CardsDue(shoe.shoe_id, (e.CardSlot(shoe.next_position, BURN, Face.UP),))
    count = shoe.burn_left if shoe.burn_started else rules.burn
    if not count:
        return None
    return e.CardsDue(
        shoe.shoe_id,
        tuple(e.CardSlot(shoe.next_position + n, BURN, Face.DOWN) for n in range(count)),
    )


def _hand_opened(state: TableState, betting: Betting, shoe: Shoe) -> e.HandOpened:
    table = state.table
    bettors = dict.fromkeys(player for _, player, _, _ in betting.bets)
    stacks = tuple(e.Stack(p, state.seats[p].chips - state.seats[p].owed) for p in bettors)
    if not table.between_players:
        return e.HandOpened(
            hand_id=betting.hand_id,
            number=betting.number,
            game=table.game.NAME,
            rules_version=table.game.VERSION,
            rules_json=table.rules_json,
            shoe_id=shoe.shoe_id,
            next_position=shoe.next_position,
            boxes=boxes_of(betting),
            stacks=stacks,
        )
    pot = state.pot
    boxes = sorted(betting.owners)
    return e.HandOpened(
        hand_id=betting.hand_id,
        number=betting.number,
        game=table.game.NAME,
        rules_version=table.game.VERSION,
        rules_json=table.rules_json,
        shoe_id=shoe.shoe_id,
        next_position=shoe.next_position,
        boxes=tuple(e.BoxBets(box, betting.owners[box]) for box in boxes),
        stacks=stacks,
        ante=table.ante,
        first=draw_entries.first_dealt(boxes, pot.winners, pot.carried > 0),
        carried_pot=pot.carried,
        entries=tuple(e.Entry(box, paid) for box, _, _, paid in sorted(betting.bets)),
        entry=betting.entry,
    )


def boxes_of(betting: Betting) -> tuple[e.BoxBets, ...]:
    """The bets as the boxes stand, ascending (TAB-01), each bettor's in the order placed."""
    return tuple(
        e.BoxBets(
            box,
            betting.owners[box],
            tuple(
                [
                    e.BetLine(player, wager, stake)
                    for number, player, wager, stake in betting.bets
                    if number == box
                ]
            ),
            box in betting.blind,
        )
        for box in sorted(betting.owners)
    )

"""One person's visit to a table: sitting down, chips, what happened so far."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from croupier.table.v1.table_pb2 import CardHand, Command, TableEvent, Update

from clients.api import commands
from clients.api.seat import Seat
from clients.api.sight import Sight
from clients.cli.amounts import write_minor
from clients.cli.names import Names
from clients.cli.play.words import command_of
from clients.cli.story import clauses_line, own_lines, result_line, tell

MOST_SENTENCES = 200


@dataclass(frozen=True, slots=True)
class Told:
    """A sentence, and the clauses behind it where it is a result."""

    sentence: str
    why: str = ""


class Visit:
    """Follows the seat's updates: the sentences to tell, hands played and what they brought."""

    def __init__(self, seat: Seat, names: Names, buy_in_minor: int) -> None:
        self.seat = seat
        self.names = names
        self.story: deque[str] = deque(maxlen=MOST_SENTENCES)
        self.hands = 0
        self.gain_minor = 0
        self.last_hand = ""
        self.over = False
        """Whether the player has left, or the table is closed."""
        self.mine: dict[str, CardHand] = {}
        """The player's own cards of the hand that runs, or ran last."""
        self._mine_of = ""
        self._complained: set[str] = set()
        self._buy_in_minor = buy_in_minor
        self._bought = False
        self._sat_down = seat.seated

    def take(self, update: Update) -> list[Told]:
        """What an update says."""
        me = self.seat.player
        if update.table.hands:
            if update.table.hand_id != self._mine_of:
                self.mine, self._mine_of = {}, update.table.hand_id
            self.mine |= {hand.name: hand for hand in update.you.hands}
        told = [
            Told(sentence, clauses_line(event.hand_settled))
            for event in update.events
            if (sentence := self._tell(event, update))
        ]
        for event in update.events:
            if event.HasField("hand_settled"):
                staked, returned, said = own_lines(event.hand_settled, me)
                if said:
                    self.hands += 1
                    self.gain_minor += returned - staked
                    self.last_hand = event.hand_settled.hand_id
            elif event.HasField("commission_taken") and event.commission_taken.player == me:
                self.gain_minor -= event.commission_taken.taken
            elif (
                event.HasField("table_closed")
                or (event.HasField("player_left") and event.player_left.player == me)
                or (event.HasField("join_failed") and event.join_failed.player == me)
            ):
                self.over = True
        for shoe_id, what in self.seat.complaints.items():
            if shoe_id not in self._complained:
                self._complained.add(shoe_id)
                told.append(Told(f"Beware: {what} (shoe {shoe_id})."))
        if self.seat.seated:
            self._sat_down = True
        elif self._sat_down:
            self.over = True  # It happened while the stream was down, and a snapshot came instead.
        self.story.extend(one.sentence for one in told)
        return told

    def _tell(self, event: TableEvent, update: Update) -> str:
        if not event.HasField("hand_settled"):
            return tell(event, self.names)
        game, hands = update.table.table.game, update.table.last_hands
        staked, returned, said = own_lines(event.hand_settled, self.seat.player)
        result = result_line(game, event.hand_settled, hands).capitalize() + "."
        if not said:
            return result
        return f"{result} You: {', '.join(said)} ({write_minor(returned - staked, sign=True)})."

    def chore(self) -> Command | None:
        """The first chips: bought without being asked, as soon as that may be."""
        sight = self.seat.sight()
        if not self._bought and sight.seat is not None:
            if sight.you.chips.minor_units or sight.you.pending_chips.minor_units:
                self._bought = True
            elif sight.options("buy_chips") and self._buy_in_minor:
                self._bought = True
                return commands.buy_chips(sight.money(self._buy_in_minor))
        return None

    def command(self, line: str) -> Command:
        """What a typed line means now; raises as `command_of` does."""
        return command_of(line, self.seat.sight())

    def leaving(self) -> bool:
        """Whether the seat will be free after the hand."""
        seat = self.seat.sight().seat
        return seat is not None and seat.leaving

    def sight(self) -> Sight:
        """What the player sees now."""
        return self.seat.sight()

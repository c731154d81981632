"""Hands played through the services' own code, without a wire between them: the table's core and
envelope, shuffle's shoes, the wallet's decisions. What comes of it is the log of a real house.

`House` works over any log; what shuffle and the wallet keep beside it is given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, Protocol
from uuid import UUID, uuid4, uuid5

import pytest

from services.shuffle import decide as ask
from services.shuffle.shoe import RetireReason, Use
from services.shuffle.shoes import Request, Shoes
from services.table.proposal import Proposal, as_append
from shared.cards import parse_card
from shared.games.play import Face
from shared.log import EventLog, Outcome
from shared.sealing import Keyring
from shared.table import events as e
from shared.table.apply_hand import BURN
from shared.table.codec import TableCodec
from shared.table.decide import decide
from shared.table.next_step import (
    Cards,
    Chips,
    OpenShoe,
    PutAway,
    RecordCut,
    SealShoe,
    next_step,
)
from shared.table.sealer import KeyringSealer
from shared.table.state import TableState

FIELD_KEYS = Keyring("k1", {"k1": bytes(range(32))})
SEED_KEYS = Keyring("s1", {"s1": bytes(range(32, 64))})
CLOCKS = e.Clocks(
    betting_ms=60_000,
    decision_warn_ms=180_000,
    decision_default_ms=120_000,
    cut_ms=60_000,
    seed_ms=60_000,
    entry_ms=30_000,
    consent_ms=15_000,
    grace_ms=10_000,
)
_WHY = {
    "played": RetireReason.PLAYED,
    "redeal": RetireReason.REDEAL,
    "table_closed": RetireReason.TABLE_CLOSED,
}
Bet = tuple[str, int, str, int]
"""Player, box, wager, stake."""


class Wallet(Protocol):
    """The wallet as far as a table needs it."""

    async def open(self, player: str, amount: int) -> None:
        """An account with so much in it."""

    async def follow(self) -> None:
        """Applies what the tables have written."""

    async def answer(self, request_id: UUID) -> bool:
        """Whether a buy-in was funded (else it was refused)."""


@dataclass
class House:
    """Plays tables. `now` tells the time in microseconds."""

    log: EventLog
    shoes: Shoes
    wallet: Wallet
    now: Callable[[], int]
    codec: TableCodec = field(default_factory=lambda: TableCodec(KeyringSealer(FIELD_KEYS)))
    tables: dict[str, TableState] = field(default_factory=dict)

    async def open_table(self, table_id: str = "t1", game: str = "baccarat", ante: int = 0) -> None:
        self.tables[table_id] = TableState()
        name, now = table_id.upper(), self.now()
        opened = e.TableOpened(table_id, name, game, 1, "{}", "EUR", CLOCKS, 5, now, ante, True)
        await self.write(table_id, opened)
        await self.give(table_id, e.TableClaimed("node-1", 1))

    async def seat(self, table_id: str, player: str, chips: int) -> None:
        """A player with an account joins and buys chips."""
        await self.wallet.open(player, chips)
        await self.give(table_id, e.JoinAsked(player))
        await self.give(table_id, e.ChipsRequested(player, chips))

    async def play(self, table_id: str, *bets: Bet, cut: int = 0) -> str:
        """One hand, from the bets to the settlement; its id. A cut that is offered is made at
        `cut` (0: declined)."""
        betting = self.tables[table_id].betting
        assert betting is not None
        for player, box, wager, stake in bets:
            await self.give(table_id, e.BetPlaced(player, box, wager, stake))
        for player in dict.fromkeys(player for player, *_ in bets):
            if (open_ := self.tables[table_id].betting) is not None and not open_.closed:
                await self.give(table_id, e.BetsDone(player))
        shoe = self.tables[table_id].shoe
        if shoe is not None and shoe.cut_deadline:
            await self.give(table_id, e.CutChosen(shoe.cut_player, cut))
        return betting.hand_id

    async def give(self, table_id: str, fact: Any, actor: str = "player:ann") -> None:
        """One input at the table, now, and all the errands that follow from it."""
        await self.write(table_id, replace(fact, at=self.now()), actor)
        await self.run_errands(table_id)

    async def write(self, table_id: str, fact: Any, actor: str = "house") -> None:
        """One input at the table as it is, without its errands."""
        before = self.tables[table_id]
        events, after = decide(before, fact)
        proposal = Proposal(lambda at: fact, actor, uuid4())
        append, _ = as_append(self.codec, f"table/{table_id}", before, events, proposal)
        [answer] = await self.log.append([append])
        assert answer.outcome is Outcome.OK
        self.tables[table_id] = after

    async def run_errands(self, table_id: str) -> None:
        """Whatever the table waits for, until it waits for its players."""
        while True:
            errands = next_step(self.tables[table_id]).errands
            if not errands:
                return
            fact = await self._answer_to(table_id, errands[0])
            await self.write(table_id, replace(fact, at=self.now()))

    async def _answer_to(self, table_id: str, errand: Any) -> Any:
        asker = ask.Asker(table_id, self.tables[table_id].epoch)
        match errand:
            case OpenShoe():
                size = errand.decks * 52
                opened = await self.shoes.open(
                    _request(errand.shoe_id, errand.request_id),
                    asker,
                    errand.decks,
                    (errand.cut_low, size - errand.cut_high),
                    errand.behind_cut_card,
                    errand.publish,
                )
                return e.ShoeOffered(errand.shoe_id, opened.commitment)
            case RecordCut():
                return e.CutRecorded(errand.shoe_id, await self._cut(asker, errand))
            case SealShoe():
                return await self._seal(table_id, asker, errand)
            case Cards():
                draws = tuple(_draw(slot) for slot in errand.slots)
                dealt = await self.shoes.deal(
                    _request(errand.shoe_id, errand.request_id),
                    ask.Deal(asker, errand.hand_id, draws),
                )
                shown = {card.position: parse_card(card.card) for card in dealt.cards}
                cards = tuple(
                    e.DealtCard(s.position, s.hand, s.face, s.viewer, shown.get(s.position))
                    for s in errand.slots
                )
                return e.CardsDealt(errand.request_id, cards)
            case PutAway():
                why = _WHY.get(errand.why, RetireReason.ABORTED)
                await self.shoes.retire(_request(errand.shoe_id, errand.request_id), asker, why)
                return e.ShoePutAway(errand.shoe_id)
            case Chips():
                await self.wallet.follow()
                funded = await self.wallet.answer(UUID(errand.request_id))
                kind = e.ChipsArrived if funded else e.ChipsDenied
                return kind(errand.player, errand.amount, errand.request_id)
        raise AssertionError(errand)

    async def _cut(self, asker: ask.Asker, errand: RecordCut) -> int:
        for player, commitment in errand.pledges:
            request = _request(errand.shoe_id, _part(errand.request_id, f"pledge/{player}"))
            await self.shoes.commit_seed(request, asker, player, commitment)
        request = _request(errand.shoe_id, _part(errand.request_id, "cut"))
        return (await self.shoes.cut(request, asker, errand.player, errand.place)).at

    async def _seal(self, table_id: str, asker: ask.Asker, errand: SealShoe) -> e.ShoeReady:
        shoe = self.tables[table_id].shoe
        assert shoe is not None
        place = shoe.cut_place
        if errand.record is not None:
            place = await self._cut(asker, errand.record)
        for player, seed in errand.reveals:
            request = _request(errand.shoe_id, _part(errand.request_id, f"reveal/{player}"))
            await self.shoes.open_seed(request, asker, player, seed)
        sealed = await self.shoes.seal(
            _request(errand.shoe_id, _part(errand.request_id, "seal")), asker
        )
        size = self.tables[table_id].table.decks * 52
        return e.ShoeReady(
            errand.shoe_id, sealed.root, size, place, tuple(sealed.used), tuple(sealed.withheld)
        )


def same_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shoes of the same id get the same cards every time, for tests that count on what is dealt:
    with these seeds no hand of table "t1" among the first ten is a tie."""
    seed = sha256(b"the same every night").digest()
    monkeypatch.setattr("services.shuffle.shoes.secrets.token_bytes", lambda count: seed[:count])


def _request(shoe_id: str, request_id: str) -> Request:
    return Request(UUID(request_id), bytes(32), "table/x", "node-1", uuid4(), shoe_id)


def _part(request_id: str, part: str) -> str:
    return str(uuid5(UUID(request_id), part))


def _draw(slot: e.CardSlot) -> ask.Draw:
    burn = slot.hand == BURN
    uses = {
        Face.UP: Use.BURN_OPEN if burn else Use.OPEN,
        Face.DOWN: Use.BURN if burn else Use.DOWN,
        Face.OWNER: Use.PLAYER,
    }
    return ask.Draw(slot.position, uses[slot.face], slot.viewer)

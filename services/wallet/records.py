"""The wallet's decisions as events of its log."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from croupier.type.v1.money_pb2 import Money as MoneyMessage
from croupier.wallet.v1 import events_pb2 as wallet_events
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from services.wallet.domain import Posting, Refused, Transfer
from services.wallet.table_events import BuyIn
from shared.log import NewEvent, RecordedEvent
from shared.money import Money

_ACTOR = "wallet"


@dataclass(frozen=True, slots=True)
class Cause:
    """Why an event is written: who acts, which event it answers, which request it is part of."""

    actor: str
    causation_id: UUID | None
    correlation_id: UUID | None

    @classmethod
    def of(cls, event: RecordedEvent) -> Cause:
        """An event of a table is the cause, and the wallet acts by itself."""
        return cls(_ACTOR, event.id, event.correlation_id)

    def event(self, body: Message, hand_id: str | None = None) -> NewEvent:
        """The event with this body."""
        return NewEvent(
            type=body.DESCRIPTOR.name,
            payload=body.SerializeToString(),
            actor=self.actor,
            hand_id=hand_id,
            causation_id=self.causation_id,
            correlation_id=self.correlation_id,
        )


def account_opened(player: str, currency: str, at: datetime, cause: Cause) -> NewEvent:
    """A player has an account now."""
    return cause.event(
        wallet_events.AccountOpened(player=player, currency=currency, at=timestamp(at))
    )


def transfer_posted(transfer: Transfer, at: datetime, cause: Cause) -> NewEvent:
    """Money has moved."""
    body = wallet_events.TransferPosted(
        transfer_id=str(transfer.id),
        transfer_kind=wallet_events.TransferKind.ValueType(transfer.kind),
        currency=transfer.currency,
        postings=[posting_message(posting) for posting in transfer.postings],
        at=timestamp(at),
        hand_id=transfer.hand_id,
        note=transfer.note,
    )
    return cause.event(body, transfer.hand_id or None)


def chips_answer(
    asked: BuyIn, currency: str, decision: Transfer | Refused, cause: Cause
) -> NewEvent:
    """What the table hears of the chips it asked for."""
    answer = wallet_events.ChipsFunded(
        table_id=asked.table_id,
        player=asked.player,
        amount=money_message(Money(currency, asked.amount)),
        request_id=str(cause.causation_id),
    )
    if isinstance(decision, Transfer):
        return cause.event(answer)
    return cause.event(
        wallet_events.ChipsRefused(
            table_id=answer.table_id,
            player=answer.player,
            amount=answer.amount,
            request_id=answer.request_id,
            reason=decision.reason,
        )
    )


def posting_message(posting: Posting) -> wallet_events.Posting:
    """A leg as the wire and the log write it."""
    return wallet_events.Posting(
        account=posting.account,
        minor_units=posting.minor_units,
        balance_after=posting.balance_after,
        sequence=posting.sequence,
    )


def money_message(amount: Money) -> MoneyMessage:
    """An amount as the wire and the log write it."""
    return MoneyMessage(currency=amount.currency, minor_units=amount.minor_units)


def timestamp(moment: datetime) -> Timestamp:
    """A time, to the microsecond, as the wire and the log write it."""
    stamp = Timestamp()
    stamp.FromDatetime(moment)
    return stamp

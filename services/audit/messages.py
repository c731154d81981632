"""What the service says, as the messages of audit.proto."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from croupier.audit.v1 import audit_pb2 as pb

from services.audit.check_all import Progress
from services.audit.enquiries import IndexedHand
from services.audit.replay import Replay, Step
from services.audit.rows import stamp
from services.audit.verify.findings import Check, Finding, Read
from shared.events import UnknownEventError, UnreadableEventError, decode, to_json
from shared.log import RecordedEvent


def hand_message(hand: IndexedHand) -> pb.Hand:
    return pb.Hand(
        hand_id=hand.hand_id,
        table_id=hand.table_id,
        game=hand.game,
        number=hand.number,
        shoe_id=hand.shoe_id,
        result=hand.result or "",
        players=hand.players,
        opened_at=stamp(hand.opened_at),
        ended_at=stamp(hand.ended_at),
        voided=hand.voided,
    )


def replayed_hand_message(hand_id: str, reads: Sequence[Read], told: Replay) -> pb.Hand:
    betting = next((read for read in reads if read.event.type == "BettingOpened"), None)
    opened, ended = told.opened, told.ended
    begun = opened or betting
    return pb.Hand(
        hand_id=hand_id,
        table_id=begun.event.stream.removeprefix("table/") if begun is not None else "",
        game=opened.body.game if opened is not None else "",
        number=begun.body.number if begun is not None else 0,
        shoe_id=told.shoe_id,
        result=ended.body.result if ended is not None and ended.event.type == "HandSettled" else "",
        players=told.players,
        opened_at=stamp(begun.event.recorded_at if begun is not None else None),
        ended_at=stamp(ended.event.recorded_at if ended is not None else None),
        voided=ended is not None and ended.event.type == "HandVoided",
    )


def step_message(step: Step) -> pb.ReplayHandResponse.Step:
    event = step.event
    return pb.ReplayHandResponse.Step(
        stream=event.stream,
        version=event.version,
        partition=event.partition,
        position=event.position,
        type=event.type,
        recorded_at=stamp(event.recorded_at),
        actor=event.actor,
        derived=step.derived,
        body_json=step.body_json,
        text=step.text,
        sights=[
            pb.ReplayHandResponse.Sight(party=party, cards=cards)
            for party, cards in step.sights.items()
        ],
    )


def event_message(event: RecordedEvent) -> pb.ListEventsResponse.Event:
    return pb.ListEventsResponse.Event(
        partition=event.partition,
        position=event.position,
        stream=event.stream,
        version=event.version,
        type=event.type,
        hand_id=event.hand_id or "",
        actor=event.actor,
        recorded_at=stamp(event.recorded_at),
        body_json=_body_json(event),
        hash=event.hash,
    )


def _body_json(event: RecordedEvent) -> str:
    """The body as JSON; null where this version cannot read it."""
    try:
        body = to_json(decode(event.type, event.payload))
    except (UnknownEventError, UnreadableEventError):
        return "null"
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def finding_message(finding: Finding) -> pb.Finding:
    return pb.Finding(
        check=pb.Check.ValueType(finding.check),
        hand_id=finding.hand_id,
        stream=finding.stream,
        version=finding.version,
        partition=finding.partition,
        position=finding.position,
        message=finding.message,
    )


def progress_message(progress: Progress, total: int) -> pb.VerifyAllResponse:
    return pb.VerifyAllResponse(
        hands_verified=progress.hands,
        # The index may be behind the log.
        hands_total=max(total, progress.hands),
        findings=map(finding_message, progress.findings),
        done=progress.done,
        events_checked=progress.events,
        hands_failed=len(progress.failed),
        checks_done=check_numbers(progress.checks if progress.done else ()),
    )


def check_numbers(checks: Iterable[Check]) -> list[pb.Check.ValueType]:
    return [pb.Check.ValueType(check) for check in checks]

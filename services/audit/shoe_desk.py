"""What people ask the audit about shoes: what became of each, and to look at one."""

from __future__ import annotations

from typing import Any

import asyncpg
from croupier.audit.v1 import audit_pb2 as pb
from croupier.type.v1.card_pb2 import CardProof

from services.audit.evidence import PAGE_EVENTS, decoded
from services.audit.rows import stamp
from services.audit.shoe_enquiries import DisclosureLine
from services.audit.verify.findings import Check, Finding
from services.audit.verify.shoe import ShoeRecord
from shared.errors import CroupierError
from shared.log import EventLog
from shared.proofs.sealed_shoe import SealedShoe
from shared.sealing import Keyring


async def read_shoe(log: EventLog, keyring: Keyring, shoe_id: str) -> ShoeRecord:
    """The shoe as its stream tells it; nothing of it is set where there is none."""
    record = ShoeRecord(shoe_id, keyring)
    ignored: list[Finding] = []
    while True:
        events = await log.read_stream(f"shuffle/{shoe_id}", record.version, PAGE_EVENTS)
        for read in decoded(events, Check.SHOE, ignored):
            ignored.extend(record.step(read))
        if events:
            record.version = events[-1].version
        if len(events) < PAGE_EVENTS:
            return record


def check_may_be_opened(record: ShoeRecord) -> None:
    """Nobody looks at a shoe before it is over. Raises `CroupierError`."""
    if record.opening is None:
        raise CroupierError("SHOE_NOT_FOUND", "there is no such shoe", "shoe_id")
    if record.retired is None:
        raise CroupierError("SHOE_NOT_RETIRED", "cards of this shoe may still be dealt", "shoe_id")
    if record.sealed is None:
        raise CroupierError("SHOE_NOT_SEALED", "the shoe never had an order", "shoe_id")


def cards_of(record: ShoeRecord, server_seed: bytes) -> list[CardProof]:
    """All cards of a shoe that was sealed, by position, with their proofs."""
    assert record.cut is not None
    seeds = [
        (player, record.seeds[player]) for player in record.commitments if player in record.seeds
    ]
    decks, cut_at = record.opened.decks, record.cut.body.at
    derived = SealedShoe(server_seed, record.shoe_id, seeds, decks, cut_at)
    if derived.root != record.root:
        raise CroupierError("INTERNAL", "the seeds do not give the order that was sealed")
    shown = map(derived.show, range(len(derived)))
    return [
        CardProof(position=each.position, card=str(each.card), salt=each.salt, path=each.path)
        for each in shown
    ]


def published_message(record: ShoeRecord) -> pb.GetPublishedShoeResponse:
    """All that a shoe which is over was made from. Raises `CroupierError` where that is secret."""
    assert record.cut is not None
    assert record.retired is not None
    opened, cut = record.opened, record.cut.body
    if not record.retired.body.server_seed:
        raise CroupierError(
            "AUDIENCE_NOT_ALLOWED", "the seed stays secret: folded cards are in it", "shoe_id"
        )
    return pb.GetPublishedShoeResponse(
        shoe_id=record.shoe_id,
        table_id=opened.table_id,
        decks=opened.decks,
        scheme=opened.scheme,
        commitment=opened.commitment,
        parts=[
            pb.GetPublishedShoeResponse.Part(
                player=player, commitment=commitment, seed=record.seeds.get(player, b"")
            )
            for player, commitment in record.commitments.items()
        ],
        cut_by=cut.by,
        cut_at=cut.at,
        cut_least=opened.cut_min_top,
        cut_most=record.cards - opened.cut_min_bottom,
        root=record.root,
        server_seed=record.retired.body.server_seed,
    )


def shoe_message(row: asyncpg.Record) -> pb.Shoe:
    """A line of the index."""
    dealt, decks = row["dealt"] or 0, row["decks"] or 0
    return pb.Shoe(
        shoe_id=row["shoe_id"],
        table_id=row["table_id"],
        decks=decks,
        publish=bool(row["publish"]),
        commitment=row["commitment"] or b"",
        requested_at=stamp(row["requested_at"]),
        opened_at=stamp(row["opened_at"]),
        sealed_at=stamp(row["sealed_at"]),
        root=row["root"] or b"",
        cut_by=row["cut_by"] or "",
        seeds_used=row["seeds_used"],
        seeds_withheld=row["seeds_withheld"],
        retired_at=stamp(row["retired_at"]),
        retire_reason=row["retire_reason"] or "",
        dealt=dealt,
        burned=row["burned"] or 0,
        exposed=row["exposed"] or 0,
        never_dealt=decks * 52 - dealt if row["retired_at"] else 0,
        hands=row["hands"],
        checked_at=stamp(row["checked_at"]),
        holds=bool(row["holds"]),
        findings=row["findings"],
        disclosures=row["disclosures"],
    )


def totals_message(row: asyncpg.Record) -> pb.ShoeTotals:
    """The counts, under the names that they have in SQL."""
    counts: dict[str, Any] = dict(row)
    return pb.ShoeTotals(**counts)


def disclosure_message(line: DisclosureLine) -> pb.Disclosure:
    """Somebody has looked at a shoe."""
    return pb.Disclosure(
        shoe_id=line.shoe_id,
        table_id=line.table_id,
        to=line.to,
        why=line.why,
        at=stamp(line.at),
        hand_ids=line.hand_ids,
    )

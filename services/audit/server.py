"""`croupier.audit.v1.AuditService` on the wire: for auditors; players see who opened a shoe."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import structlog
from croupier.audit.v1 import audit_pb2 as pb
from croupier.audit.v1.audit_pb2_grpc import AuditServiceServicer

from services.audit import enquiries, metrics, shoe_enquiries
from services.audit.check_all import FullCheck
from services.audit.check_hand import CHECKS, HandCheck
from services.audit.checkpoint_desk import MOST_AGAINST, CheckpointDesk, checkpoint_message
from services.audit.checkpoint_store import kept_and_gone, standings
from services.audit.disclosure import Disclose, DiscloseTo
from services.audit.enquiries import Filter
from services.audit.evidence import decoded
from services.audit.messages import (
    check_numbers,
    event_message,
    finding_message,
    hand_message,
    progress_message,
    replayed_hand_message,
    step_message,
)
from services.audit.replay import replay
from services.audit.rows import moment
from services.audit.shoe_desk import (
    cards_of,
    check_may_be_opened,
    disclosure_message,
    published_message,
    read_shoe,
    shoe_message,
    totals_message,
)
from services.audit.snapshot import applied_by_wallet, take_snapshot
from services.audit.verify.checkpoints import Held
from services.audit.verify.findings import Check, Finding
from shared.checkpoints.signed_note import NoteVerifier
from shared.errors import CroupierError
from shared.log import EventLog, on_connection
from shared.log.patience import Pool
from shared.rpc import pages
from shared.rpc.access import Role
from shared.rpc.caller import caller
from shared.sealing import Keyring

MAX_PAGE_BYTES = 3 * 1024 * 1024
MAX_CHECKS_AT_ONCE = 2
_TELL_EVERY_S = 0.25

_Context = Any
_log = structlog.get_logger()


class Audit(AuditServiceServicer):
    """The service; see audit.proto for what each method does."""

    def __init__(
        self,
        log: EventLog,
        pool: Pool,
        keyring: Keyring,
        disclose: Disclose,
        disclose_to: DiscloseTo,
        verifier: NoteVerifier,
    ) -> None:
        self._log = log
        self._pool = pool
        self._keyring = keyring
        self._disclose = disclose
        self._disclose_to = disclose_to
        self._hand_check = HandCheck(
            log, keyring, lambda: on_connection(pool, applied_by_wallet), disclose
        )
        self._full_checks = asyncio.Semaphore(MAX_CHECKS_AT_ONCE)
        self._desk = CheckpointDesk(verifier)
        self._verifier_key = str(verifier)

    async def ListHands(  # noqa: N802
        self, request: pb.ListHandsRequest, context: _Context
    ) -> pb.ListHandsResponse:
        wanted = Filter(
            request.table_id,
            request.player,
            request.game,
            _moment_in(request, "from"),
            _moment_in(request, "until"),
        )
        size = pages.size(request.page_size)
        hands, token = await on_connection(
            self._pool,
            lambda connection: enquiries.list_hands(connection, wanted, size, request.page_token),
        )
        return pb.ListHandsResponse(hands=map(hand_message, hands), next_page_token=token)

    async def ReplayHand(  # noqa: N802
        self, request: pb.ReplayHandRequest, context: _Context
    ) -> pb.ReplayHandResponse:
        events = await self._log.read_hand(request.hand_id)
        if not events:
            raise CroupierError("HAND_NOT_FOUND", f"no hand {request.hand_id!r}", "hand_id")
        unreadable: list[Finding] = []
        reads = decoded(events, Check.RULES, unreadable)
        # Private cards are for the auditor's eyes alone, whoever else may be let in here one day.
        keyring = self._keyring if caller().role is Role.AUDITOR else None
        told = replay(reads, keyring)
        return pb.ReplayHandResponse(
            hand=replayed_hand_message(request.hand_id, reads, told),
            steps=[step_message(step) for step in told.steps],
            proofs=told.proofs,
            shoe_root=await self._root_of(told.shoe_id),
        )

    async def VerifyHand(  # noqa: N802
        self, request: pb.VerifyHandRequest, context: _Context
    ) -> pb.VerifyHandResponse:
        with metrics.hand_seconds.time():
            report = await self._hand_check.run(request.hand_id)
        _tell_of(report.findings, hand=request.hand_id)
        metrics.hands_checked.labels("failed" if report.findings else "verified").inc()
        return pb.VerifyHandResponse(
            hand_id=request.hand_id,
            verified=not report.findings,
            checks_done=check_numbers(CHECKS),
            findings=map(finding_message, report.findings),
            events=report.events,
        )

    async def VerifyAll(  # noqa: N802
        self, request: pb.VerifyAllRequest, context: _Context
    ) -> AsyncIterator[pb.VerifyAllResponse]:
        if self._full_checks.locked():
            raise CroupierError("OVERLOADED", f"{MAX_CHECKS_AT_ONCE} checks of all run already")
        if len(request.against) > MOST_AGAINST or (request.table_id and request.against):
            raise CroupierError(
                "BAD_REQUEST", f"{MOST_AGAINST} at most, and not with a table", "against"
            )
        async with self._full_checks:
            held: dict[str, list[Held]] = {}
            unlike: list[Finding] = []
            if not request.table_id:
                kept, missing = await on_connection(self._pool, kept_and_gone)
                # Signatures by the thousand take a second, in which others want to be answered.
                held, unlike = await asyncio.to_thread(
                    self._desk.to_compare, kept, missing, request.against
                )
            snapshot = await on_connection(self._pool, take_snapshot)
            total = await on_connection(
                self._pool,
                lambda connection: enquiries.count_hands(connection, request.table_id),
            )
            if request.table_id and f"table/{request.table_id}" not in snapshot.tables:
                raise CroupierError("TABLE_NOT_FOUND", f"no table {request.table_id!r}", "table_id")
            loop = asyncio.get_running_loop()
            tell_at = loop.time()
            check = FullCheck(self._log, self._keyring, snapshot, self._disclose, held)
            check.add(unlike)
            async for progress in check.run(request.table_id):
                metrics.full_check_hands.set(progress.hands)
                if progress.done or loop.time() >= tell_at:
                    _tell_of(progress.findings, table=request.table_id)
                    yield progress_message(progress, total)
                    progress.findings.clear()
                    tell_at = loop.time() + _TELL_EVERY_S
            metrics.full_checks.labels("failed" if progress.found else "verified").inc()

    async def ListEvents(  # noqa: N802
        self, request: pb.ListEventsRequest, context: _Context
    ) -> pb.ListEventsResponse:
        if bool(request.partition) == bool(request.stream):
            raise CroupierError("BAD_REQUEST", "name a partition or a stream", "partition")
        if request.after < 0:
            raise CroupierError("BAD_REQUEST", "counts from 0", "after")
        size = pages.size(request.page_size)
        read = self._log.read_partition if request.partition else self._log.read_stream
        events = await read(request.partition or request.stream, request.after, size)
        answer = pb.ListEventsResponse()
        for event in events:
            answer.events.append(event_message(event))
            if answer.ByteSize() > MAX_PAGE_BYTES:
                break
        if events and (len(events) == size or len(answer.events) < len(events)):
            last = answer.events[-1]
            answer.next_after = last.position if request.partition else last.version
        return answer

    async def GetProgress(  # noqa: N802
        self, request: pb.GetProgressRequest, context: _Context
    ) -> pb.GetProgressResponse:
        return pb.GetProgressResponse(
            partitions=[
                pb.GetProgressResponse.Partition(
                    partition=each.partition,
                    indexed=each.indexed,
                    head=each.head,
                    parked=each.parked,
                )
                for each in await on_connection(self._pool, enquiries.progress)
            ]
        )

    async def ListShoes(  # noqa: N802
        self, request: pb.ListShoesRequest, context: _Context
    ) -> pb.ListShoesResponse:
        if request.filter not in pb.ShoeFilter.values():
            raise CroupierError("BAD_REQUEST", "say which shoes", "filter")
        size = pages.size(request.page_size)
        rows, token = await on_connection(
            self._pool,
            lambda connection: shoe_enquiries.list_shoes(
                connection, request.table_id, request.filter, size, request.page_token
            ),
        )
        answer = pb.ListShoesResponse(shoes=map(shoe_message, rows), next_page_token=token)
        if not request.page_token:
            totals = await on_connection(
                self._pool,
                lambda connection: shoe_enquiries.shoe_totals(connection, request.table_id),
            )
            answer.totals.CopyFrom(totals_message(totals))
        return answer

    async def DiscloseShoe(  # noqa: N802
        self, request: pb.DiscloseShoeRequest, context: _Context
    ) -> pb.DiscloseShoeResponse:
        try:
            request_id = UUID(request.command_id)
        except ValueError:
            raise CroupierError("BAD_REQUEST", "a command id is a UUID", "command_id") from None
        record = await read_shoe(self._log, self._keyring, request.shoe_id)
        check_may_be_opened(record)
        seed = await self._disclose_to(request.shoe_id, caller().id, request.why, request_id)
        return pb.DiscloseShoeResponse(
            shoe_id=request.shoe_id, root=record.root, cards=cards_of(record, seed)
        )

    async def ListDisclosures(  # noqa: N802
        self, request: pb.ListDisclosuresRequest, context: _Context
    ) -> pb.ListDisclosuresResponse:
        player = caller().id if caller().role is Role.PLAYER else ""
        size = pages.size(request.page_size)
        lines, token = await on_connection(
            self._pool,
            lambda connection: shoe_enquiries.list_disclosures(
                connection, player, request.shoe_id, size, request.page_token
            ),
        )
        return pb.ListDisclosuresResponse(
            disclosures=map(disclosure_message, lines), next_page_token=token
        )

    async def GetPublishedShoe(  # noqa: N802
        self, request: pb.GetPublishedShoeRequest, context: _Context
    ) -> pb.GetPublishedShoeResponse:
        record = await read_shoe(self._log, self._keyring, request.shoe_id)
        check_may_be_opened(record)
        return published_message(record)

    async def ListCheckpoints(  # noqa: N802
        self, request: pb.ListCheckpointsRequest, context: _Context
    ) -> pb.ListCheckpointsResponse:
        signed = [
            checkpoint_message(each.partition, each.signed)
            for each in await on_connection(self._pool, standings)
            if each.signed
        ]
        page, token = pages.page(
            signed, request.page_size, request.page_token, lambda each: each.partition
        )
        return pb.ListCheckpointsResponse(
            checkpoints=page,
            next_page_token=token,
            verifier_key=self._verifier_key,
        )

    async def GetCheckpoint(  # noqa: N802
        self, request: pb.GetCheckpointRequest, context: _Context
    ) -> pb.GetCheckpointResponse:
        found = await on_connection(
            self._pool,
            lambda connection: self._desk.find(connection, request.partition, request.size),
        )
        return pb.GetCheckpointResponse(checkpoint=found, verifier_key=self._verifier_key)

    async def ProveInclusion(  # noqa: N802
        self, request: pb.ProveInclusionRequest, context: _Context
    ) -> pb.ProveInclusionResponse:
        return await on_connection(
            self._pool,
            lambda connection: self._desk.prove_inclusion(
                connection, request.partition, request.position, request.size
            ),
        )

    async def ProveConsistency(  # noqa: N802
        self, request: pb.ProveConsistencyRequest, context: _Context
    ) -> pb.ProveConsistencyResponse:
        return await on_connection(
            self._pool,
            lambda connection: self._desk.prove_consistency(
                connection, request.partition, request.from_size, request.to_size
            ),
        )

    async def _root_of(self, shoe_id: str) -> bytes:
        """The seal of a shoe, which is among its first events; empty where there is none."""
        if not shoe_id:
            return b""
        events = await self._log.read_stream(f"shuffle/{shoe_id}", 0, _EVENTS_BEFORE_SEAL)
        for read in decoded(events, Check.SHOE, []):
            if read.event.type == "ShoeSealed":
                return bytes(read.body.root)
        return b""


def _tell_of(findings: Sequence[Finding], **about: str) -> None:
    """In the log stands that something was found and by which check; what, only auditors learn."""
    metrics.count(findings)
    if findings:
        checks = sorted({finding.check.name for finding in findings})
        _log.error("not_verified", findings=len(findings), checks=checks, **about)


_EVENTS_BEFORE_SEAL = 200
"""More than 32 seeds, committed and opened, and the claims of some owners can make."""


def _moment_in(request: Any, name: str) -> datetime | None:
    if not request.HasField(name):
        return None
    try:
        return moment(getattr(request, name))
    except (ValueError, OverflowError):
        raise CroupierError("BAD_REQUEST", "no time that there is", name) from None

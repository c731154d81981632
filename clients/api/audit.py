"""Finding, replaying and verifying hands."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from datetime import datetime
from uuid import uuid4

import grpc
from croupier.audit.v1 import audit_pb2 as pb
from croupier.audit.v1 import audit_pb2_grpc

from clients.api.connection import Connection
from clients.api.errors import refused

PAGE_SIZE = 200
VERIFY_TIMEOUT_S = 120.0


class AuditClient:
    """The audit service. Raises `RefusedError`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._stub = audit_pb2_grpc.AuditServiceStub(connection.channel)

    async def hands(
        self,
        table: str = "",
        player: str = "",
        game: str = "",
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = PAGE_SIZE,
    ) -> list[pb.Hand]:
        """The newest `limit` hands that match all that is given, newest first."""
        found: list[pb.Hand] = []
        token = ""
        while len(found) < limit:
            request = pb.ListHandsRequest(
                table_id=table,
                player=player,
                game=game,
                page_size=min(PAGE_SIZE, limit - len(found)),
                page_token=token,
            )
            if since is not None:
                getattr(request, "from").FromDatetime(since)
            if until is not None:
                request.until.FromDatetime(until)
            answer = await self._connection.call(self._stub.ListHands, request)
            found += answer.hands
            token = answer.next_page_token
            if not token:
                break
        return found

    async def replay(self, hand_id: str) -> pb.ReplayHandResponse:
        """A hand step by step."""
        return await self._connection.call(
            self._stub.ReplayHand, pb.ReplayHandRequest(hand_id=hand_id)
        )

    async def verify(self, hand_id: str) -> pb.VerifyHandResponse:
        """Re-runs one hand and checks all that belongs to it."""
        return await self._connection.call(
            self._stub.VerifyHand,
            pb.VerifyHandRequest(hand_id=hand_id),
            timeout_s=VERIFY_TIMEOUT_S,
        )

    async def verify_all(
        self, table: str = "", against: Iterable[str] = ()
    ) -> AsyncIterator[pb.VerifyAllResponse]:
        """Every hand (of one table), the chain, the ledger and the checkpoints, also those in the
        signed notes `against`; with progress, `done` ends it."""
        call = self._stub.VerifyAll(
            pb.VerifyAllRequest(table_id=table, against=against),
            metadata=self._connection.metadata(),
        )
        try:
            async for answer in call:
                yield answer
        except grpc.aio.AioRpcError as error:
            raise refused(error) from error
        finally:
            call.cancel()

    async def checkpoints(self) -> tuple[list[pb.Checkpoint], str]:
        """The newest checkpoint of each partition, and the key that the house says it uses."""
        found: list[pb.Checkpoint] = []
        token = ""
        while True:
            request = pb.ListCheckpointsRequest(page_token=token)
            answer = await self._connection.call(self._stub.ListCheckpoints, request)
            found += answer.checkpoints
            token = answer.next_page_token
            if not token:
                return found, answer.verifier_key

    async def consistency(self, partition: str, from_size: int, to_size: int) -> list[bytes]:
        """The proof that the tree of `to_size`, a checkpoint's, begins with that of `from_size`."""
        request = pb.ProveConsistencyRequest(
            partition=partition, from_size=from_size, to_size=to_size
        )
        answer = await self._connection.call(self._stub.ProveConsistency, request)
        return list(answer.path)

    async def shoes(
        self,
        table: str = "",
        which: pb.ShoeFilter.ValueType = pb.SHOE_FILTER_UNSPECIFIED,
        limit: int = PAGE_SIZE,
    ) -> tuple[list[pb.Shoe], pb.ShoeTotals]:
        """The newest `limit` shoes of those asked for, newest first, and the totals of all."""
        found: list[pb.Shoe] = []
        totals = pb.ShoeTotals()
        token = ""
        while len(found) < limit:
            request = pb.ListShoesRequest(
                table_id=table,
                filter=which,
                page_size=min(PAGE_SIZE, limit - len(found)),
                page_token=token,
            )
            answer = await self._connection.call(self._stub.ListShoes, request)
            if not token:
                totals = answer.totals
            found += answer.shoes
            token = answer.next_page_token
            if not token:
                break
        return found, totals

    async def open_shoe(self, shoe_id: str, why: str) -> pb.DiscloseShoeResponse:
        """All cards of a retired shoe. Who looked, and why, goes on record."""
        request = pb.DiscloseShoeRequest(command_id=str(uuid4()), shoe_id=shoe_id, why=why)
        return await self._connection.call(self._stub.DiscloseShoe, request)

    async def published_shoe(self, shoe_id: str) -> pb.GetPublishedShoeResponse:
        """All that a retired shoe was made from, where its seed is published."""
        return await self._connection.call(
            self._stub.GetPublishedShoe, pb.GetPublishedShoeRequest(shoe_id=shoe_id)
        )

    async def disclosures(self, shoe_id: str = "", limit: int = PAGE_SIZE) -> list[pb.Disclosure]:
        """The newest `limit` times that somebody has opened a shoe: for a player, one that his
        hands were dealt from."""
        found: list[pb.Disclosure] = []
        token = ""
        while len(found) < limit:
            request = pb.ListDisclosuresRequest(
                shoe_id=shoe_id,
                page_size=min(PAGE_SIZE, limit - len(found)),
                page_token=token,
            )
            answer = await self._connection.call(self._stub.ListDisclosures, request)
            found += answer.disclosures
            token = answer.next_page_token
            if not token:
                break
        return found

    async def progress(self) -> pb.GetProgressResponse:
        """How far the index has got, against the heads of the log."""
        return await self._connection.call(self._stub.GetProgress, pb.GetProgressRequest())

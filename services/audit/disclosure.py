"""Server seeds of retired shoes that are not published: asked of shuffle, checked, forgotten."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from uuid import UUID, uuid5

import grpc
from croupier.shuffle.v1 import events_pb2, shuffle_pb2, shuffle_pb2_grpc

from shared.ids import NAMESPACE_CROUPIER
from shared.rpc.channel import call_metadata
from shared.rpc.errors import from_rpc_error

Disclose = Callable[[str], Awaitable[bytes]]
"""The server seed of a retired shoe by its id. Raises `CroupierError`."""

DiscloseTo = Callable[[str, str, str, UUID], Awaitable[bytes]]
"""The same for a person: shoe, who looks, why, and the id of the request."""

CALL_TIMEOUT_S = 10.0
_WHY = "order and seal are derived again from the seeds"


class Disclosure:
    """Asks shuffle. The asking is an event of the shoe, once: whoever checks again asks with the
    same request id and gets the same answer."""

    def __init__(
        self, shuffle: shuffle_pb2_grpc.ShuffleServiceAsyncStub, service_token: str
    ) -> None:
        self._shuffle = shuffle
        self._token = service_token

    async def __call__(self, shoe_id: str) -> bytes:
        """32 bytes. They are never stored, logged or sent on."""
        return await self._ask(
            shuffle_pb2.DiscloseShoeRequest(
                request_id=str(uuid5(NAMESPACE_CROUPIER, f"audit/disclose/{shoe_id}")),
                shoe_id=shoe_id,
                purpose=events_pb2.DISCLOSURE_PURPOSE_CHECK,
                why=_WHY,
            )
        )

    async def to_person(self, shoe_id: str, person: str, why: str, request_id: UUID) -> bytes:
        """The same for a person who looks at the shoe: an event that names him and his reason."""
        return await self._ask(
            shuffle_pb2.DiscloseShoeRequest(
                request_id=str(request_id),
                shoe_id=shoe_id,
                purpose=events_pb2.DISCLOSURE_PURPOSE_PERSON,
                why=why,
                person=person,
            )
        )

    async def _ask(self, request: shuffle_pb2.DiscloseShoeRequest) -> bytes:
        try:
            answer = await self._shuffle.DiscloseShoe(
                request, timeout=CALL_TIMEOUT_S, metadata=call_metadata(self._token)
            )
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from error
        return answer.server_seed

"""`croupier.shuffle.v1.ShuffleService` on the wire: translates, and leaves the rest to `Shoes`."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from typing import Any, Protocol
from uuid import UUID

from croupier.shuffle.v1 import shuffle_pb2 as pb
from croupier.shuffle.v1.shuffle_pb2_grpc import ShuffleServiceServicer
from google.protobuf.message import Message

from services.shuffle.decide import SHOE_ID, Asker, Deal, Disclose, Draw
from services.shuffle.shoe import Phase, Purpose, RetireReason, Shoe, Use
from services.shuffle.shoes import Request, Shoes
from shared.errors import CroupierError
from shared.proofs.encoding import encode
from shared.rpc import pages
from shared.rpc.caller import caller, correlation_id
from shared.rpc.guard import refusal_of

MOST_DEALS = 64
_Context = Any
_USES = {use.value: use for use in Use}
_REASONS = {reason.value: reason for reason in RetireReason}
_PURPOSES = {purpose.value: purpose for purpose in Purpose}


class _OfTable(Protocol):
    """What every request of a table has."""

    @property
    def shoe_id(self) -> str: ...
    @property
    def table_id(self) -> str: ...
    @property
    def epoch(self) -> int: ...


class Shuffle(ShuffleServiceServicer):
    """The service; see shuffle.proto for what each method does and refuses."""

    def __init__(self, shoes: Shoes) -> None:
        self._shoes = shoes

    async def OpenShoe(  # noqa: N802
        self, request: pb.OpenShoeRequest, context: _Context
    ) -> pb.OpenShoeResponse:
        opened = await self._shoes.open(
            _request(request, request.request_id, request.table_id),
            _asker(request),
            request.decks,
            (request.cut_min_top, request.cut_min_bottom),
            request.behind_cut_card,
            request.publish,
        )
        return pb.OpenShoeResponse(commitment=opened.commitment, scheme=opened.scheme)

    async def CommitSeed(  # noqa: N802
        self, request: pb.CommitSeedRequest, context: _Context
    ) -> pb.CommitSeedResponse:
        await self._shoes.commit_seed(
            _request(request, request.request_id, request.table_id),
            _asker(request),
            request.player,
            request.commitment,
        )
        return pb.CommitSeedResponse()

    async def CutShoe(  # noqa: N802
        self, request: pb.CutShoeRequest, context: _Context
    ) -> pb.CutShoeResponse:
        cut = await self._shoes.cut(
            _request(request, request.request_id, request.table_id),
            _asker(request),
            request.player,
            request.at,
        )
        return pb.CutShoeResponse(at=cut.at)

    async def OpenSeed(  # noqa: N802
        self, request: pb.OpenSeedRequest, context: _Context
    ) -> pb.OpenSeedResponse:
        await self._shoes.open_seed(
            _request(request, request.request_id, request.table_id),
            _asker(request),
            request.player,
            request.seed,
        )
        return pb.OpenSeedResponse()

    async def SealShoe(  # noqa: N802
        self, request: pb.SealShoeRequest, context: _Context
    ) -> pb.SealShoeResponse:
        sealed = await self._shoes.seal(
            _request(request, request.request_id, request.table_id), _asker(request)
        )
        return pb.SealShoeResponse(root=sealed.root, used=sealed.used, withheld=sealed.withheld)

    async def Deal(  # noqa: N802
        self, request: pb.DealRequest, context: _Context
    ) -> pb.DealResponse:
        draws = tuple(
            Draw(draw.position, _known(_USES, draw.use, "draws"), draw.player)
            for draw in request.draws
        )
        dealt = await self._shoes.deal(
            _request(request, request.request_id, request.table_id),
            Deal(_asker(request), request.hand_id, draws),
        )
        return pb.DealResponse(cards=dealt.cards, cut_card_reached=dealt.cut_card_reached)

    async def DealMany(  # noqa: N802
        self, request: pb.DealManyRequest, context: _Context
    ) -> pb.DealManyResponse:
        if not 1 <= len(request.deals) <= MOST_DEALS:
            raise CroupierError("BAD_REQUEST", f"1 to {MOST_DEALS} in one call", "deals")
        # All of them wait for the log together, so they are appended in one transaction.
        outcomes = await asyncio.gather(*(self._outcome(deal, context) for deal in request.deals))
        return pb.DealManyResponse(outcomes=outcomes)

    async def _outcome(self, request: pb.DealRequest, context: _Context) -> pb.DealOutcome:
        try:
            return pb.DealOutcome(dealt=await self.Deal(request, context))
        except Exception as error:
            # One that cannot be dealt must not keep the others from their cards.
            refusal = refusal_of("DealMany", error)
            return pb.DealOutcome(
                refused=pb.DealRefusal(
                    reason=refusal.reason, message=refusal.message, field=refusal.field
                )
            )

    async def ClaimShoe(  # noqa: N802
        self, request: pb.ClaimShoeRequest, context: _Context
    ) -> pb.ClaimShoeResponse:
        shoe = await self._shoes.claim(_request(request, "", request.table_id), _asker(request))
        return pb.ClaimShoeResponse(shoe=_shoe(shoe))

    async def RetireShoe(  # noqa: N802
        self, request: pb.RetireShoeRequest, context: _Context
    ) -> pb.RetireShoeResponse:
        retired = await self._shoes.retire(
            _request(request, request.request_id, request.table_id),
            _asker(request),
            _known(_REASONS, request.retire_reason, "retire_reason"),
        )
        return pb.RetireShoeResponse(server_seed=retired.server_seed)

    async def GetShoe(  # noqa: N802
        self, request: pb.GetShoeRequest, context: _Context
    ) -> pb.GetShoeResponse:
        return pb.GetShoeResponse(shoe=_shoe(await self._shoes.get(_shoe_id(request.shoe_id))))

    async def ListOpenShoes(  # noqa: N802
        self, request: pb.ListOpenShoesRequest, context: _Context
    ) -> pb.ListOpenShoesResponse:
        size = pages.size(request.page_size)
        after = pages.last_of(request.page_token)
        shoe_ids = await self._shoes.open_shoes(after, size)
        following = pages.token(shoe_ids[-1]) if len(shoe_ids) == size else ""
        return pb.ListOpenShoesResponse(shoe_ids=shoe_ids, next_page_token=following)

    async def DiscloseShoe(  # noqa: N802
        self, request: pb.DiscloseShoeRequest, context: _Context
    ) -> pb.DiscloseShoeResponse:
        purpose = _known(_PURPOSES, request.purpose, "purpose")
        if (purpose is Purpose.PERSON) != bool(request.person):
            raise CroupierError("BAD_REQUEST", "a person is named where one looks", "person")
        server_seed = await self._shoes.disclose(
            _request(request, request.request_id, ""),
            Disclose(purpose, request.person or caller().id, request.why),
        )
        return pb.DiscloseShoeResponse(server_seed=server_seed)


def _asker(request: _OfTable) -> Asker:
    return Asker(request.table_id, request.epoch)


def _request(request: Any, request_id: str, table_id: str) -> Request:
    """A table's requests count as its own whichever node makes them; others as their caller's."""
    who = caller()
    return Request(
        _uuid(request_id) if "request_id" in request.DESCRIPTOR.fields_by_name else None,
        _body_hash(request),
        f"table/{table_id}" if table_id else f"{who.role}/{who.id}",
        f"{who.role}/{who.id}",
        correlation_id(),
        _shoe_id(request.shoe_id),
    )


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise CroupierError("BAD_REQUEST", "not a UUID", "request_id") from None


def _shoe_id(text: str, field: str = "shoe_id") -> str:
    if not SHOE_ID.fullmatch(text):
        raise CroupierError("BAD_REQUEST", "letters, digits, - and _, 1 to 64", field)
    return text


def _body_hash(request: Message) -> bytes:
    """SHA-256 of what is asked: everything but the request's id and the epoch, which a new owner of
    the table has raised when it asks again."""
    body = type(request)()
    body.CopyFrom(request)
    for name in ("request_id", "epoch"):
        if name in body.DESCRIPTOR.fields_by_name:
            body.ClearField(name)
    name = body.DESCRIPTOR.full_name
    serialized = body.SerializeToString(deterministic=True)
    return sha256(encode("croupier/shuffle-request/v1", name.encode(), serialized)).digest()


def _known(words: dict[int, Any], value: int, field: str) -> Any:
    if value not in words:
        raise CroupierError("BAD_REQUEST", "say what is meant", field)
    return words[value]


def _shoe(shoe: Shoe) -> pb.Shoe:
    return pb.Shoe(
        shoe_id=shoe.shoe_id,
        table_id=shoe.table_id,
        epoch=shoe.epoch,
        phase=pb.ShoePhase.ValueType(shoe.phase.value),
        decks=shoe.decks,
        scheme=shoe.scheme,
        commitment=shoe.commitment,
        seeds=[
            pb.Shoe.Seed(player=seed.player, commitment=seed.commitment, seed=seed.seed or b"")
            for seed in shoe.seeds
        ],
        cut_at=shoe.cut_at,
        root=shoe.root,
        next_position=shoe.next_position,
        cut_card_reached=shoe.cut_card_reached,
        server_seed=shoe.server_seed if shoe.phase is Phase.RETIRED else b"",
    )

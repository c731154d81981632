"""A published shoe, made again from its seeds: by mathematics alone, as docs/shuffle.md says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from croupier.audit.v1 import audit_pb2 as pb
from rich.markup import escape

from shared.proofs.hmac_drbg import MAX_INPUT_BYTES, MIN_ENTROPY_BYTES
from shared.proofs.sealed_shoe import SealedShoe
from shared.proofs.seeds import player_seed_commitment, server_seed_commitment
from shared.proofs.shoe_order import DECK_CARDS, MAX_DECKS, SCHEME, dealer_cut


@dataclass(frozen=True, slots=True)
class Part:
    """A player's commitment (None: not told) and seed (None: withheld)."""

    player: str
    commitment: bytes | None
    seed: bytes | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class WholeShoe:
    """All that a shoe was made from, and its seal. `dealer_range`: from where to where the dealer
    might cut; None where a player did."""

    shoe_id: str
    decks: int
    root: bytes
    commitment: bytes
    server_seed: bytes = field(repr=False)
    parts: tuple[Part, ...]
    cut_at: int
    dealer_range: tuple[int, int] | None
    scheme: int = SCHEME

    def problems(self) -> Iterator[str]:
        """What does not hold, one sentence each."""
        size = self.decks * DECK_CARDS
        possible = 1 <= self.decks <= MAX_DECKS and 0 <= self.cut_at < size
        # More or less than the generator takes.
        seeds = sum(8 + len(part.player) + len(part.seed or b"") for part in self.parts)
        possible &= len(self.server_seed) >= MIN_ENTROPY_BYTES and seeds < MAX_INPUT_BYTES // 8
        if self.scheme != SCHEME or not possible:
            yield "no such shoe can be made here"
            return
        if server_seed_commitment(self.shoe_id, self.server_seed) != self.commitment:
            yield "the server seed is not what was committed to"
        for part in self.parts:
            if part.seed is not None and part.commitment is not None:
                told = player_seed_commitment(self.shoe_id, part.player, part.seed)
                if told != part.commitment:
                    yield f"the seed of {part.player} is not what was committed to"
        if self.dealer_range is not None:
            least, most = self.dealer_range
            if not 0 <= least <= most <= size or self.cut_at != dealer_cut(
                self.server_seed, self.shoe_id, least, most
            ):
                yield "the dealer's cut does not follow from the server seed"
        if self.sealed().root != self.root:
            yield "the seeds do not give the sealed root"

    def sealed(self) -> SealedShoe:
        """Every card, with its proof."""
        seeds = [(part.player, part.seed) for part in self.parts if part.seed is not None]
        return SealedShoe(self.server_seed, self.shoe_id, seeds, self.decks, self.cut_at)

    def lines(self) -> Iterator[str]:
        """What it was made from, for people."""
        yield f"committed to as {self.commitment.hex()}"
        yield f"server seed {self.server_seed.hex()}"
        for part in self.parts:
            seed = "withheld" if part.seed is None else f"seed {part.seed.hex()}"
            yield f"{escape(part.player)}: {seed}"
        yield f"cut at {self.cut_at} by {'the dealer' if self.dealer_range else 'a player'}"

    def document(self) -> dict[str, Any]:
        """What clients/verify-card.mjs reads, bytes in hex; the order is for the reader."""
        sealed = self.sealed()
        document: dict[str, Any] = {
            "shoe_id": self.shoe_id,
            "decks": self.decks,
            "root": self.root.hex(),
            "commitment": self.commitment.hex(),
            "server_seed": self.server_seed.hex(),
            "player_seeds": [
                {"player": part.player, "seed": part.seed.hex()}
                | ({"commitment": part.commitment.hex()} if part.commitment else {})
                for part in self.parts
                if part.seed is not None
            ],
            "withheld": [part.player for part in self.parts if part.seed is None],
            "cut_at": self.cut_at,
            "order": " ".join(str(sealed.show(position).card) for position in range(len(sealed))),
        }
        if self.dealer_range is not None:
            document["dealer_range"] = list(self.dealer_range)
        return document


def of_document(document: Mapping[str, Any]) -> WholeShoe:
    """The opposite of `WholeShoe.document`. Raises `ValueError`, `KeyError` or `TypeError`."""
    dealer = document.get("dealer_range")
    least, most = (0, 0) if dealer is None else dealer
    return WholeShoe(
        shoe_id=readable(document["shoe_id"]),
        decks=int(document["decks"]),
        root=bytes.fromhex(document["root"]),
        commitment=bytes.fromhex(document["commitment"]),
        server_seed=bytes.fromhex(document["server_seed"]),
        parts=tuple(
            Part(
                readable(part["player"]),
                bytes.fromhex(part["commitment"]) if "commitment" in part else None,
                bytes.fromhex(part["seed"]),
            )
            for part in document["player_seeds"]
        ),
        cut_at=int(document["cut_at"]),
        dealer_range=None if dealer is None else (int(least), int(most)),
    )


def readable(name: Any) -> str:
    """A name that may be shown on a screen; raises `ValueError`."""
    if not isinstance(name, str) or not name.isprintable():
        raise ValueError("a name of characters that can be read")
    return name


def of_answer(answer: pb.GetPublishedShoeResponse) -> WholeShoe:
    """A shoe as the audit service tells it."""
    return WholeShoe(
        shoe_id=answer.shoe_id,
        decks=answer.decks,
        root=answer.root,
        commitment=answer.commitment,
        server_seed=answer.server_seed,
        parts=tuple(Part(part.player, part.commitment, part.seed or None) for part in answer.parts),
        cut_at=answer.cut_at,
        dealer_range=None if answer.cut_by else (answer.cut_least, answer.cut_most),
        scheme=answer.scheme,
    )

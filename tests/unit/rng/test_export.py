"""`croupier rng-export` gives what the shuffle service deals from."""

from __future__ import annotations

import subprocess
import sys
from itertools import islice
from uuid import uuid4

import pytest

from deploy.rng_export import final_shoes, fixed, operating_system, raw_blocks
from services.shuffle.decide import Asker, Deal, Draw
from services.shuffle.shoe import Use
from services.shuffle.shoes import Request
from shared.cards import parse_card
from shared.proofs.shoe_order import Draws, card_order, cut, dealer_cut, order_source, permuted
from tests.unit.audit.given import empty_night

SEED = bytes(range(32))


@pytest.mark.parametrize("decks", [1, 8])
async def test_an_exported_shoe_is_the_one_that_the_service_deals(
    monkeypatch: pytest.MonkeyPatch, decks: int
) -> None:
    """Opened, cut by the dealer, sealed and dealt to its last card by the service itself."""
    entropy = fixed(SEED)
    monkeypatch.setattr("services.shuffle.shoes.secrets.token_bytes", entropy)
    shoes = (await empty_night()).house.shoes
    asker, dealt = Asker("t1", 1), []
    for number in range(2):
        shoe_id = f"rng-export-{number}"
        await shoes.open(asked(shoe_id), asker, decks, (1, 1), 0, True)
        await shoes.cut(asked(shoe_id), asker, "", 0)
        await shoes.seal(asked(shoe_id), asker)
        for first in range(0, decks * 52, 104):
            draws = tuple(Draw(at, Use.OPEN) for at in range(first, min(first + 104, decks * 52)))
            answer = await shoes.deal(asked(shoe_id), Deal(asker, "hand", draws))
            dealt += [parse_card(card.card) for card in answer.cards]
    exported = b"".join(islice(final_shoes(fixed(SEED), decks), 2))
    assert bytes(dealt) == exported


def test_the_exported_bytes_are_those_that_the_draws_are_taken_from() -> None:
    block = next(raw_blocks(fixed(SEED)))
    seed = fixed(SEED)(32)
    draws = Draws(order_source(seed, "rng-export-0", ()))
    order = permuted(range(52), draws.below)
    assert draws.take(2) in block

    class Exported:
        def generate(self, count: int) -> bytes:
            return block[:count]

    assert permuted(range(52), Draws(Exported()).below) == order
    place = dealer_cut(seed, "rng-export-0", 1, 51)
    assert bytes(cut(order, place)) == card_order(seed, "rng-export-0", (), 1, place)


def test_without_a_seed_every_export_is_another() -> None:
    one, other = (next(raw_blocks(operating_system())) for _ in range(2))
    assert one != other
    assert next(raw_blocks(fixed(SEED))) == next(raw_blocks(fixed(SEED)))


def asked(shoe_id: str) -> Request:
    """A request of a table about a shoe."""
    return Request(uuid4(), bytes(32), "table/t1", "node-1", uuid4(), shoe_id)


def croupier(*words: str, read: int | None = None) -> tuple[int, bytes]:
    """Exit status and output of `croupier rng-export words…`; only `read` bytes are taken."""
    argv = (sys.executable, "-m", "deploy.main", "rng-export", *words)
    ran = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert ran.stdout is not None
    assert ran.stderr is not None
    out = ran.stdout.read() if read is None else ran.stdout.read(read)
    ran.stdout.close()
    assert b"Traceback" not in ran.stderr.read()
    ran.stderr.close()
    return ran.wait(30), out


def test_the_command_streams_bytes_shoes_and_words() -> None:
    seed = ("--seed", SEED.hex())
    assert croupier("--raw", "--count", "2", *seed) == (
        0,
        b"".join(islice(raw_blocks(fixed(SEED)), 2)),
    )
    shoe = next(final_shoes(fixed(SEED), 1))
    assert croupier("--final", "--count", "1", *seed) == (0, shoe)
    status, text = croupier("--final", "--text", "--count", "1", *seed)
    assert status == 0
    assert [parse_card(word) for word in text.decode().split()] == list(shoe)


def test_without_a_count_it_ends_when_the_reader_has_enough() -> None:
    assert croupier("--raw", read=5_000)[0] == 0


@pytest.mark.parametrize(
    "words", [(), ("--raw", "--final"), ("--raw", "--text"), ("--raw", "--seed", "00")]
)
def test_what_cannot_be_meant_is_refused(words: tuple[str, ...]) -> None:
    assert croupier(*words)[0] == 2

"""`croupier rng-export`."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from itertools import islice
from typing import Annotated

import typer

from deploy.rng_export import final_shoes, fixed, operating_system, raw_blocks
from shared.cards import DECK
from shared.proofs.hmac_drbg import MIN_ENTROPY_BYTES
from shared.proofs.shoe_order import MAX_DECKS

rng_commands = typer.Typer()


@rng_commands.command("rng-export")
def rng_export(
    raw: Annotated[bool, typer.Option("--raw", help="The generator's bytes.")] = False,
    final: Annotated[
        bool,
        typer.Option("--final", help="Shoes as they are dealt, one byte a card (0: 2c … 51: As)."),
    ] = False,
    count: Annotated[
        int | None,
        typer.Option(min=1, help="So many blocks of 4,096 bytes or shoes; else without end."),
    ] = None,
    decks: Annotated[int, typer.Option(min=1, max=MAX_DECKS, help="Of a shoe.")] = 1,
    text: Annotated[bool, typer.Option("--text", help="A shoe a line, as `Td 4c …`.")] = False,
    seed: Annotated[
        str, typer.Option(help="Hex, 32 bytes or more: the same output every time.")
    ] = "",
) -> None:
    """Stream the random numbers of the house to standard output, for a test laboratory.

    Made by the functions that make real shoes, from fresh entropy of the operating system:
    croupier rng-export --raw | dieharder -a -g 200
    """
    if raw == final or (raw and text):
        raise typer.BadParameter("give --raw or --final; --text goes with --final")
    entropy = operating_system()
    if seed:
        try:
            entropy = fixed(bytes.fromhex(seed))
        except ValueError:
            raise typer.BadParameter(
                f"hex of at least {MIN_ENTROPY_BYTES} bytes", param_hint="--seed"
            ) from None
    stream = raw_blocks(entropy) if raw else final_shoes(entropy, decks)
    if text:
        stream = _lines(stream)
    # Whoever reads may have had enough.
    with contextlib.suppress(BrokenPipeError):
        for part in islice(stream, count):
            sys.stdout.buffer.write(part)
        sys.stdout.buffer.flush()
        return
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _lines(shoes: Iterator[bytes]) -> Iterator[bytes]:
    for shoe in shoes:
        yield (" ".join(str(DECK[code]) for code in shoe) + "\n").encode()

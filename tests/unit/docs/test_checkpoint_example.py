"""The checkpoint that docs/audit.md shows is a good one."""

from __future__ import annotations

from pathlib import Path

from shared.checkpoints.checkpoint import place_of, read_checkpoint
from shared.checkpoints.signed_note import NoteVerifier, split_notes

PAGE = Path(__file__).parents[3] / "docs" / "audit.md"


def test_the_example_is_signed_by_the_key_beside_it() -> None:
    shown = PAGE.read_text().partition("    $ croupier keys verifier\n")[2]
    lines = [line[4:] for line in shown.partition("\n\nThe lines are")[0].splitlines()]
    key, command, *notes = lines
    assert command == "$ croupier checkpoint save -"
    verifier = NoteVerifier.parse(key)
    partitions = []
    for note in split_notes("".join(f"{line}\n" for line in notes)):
        checkpoint = read_checkpoint(note, verifier)
        partitions.append(place_of(checkpoint.origin, verifier.name)[0])
        assert checkpoint.size > 0
    assert partitions == ["audit.0", "shuffle.0", "table.0", "wallet.0"]

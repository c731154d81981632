"""What is signed of a log: how many events it had, the root over them (C2SP tlog-checkpoint)."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from dataclasses import dataclass

from shared.checkpoints.signed_note import MalformedNoteError, NoteError, NoteVerifier
from shared.proofs.merkle import HASH_BYTES

MAX_SIZE = 2**63 - 1
_TEXT = re.compile(r"([^\n]+)\n(0|[1-9][0-9]{0,18})\n([A-Za-z0-9+/]{43}=)\n")


class OtherLogError(NoteError):
    """A checkpoint of another house, or of no partition."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The tree of `size` leaves, which are the event hashes of a partition in order, has `root`
    (32 bytes). `origin` says which log: `origin_of`."""

    origin: str
    size: int
    root: bytes

    def text(self) -> str:
        """The text of the note."""
        return f"{self.origin}\n{self.size}\n{b64encode(self.root).decode()}\n"

    @classmethod
    def parse(cls, text: str) -> Checkpoint:
        """The checkpoint that the text of a note says. Raises `MalformedNoteError`; also where it
        has more lines than the three: a house signs no others."""
        found = _TEXT.fullmatch(text)
        if found is None or int(found[2]) > MAX_SIZE:
            raise MalformedNoteError("not the text of a checkpoint")
        root = b64decode(found[3])
        if len(root) != HASH_BYTES or b64encode(root).decode() != found[3]:
            raise MalformedNoteError("not a root")
        return cls(found[1], int(found[2]), root)


def read_checkpoint(note: str, verifier: NoteVerifier) -> Checkpoint:
    """The checkpoint in a note that the key has signed. Raises `NoteError`."""
    return Checkpoint.parse(verifier.open(note))


def read_own(note: str, verifier: NoteVerifier) -> tuple[Checkpoint, str, int]:
    """The checkpoint in a note that the key has signed of the log that goes by its name, with the
    partition and the line. Raises `NoteError`, of which `OtherLogError` is one."""
    checkpoint = read_checkpoint(note, verifier)
    return checkpoint, *place_of(checkpoint.origin, verifier.name)


def origin_of(log_id: str, partition: str, line: int = 1) -> str:
    """`<log id>/<partition>`, and `/<line>` behind it but for the first: all partitions get a new
    line of checkpoints when the log is recovered after a loss, since the old ones may be of events
    that are gone. Lines have rising numbers."""
    return f"{log_id}/{partition}" + (f"/{line}" if line > 1 else "")


def place_of(origin: str, log_id: str) -> tuple[str, int]:
    """The partition and line of an origin of the log `log_id`. Raises `OtherLogError`."""
    found = re.fullmatch(r"/([a-z]+\.[0-9]+)(?:/([1-9][0-9]{0,8}))?", origin[len(log_id) :])
    if not origin.startswith(log_id) or found is None or found[2] == "1":
        raise OtherLogError(f"{origin} is not of the log {log_id}")
    return found[1], int(found[2] or 1)

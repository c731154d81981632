"""A table node of a version to come: it knows a newer baccarat, and writes a field into every event
that nobody knows today. `python -m tests.integration.table.newer_node`."""

from __future__ import annotations

import sys

from deploy.serve import serve
from shared.games import baccarat
from shared.table.codec import TableCodec
from shared.table.events import Event

NEW_FIELD = b"\xc0\x3e\x01"
"""Field 1000, a varint, 1: as protobuf writes it behind all that is known."""
NEW_VERSION = 2


def main() -> int:
    """Runs the node until it is told to stop."""
    known = TableCodec.encode

    def encode(self: TableCodec, event: Event, hand_id: str) -> bytes:
        return known(self, event, hand_id) + NEW_FIELD

    TableCodec.encode = encode  # type: ignore[method-assign]
    if "newer-rules" in sys.argv:
        baccarat.VERSION = NEW_VERSION
    return serve("table")


if __name__ == "__main__":
    sys.exit(main())

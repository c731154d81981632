"""Acknowledgements behind the updates that they follow from, whatever ways both have come.

A table that moves is watched again and sent its commands again each by itself, so that an answer
may be here before the updates of the same events. It waits for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MOST_HELD = 64


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """An acknowledgement on its way to the client: up to which version, and as it is written."""

    table_id: str
    version: int
    response: bytes


class Acknowledging:
    """What one client has been told of the tables it watches, and what it may hear only after
    more of that."""

    def __init__(self) -> None:
        self._told: dict[str, int] = {}
        self._held: dict[str, list[Acknowledged]] = {}

    def watch(self, table_id: str) -> None:
        """The client watches the table, from a picture on that is still to come."""
        self._told[table_id] = 0

    def told(self, table_id: str, version: int) -> Sequence[bytes]:
        """The client has been told of a table up to a version; what it may hear now, in order."""
        if table_id in self._told:
            self._told[table_id] = version
        held = self._held.pop(table_id, [])
        later = [each for each in held if each.version > version]
        if later:
            self._held[table_id] = later
        return [each.response for each in held if each.version <= version]

    def acknowledged(self, answer: Acknowledged) -> Sequence[bytes]:
        """What the client may hear now that this has come: the answer, or nothing yet. One who has
        very many to wait for hears the oldest."""
        if self._told.get(answer.table_id, answer.version) >= answer.version:
            return [answer.response]
        held = self._held.setdefault(answer.table_id, [])
        held.append(answer)
        return [held.pop(0).response] if len(held) > MOST_HELD else []

    def stop(self, table_id: str) -> Sequence[Acknowledged]:
        """The client does not watch the table any more; what it has to wait for no longer."""
        self._told.pop(table_id, None)
        return self._held.pop(table_id, [])

    @property
    def nothing_held(self) -> bool:
        """Whether no answer waits for its updates."""
        return not self._held

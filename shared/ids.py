"""Ids that follow from where an event stands, so that whoever asks again asks with the same id."""

from __future__ import annotations

from uuid import NAMESPACE_URL, UUID, uuid5

NAMESPACE_CROUPIER = uuid5(NAMESPACE_URL, "https://croupier.invalid/events")


def event_id(stream: str, version: int) -> UUID:
    """The id of the event at `version` of `stream` ("table/b1"), a version 5 UUID (RFC 9562)."""
    return uuid5(NAMESPACE_CROUPIER, f"{stream}:{version}")

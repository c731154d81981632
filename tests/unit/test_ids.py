"""Ids that follow from where an event stands."""

from __future__ import annotations

from uuid import NAMESPACE_URL, uuid5

from shared.ids import event_id


def test_an_events_id_is_the_uuid_5_of_its_place() -> None:
    """Written out in `shared.ids`; whoever reads the log elsewhere has it from RFC 9562."""
    events = uuid5(NAMESPACE_URL, "https://croupier.invalid/events")
    for stream, version in (("table/b1", 1), ("shuffle/b1-s12", 2**40), ("wallet/köln", 0)):
        assert event_id(stream, version) == uuid5(events, f"{stream}:{version}")

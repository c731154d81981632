"""An acknowledgement waits for the updates that it follows from."""

from __future__ import annotations

from services.table.acknowledging import MOST_HELD, Acknowledged, Acknowledging


def answer(version: int, table_id: str = "t1") -> Acknowledged:
    return Acknowledged(table_id, version, b"%d" % version)


def test_what_the_client_has_seen_is_acknowledged_at_once() -> None:
    acknowledging = Acknowledging()
    acknowledging.watch("t1")
    assert acknowledging.told("t1", 7) == []
    assert acknowledging.acknowledged(answer(5)) == [b"5"]
    assert acknowledging.acknowledged(answer(7)) == [b"7"]


def test_a_table_that_is_not_watched_has_no_updates_to_wait_for() -> None:
    acknowledging = Acknowledging()
    acknowledging.watch("t2")
    assert acknowledging.acknowledged(answer(5)) == [b"5"]


def test_answers_wait_for_their_updates_in_order() -> None:
    acknowledging = Acknowledging()
    acknowledging.watch("t1")
    assert [*acknowledging.acknowledged(answer(5)), *acknowledging.acknowledged(answer(9))] == []
    assert acknowledging.told("t2", 20) == []
    assert acknowledging.told("t1", 4) == []
    assert acknowledging.told("t1", 8) == [b"5"]
    assert acknowledging.told("t1", 10) == [b"9"]
    assert acknowledging.told("t1", 11) == []


def test_a_table_that_is_watched_anew_is_seen_anew() -> None:
    acknowledging = Acknowledging()
    acknowledging.watch("t1")
    assert acknowledging.told("t1", 10) == []
    acknowledging.watch("t1")
    assert acknowledging.acknowledged(answer(10)) == []
    assert acknowledging.told("t1", 10) == [b"10"]


def test_who_watches_no_more_waits_no_more() -> None:
    acknowledging = Acknowledging()
    acknowledging.watch("t1")
    assert acknowledging.acknowledged(answer(5)) == []
    assert acknowledging.stop("t1") == [answer(5)]
    assert acknowledging.acknowledged(answer(6)) == [b"6"]


def test_the_end_of_the_stream_leaves_nothing_unsaid() -> None:
    acknowledging = Acknowledging()
    assert acknowledging.nothing_held
    for table_id in ("t1", "t2"):
        acknowledging.watch(table_id)
        assert acknowledging.acknowledged(answer(5, table_id)) == []
    assert acknowledging.told("t1", 5) == [b"5"]
    assert not acknowledging.nothing_held
    assert acknowledging.told("t2", 5) == [b"5"]
    assert acknowledging.nothing_held


def test_only_so_many_wait() -> None:
    acknowledging = Acknowledging()
    acknowledging.watch("t1")
    for version in range(1, MOST_HELD + 1):
        assert acknowledging.acknowledged(answer(version)) == []
    assert acknowledging.acknowledged(answer(MOST_HELD + 1)) == [b"1"]

"""A process that keeps dying is started again less and less often."""

from __future__ import annotations

from deploy.keeper import next_pause_s


def test_pauses_double_up_to_ten_seconds() -> None:
    pauses, pause_s = [], 0.0
    for _ in range(9):
        pause_s = next_pause_s(pause_s, lived_s=0.5)
        pauses.append(pause_s)
    assert pauses == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10.0, 10.0]


def test_after_a_steady_life_it_begins_anew() -> None:
    assert next_pause_s(10.0, lived_s=11) == 0.1

"""Every clause of the rules has a test of its name; the map of them is in the documentation."""

from __future__ import annotations

import pytest

from tests.spec.clauses import MAP, as_page, clauses, held

HOW_MANY = {"TAB": 13, "HND": 3, "BAC": 12, "BTL": 9, "CHE": 8, "OAS": 16, "DRW": 15}


def test_the_rules_have_all_their_clauses_in_order() -> None:
    numbered = [
        f"{game}-{number:02}" for game, last in HOW_MANY.items() for number in range(1, last + 1)
    ]
    numbered.insert(numbered.index("BAC-10"), "BAC-09b")
    assert clauses() == numbered


@pytest.mark.parametrize("clause", clauses())
def test_every_clause_has_a_test(clause: str) -> None:
    assert held().get(clause), f"no test is named test_{clause.replace('-', '_')}_…"


def test_no_test_names_a_clause_that_is_not_there() -> None:
    assert sorted(held().keys() - clauses()) == []


def test_the_map_of_clauses_is_up_to_date() -> None:
    page = as_page()
    if MAP.read_text(encoding="utf-8") != page:
        MAP.write_text(page, encoding="utf-8")
        pytest.fail(
            f"{MAP.name} was out of date and has been written anew: look at it and commit it"
        )

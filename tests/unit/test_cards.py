"""Cards as they are numbered and written."""

import pytest

from shared.cards import DECK, RANKS, SUITS, Card, parse_card


def test_a_deck_has_each_rank_of_each_suit_once() -> None:
    assert [str(card) for card in DECK] == [rank + suit for rank in RANKS for suit in SUITS]
    assert list(DECK) == list(range(52))


def test_every_card_reads_as_it_is_written() -> None:
    assert tuple(parse_card(str(card)) for card in DECK) == DECK
    assert repr(parse_card("Td")) == "Card('Td')"


def test_rank_and_suit() -> None:
    assert (parse_card("2c").rank, parse_card("2c").suit) == (0, 0)
    assert (parse_card("As").rank, parse_card("As").suit) == (12, 3)
    assert Card(33).rank == RANKS.index("T")


@pytest.mark.parametrize("text", ["", "T", "10d", "1c", "tD", "dT", "Td ", "Tx", "??"])
def test_anything_else_is_no_card(text: str) -> None:
    with pytest.raises(ValueError, match="no such card"):
        parse_card(text)

"""Money: a currency and whole minor units."""

from typing import Any

import pytest

from shared.money import LEAST_MINOR, MOST_MINOR, Money, MoneyError


def test_sums_of_one_currency() -> None:
    assert Money("EUR", 250) + Money("EUR", 5) == Money("EUR", 255)
    assert Money("EUR", 250) - Money("EUR", 300) == Money("EUR", -50)
    assert -Money("CHP", 7) == Money("CHP", -7)
    assert str(Money("EUR", 250)) == "250 EUR"


def test_currencies_do_not_mix() -> None:
    with pytest.raises(MoneyError) as refused:
        Money("EUR", 1) + Money("USD", 1)
    assert refused.value.reason == "CURRENCY_MISMATCH"
    with pytest.raises(MoneyError, match="EUR and USD"):
        Money("EUR", 1) - Money("USD", 1)


@pytest.mark.parametrize("currency", ["", "eur", "EURO", "EU1", "ÄÖÜ", "EUR\n", None])
def test_a_currency_is_three_capital_letters(currency: Any) -> None:
    with pytest.raises(MoneyError) as refused:
        Money(currency, 1)
    assert (refused.value.reason, refused.value.field) == ("BAD_AMOUNT", "currency")


@pytest.mark.parametrize("minor", [1.0, "1", True, None, MOST_MINOR + 1, LEAST_MINOR - 1])
def test_an_amount_is_a_whole_number_of_64_bits(minor: Any) -> None:
    with pytest.raises(MoneyError) as refused:
        Money("EUR", minor)
    assert (refused.value.reason, refused.value.field) == ("BAD_AMOUNT", "minor_units")


def test_a_sum_that_overflows_is_refused() -> None:
    assert Money("EUR", MOST_MINOR - 1) + Money("EUR", 1) == Money("EUR", MOST_MINOR)
    with pytest.raises(MoneyError, match="64 bits"):
        Money("EUR", MOST_MINOR) + Money("EUR", 1)
    with pytest.raises(MoneyError, match="64 bits"):
        -Money("EUR", LEAST_MINOR)

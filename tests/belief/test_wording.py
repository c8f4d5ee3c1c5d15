"""Numbers as people read them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.belief.wording import (
    format_chance,
    format_number,
    format_odds,
    format_percent,
    format_percent_up,
)


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (0.01, "1%"),
        (0.04764682961988097, "4.76%"),
        (0.215, "21.5%"),
        (0.001, "0.1%"),
        (0.9, "90%"),
        (0.95, "95%"),
        (0.9955, "99.55%"),
        (0.29999999999999999, "30%"),
        (2e-7, "1 in 5,000,000"),
        (0, "0%"),
        (1, "100%"),
    ],
)
def test_percentages_keep_what_matters(p: float, text: str) -> None:
    assert format_percent(p) == text


@given(st.floats(1e-5, 1 - 1e-12))
def test_a_percentage_is_near_and_never_certain(p: float) -> None:
    value = float(format_percent(p).rstrip("%")) / 100
    assert 0 < value < 1
    assert value == pytest.approx(p, rel=6e-3)
    assert 1 - value == pytest.approx(1 - p, rel=6e-2)


@given(st.floats(1e-15, 1e-3, exclude_max=True))
def test_a_small_chance_is_one_in_so_many(p: float) -> None:
    found = re.fullmatch(r"1 in ([\d,]+)", format_chance(p))
    assert found is not None
    assert 1 / float(found[1].replace(",", "")) == pytest.approx(p, rel=6e-3)


@given(st.floats(5e-324, 1e-15, exclude_max=True))
def test_a_tiny_chance_is_told_by_its_power_of_ten_and_never_understated(p: float) -> None:
    found = re.fullmatch(r"1 in 10\^(\d+)", format_chance(p))
    assert found is not None
    assert p * (1 - 1e-9) <= float(f"1e-{found[1]}") <= 10.1 * p
    assert format_percent_up(p) == format_percent(p) == format_chance(p)


def test_odds_are_against_the_smaller_side() -> None:
    assert [format_odds(p) for p in (0.01, 0.05, 0.5, 0.75)] == ["1 to 99", "1 to 19", "1 to 1", "3 to 1"]


def test_numbers_have_no_exponent() -> None:
    assert [format_number(x) for x in (1.5e-9, 0, 1234567.0, 5.0)] == ["0.0000000015", "0", "1,234,567", "5"]

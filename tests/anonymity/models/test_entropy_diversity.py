"""Entropy l-diversity: ties, which floats get wrong, are decided exactly."""

from __future__ import annotations

from fractions import Fraction
from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.anonymity.models import EntropyDiversity
from discreet.anonymity.models.entropy_diversity import is_spread_enough
from tests.anonymity.models.tables import table


def holds(counts: list[int], l: Fraction | int | float | str) -> bool:
    model = EntropyDiversity(column="disease", l=Fraction(l))
    return bool(model.judge(table([{f"{place:03}": n for place, n in enumerate(counts)}]))[0])


@pytest.mark.parametrize("n", [1, 2, 3, 5, 7, 11, 1_000_003, 49_999_999, 10**11])
@pytest.mark.parametrize("l", [2, 3, 7, 10])
def test_equal_counts_are_as_diverse_as_they_are_many(n: int, l: int) -> None:
    """The class (3, 3) is 2-diverse."""
    assert holds([n] * l, l)
    assert not holds([n] * l, Fraction(l) + Fraction(1, 10**12))
    assert not holds([n] * (l - 1), l)


@pytest.mark.parametrize("factor", [1, 3, 7_919, 10**7])
def test_unequal_counts_can_tie_too(factor: int) -> None:
    """8**8 = 4**8 * 4**4: the entropy of (4, 1, 1, 1, 1) is ln 4."""
    tied = [4 * factor, factor, factor, factor, factor]
    assert holds(tied, 4)
    assert not holds(tied, Fraction(4) + Fraction(1, 10**15))


@pytest.mark.parametrize("n", [1_000, 10**6, 10**8])
def test_one_row_off_a_tie_is_no_tie(n: int) -> None:
    """At 1e8 rows the entropies of (n, n) and (n + 1, n - 1) differ by less than a float shows."""
    assert holds([n, n], 2)
    assert not holds([n + 1, n - 1], 2)
    assert holds([n + 1, n - 1], Fraction(2) - Fraction(1, n))


@settings(max_examples=300)
@given(st.lists(st.integers(1, 30), min_size=1, max_size=6), st.fractions(1, 7, max_denominator=6))
def test_settling_agrees_with_whole_number_powers(counts: list[int], l: Fraction) -> None:
    n = sum(counts)
    exact = n**n * l.denominator**n >= l.numerator**n * prod(c**c for c in counts)
    assert is_spread_enough(tuple(counts), l) == exact
    assert holds(counts, l) == exact

"""Coins, uniform integers and bits: their laws, to the last bit where that can be written down."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.randomness import Randomness
from discreet.local.bits import (
    AT_ONCE,
    BEYOND,
    CHUNKS,
    PATTERNS,
    WINDOW,
    bit_sums,
    bits,
    ones,
    put,
    table_for,
    unpacked,
)
from discreet.local.draws import coins, coins_each, uniform
from discreet.local.thresholds import WHOLE, mixture_threshold, odds_threshold
from discreet.mechanisms.sampling import bound_exp
from tests.statistical import assert_probability

TRIALS = 400_000
EPSILONS = st.fractions(Fraction(1, 10**6), 30, max_denominator=10**6)
THRESHOLDS = st.integers(1, WHOLE - 1)


def of_words(*words: int) -> Randomness:
    """A source whose 64-bit words are these, one after the other."""
    stream: Iterator[int] = iter(b"".join(word.to_bytes(8, "little") for word in words))
    return Randomness(source=lambda count: bytes(next(stream) for _ in range(count)))


@given(EPSILONS, st.fractions(Fraction(1, 1000), 1000, max_denominator=1000))
def test_odds_are_never_above_what_epsilon_allows_and_short_of_it_by_less_than_a_word(
    epsilon: Fraction, weight: Fraction
) -> None:
    t = odds_threshold(epsilon, weight)
    least, most = bound_exp(epsilon, 80)
    assert Fraction(t, WHOLE - t) * weight * most <= 1 + Fraction(1, 10**50)
    assert Fraction(t + 1, WHOLE) > 1 / (1 + weight * most)
    assert Fraction(t, WHOLE) <= 1 / (1 + weight * least)


@given(EPSILONS, st.fractions(1, 1000, max_denominator=1000))
def test_a_mixture_amplifies_by_at_most_what_epsilon_allows(epsilon: Fraction, ratio: Fraction) -> None:
    t = mixture_threshold(epsilon, ratio)
    gamma = 1 + Fraction(t, WHOLE - t) * ratio
    assert gamma * bound_exp(epsilon, 80)[0] <= 1


@pytest.mark.parametrize("threshold", [1, WHOLE // 3, WHOLE // 2, WHOLE - 1, WHOLE])
def test_coins_follow_their_threshold(threshold: int, random: Randomness) -> None:
    hits = int(coins(threshold, TRIALS, random).sum())
    assert_probability(hits, TRIALS, threshold / WHOLE, family=5)


def test_a_coin_whose_first_bits_are_those_of_its_threshold_is_decided_by_the_other_48() -> None:
    threshold = (0xABCD << 48) | 0x123456789ABC
    for rest, told in ((0x123456789ABB, True), (0x123456789ABC, False), (0, True), (2**48 - 1, False)):
        source = of_words(0xABCD, rest << 16)
        assert bool(coins(threshold, 1, source)[0]) is told
        each = coins_each(np.array([threshold], np.uint64), of_words(0xABCD, rest << 16))
        assert bool(each[0]) is told


@pytest.mark.parametrize("bound", [2, 3, 127, 1024, 1025, 10_007])
def test_uniform_integers_are_uniform(bound: int, random: Randomness) -> None:
    drawn = uniform(bound, TRIALS, random)
    assert drawn.min() >= 0
    for part in range(min(bound, 7)):
        chance = len(range(part, bound, 7)) / bound
        assert_probability(int((drawn % 7 == part).sum()), TRIALS, chance, family=42)


def test_draws_that_would_favour_a_value_are_drawn_again() -> None:
    """Of 16 bits times 3, the lowest 2**16 mod 3 = 1 is refused: 0 is drawn again, and 1 gives 0."""
    assert uniform(3, 1, of_words(0, 1)).tolist() == [0]
    assert uniform(3, 1, of_words(0, 0xFFFF)).tolist() == [2]


@given(THRESHOLDS)
def test_the_table_gives_every_pattern_its_probability_in_all_its_places(threshold: int) -> None:
    table = table_for(threshold)
    owned = np.bincount(table.patterns[: table.decided], minlength=PATTERNS)
    ends = [_number(row) for row in table.bounds]
    assert ends[-1] == 1 << (WINDOW + 64 * CHUNKS)
    starts = [table.decided << (64 * CHUNKS), *ends[:-1]]
    for pattern in range(PATTERNS):
        ones = pattern.bit_count()
        weight = threshold**ones * (WHOLE - threshold) ** (8 - ones)
        beyond = (ends[pattern] - starts[pattern]) >> (64 * CHUNKS - BEYOND)
        assert (int(owned[pattern]) << BEYOND) + beyond == weight


@given(THRESHOLDS)
def test_bits_are_put_back_where_they_told_nothing(threshold: int) -> None:
    """The 256 windows that differ in these bits alone have one pattern, or the bits are not put back."""
    table = table_for(threshold)
    assert table.spared % PATTERNS == 0
    assert table.spared <= table.decided
    groups = table.patterns[: table.spared].reshape(-1, PATTERNS)
    assert np.all(groups == groups[:, :1])


def test_what_is_put_back_makes_the_next_windows() -> None:
    """A row of 2**16 blocks leaves spare bits; the next row reads these before it asks for others."""
    threshold, drawn = WHOLE // 3, []

    def source(count: int) -> bytes:
        drawn.append(os.urandom(count))
        return drawn[-1]

    found = bits(threshold, 2, 8 * AT_ONCE, Randomness(source=source)).view(np.uint8)
    table = table_for(threshold)
    windows = np.frombuffer(drawn[0], np.uint16)
    kept = (windows[windows < table.spared] & 255).astype(np.uint8)
    again = kept[: kept.size // 2 * 2].view(np.uint16)
    assert len(drawn[2]) == 8 * math.ceil((AT_ONCE - again.size) / 4)
    settled = again < table.decided
    assert np.array_equal(found[1, : again.size][settled], table.patterns[again][settled])


def _number(row: np.ndarray[tuple[int], np.dtype[np.uint64]]) -> int:
    total = 0
    for chunk in row.tolist():
        total = (total << 64) | chunk
    return total


def test_what_the_window_leaves_open_is_settled_by_the_bits_beyond() -> None:
    """A window past the decided ones, and then words just below and at the boundary of a pattern.

    At the boundary's first word nothing is told yet: seven more are read.
    """
    threshold = WHOLE // 3
    table = table_for(threshold)
    place = next(
        i for i in range(PATTERNS - 1) if table.bounds[i, 0] == table.decided and table.bounds[i, 1] > 1
    )
    window, *beyond = (int(each) for each in table.bounds[place])
    at = bits(threshold, 1, 8, of_words(window, *beyond))
    just_below = bits(threshold, 1, 8, of_words(window, *beyond[:-1], beyond[-1] - 1))
    below = bits(threshold, 1, 8, of_words(window, beyond[0] - 1))
    assert (int(below[0, 0]), int(just_below[0, 0]), int(at[0, 0])) == (place, place, place + 1)


@pytest.mark.parametrize("share", [Fraction(1, 1000), Fraction(27, 100), Fraction(1, 2), Fraction(9, 10)])
def test_bits_are_set_as_often_as_stated_and_independent_of_each_other(
    share: Fraction, random: Randomness
) -> None:
    threshold = int(share * WHOLE)
    found = unpacked(bits(threshold, TRIALS // 4, 70, random), 70)
    for place in (0, 7, 8, 63, 64, 69):
        assert_probability(int(found[:, place].sum()), TRIALS // 4, float(share), family=60)
    for one, other in ((0, 1), (0, 8), (7, 8), (63, 64), (0, 69)):
        both = int((found[:, one] & found[:, other]).sum())
        assert_probability(both, TRIALS // 4, float(share) ** 2, family=60)
    rows = int((found[0::2, 0] & found[1::2, 0]).sum())
    assert_probability(rows, TRIALS // 8, float(share) ** 2, family=60)


@pytest.mark.parametrize(("threshold", "wanted"), [(0, 0), (WHOLE, 1)])
def test_bits_that_are_certain_are_never_drawn_otherwise(
    threshold: int, wanted: int, random: Randomness
) -> None:
    found = unpacked(bits(threshold, 1000, 70, random), 70)
    assert np.all(found == bool(wanted))


@pytest.mark.parametrize("width", [1, 8, 63, 64, 65, 128, 1000])
def test_no_bit_beyond_the_width_is_set(width: int, random: Randomness) -> None:
    found = bits(WHOLE // 2, 300, width, random)
    assert bit_sums(found)[width:].sum() == 0
    assert found.shape == (300, math.ceil(width / 64))


@given(st.integers(0, WHOLE - 1))
def test_ones_are_the_bits_of_a_word_that_are_set(word: int) -> None:
    assert ones(np.uint64(word)) == word.bit_count()


@pytest.mark.parametrize("rows", [0, 1, 255, 256, 1000])
def test_sums_of_bits_are_those_of_the_unpacked_bits(rows: int, random: Randomness) -> None:
    found = bits(WHOLE // 3, rows, 130, random)
    assert np.array_equal(bit_sums(found)[:130], unpacked(found, 130).sum(axis=0))


def test_put_sets_and_clears_just_the_named_bits(random: Randomness) -> None:
    before = bits(WHOLE // 2, 500, 130, random)
    after, places = before.copy(), np.arange(500) % 130
    put(after, places, np.arange(500) % 3 == 0)
    wanted = unpacked(before, 130)
    wanted[np.arange(500), places] = np.arange(500) % 3 == 0
    assert np.array_equal(unpacked(after, 130), wanted)

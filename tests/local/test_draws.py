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
from discreet.local.bit_sampling import (
    BEYOND,
    BLOCKS_PER_BATCH,
    CHUNKS,
    PATTERNS,
    WINDOW,
    assign_bits,
    build_bit_table,
    count_set_bits,
    popcount,
    sample_bits,
    unpack_bits,
)
from discreet.local.exact_sampling import (
    THRESHOLD_SCALE,
    compute_mixture_probability,
    compute_odds_probability,
    fraction_to_threshold,
    sample_coins,
    sample_coins_each,
    sample_uniform,
)
from discreet.mechanisms.sampling import bound_exp
from tests.statistical import assert_probability

TRIALS = 400_000
EPSILONS = st.fractions(Fraction(1, 10**6), 30, max_denominator=10**6)
THRESHOLDS = st.integers(1, THRESHOLD_SCALE - 1)


def of_words(*words: int) -> Randomness:
    """A source whose 64-bit words are these, one after the other."""
    stream: Iterator[int] = iter(b"".join(word.to_bytes(8, "little") for word in words))
    return Randomness(source=lambda count: bytes(next(stream) for _ in range(count)))


@given(EPSILONS, st.fractions(Fraction(1, 1000), 1000, max_denominator=1000))
def test_odds_are_never_above_what_epsilon_allows_and_short_of_it_by_less_than_a_word(
    epsilon: Fraction, weight: Fraction
) -> None:
    t = fraction_to_threshold(compute_odds_probability(epsilon, weight))
    least, most = bound_exp(epsilon, 80)
    assert Fraction(t, THRESHOLD_SCALE - t) * weight * most <= 1 + Fraction(1, 10**50)
    assert Fraction(t + 1, THRESHOLD_SCALE) > 1 / (1 + weight * most)
    assert Fraction(t, THRESHOLD_SCALE) <= 1 / (1 + weight * least)


@given(EPSILONS, st.fractions(1, 1000, max_denominator=1000))
def test_a_mixture_amplifies_by_at_most_what_epsilon_allows(epsilon: Fraction, ratio: Fraction) -> None:
    t = fraction_to_threshold(compute_mixture_probability(epsilon, ratio))
    gamma = 1 + Fraction(t, THRESHOLD_SCALE - t) * ratio
    assert gamma * bound_exp(epsilon, 80)[0] <= 1


@pytest.mark.parametrize(
    "threshold", [1, THRESHOLD_SCALE // 3, THRESHOLD_SCALE // 2, THRESHOLD_SCALE - 1, THRESHOLD_SCALE]
)
def test_coins_follow_their_threshold(threshold: int, random: Randomness) -> None:
    hits = int(sample_coins(threshold, TRIALS, random).sum())
    assert_probability(hits, TRIALS, threshold / THRESHOLD_SCALE, family=5)


def test_a_coin_whose_first_bits_are_those_of_its_threshold_is_decided_by_the_other_48() -> None:
    threshold = (0xABCD << 48) | 0x123456789ABC
    for rest, told in ((0x123456789ABB, True), (0x123456789ABC, False), (0, True), (2**48 - 1, False)):
        source = of_words(0xABCD, rest << 16)
        assert bool(sample_coins(threshold, 1, source)[0]) is told
        each = sample_coins_each(np.array([threshold], np.uint64), of_words(0xABCD, rest << 16))
        assert bool(each[0]) is told


@pytest.mark.parametrize("bound", [2, 3, 127, 1024, 1025, 10_007])
def test_uniform_integers_are_uniform(bound: int, random: Randomness) -> None:
    drawn = sample_uniform(bound, TRIALS, random)
    assert drawn.min() >= 0
    for part in range(min(bound, 7)):
        chance = len(range(part, bound, 7)) / bound
        assert_probability(int((drawn % 7 == part).sum()), TRIALS, chance, family=42)


def test_draws_that_would_favour_a_value_are_drawn_again() -> None:
    """Of 16 bits times 3, the lowest 2**16 mod 3 = 1 is refused: 0 is drawn again, and 1 gives 0."""
    assert sample_uniform(3, 1, of_words(0, 1)).tolist() == [0]
    assert sample_uniform(3, 1, of_words(0, 0xFFFF)).tolist() == [2]


@given(THRESHOLDS)
def test_the_table_gives_every_pattern_its_probability_in_all_its_places(threshold: int) -> None:
    table = build_bit_table(threshold)
    owned = np.bincount(table.patterns[: table.decided_below], minlength=PATTERNS)
    ends = [_number(row) for row in table.bounds]
    assert ends[-1] == 1 << (WINDOW + 64 * CHUNKS)
    starts = [table.decided_below << (64 * CHUNKS), *ends[:-1]]
    for pattern in range(PATTERNS):
        ones = pattern.bit_count()
        weight = threshold**ones * (THRESHOLD_SCALE - threshold) ** (8 - ones)
        beyond = (ends[pattern] - starts[pattern]) >> (64 * CHUNKS - BEYOND)
        assert (int(owned[pattern]) << BEYOND) + beyond == weight


@given(THRESHOLDS)
def test_bits_are_put_back_where_they_told_nothing(threshold: int) -> None:
    """The 256 windows that differ in these bits alone have one pattern, or the bits are not put back."""
    table = build_bit_table(threshold)
    assert table.reusable_below % PATTERNS == 0
    assert table.reusable_below <= table.decided_below
    groups = table.patterns[: table.reusable_below].reshape(-1, PATTERNS)
    assert np.all(groups == groups[:, :1])


def test_what_is_put_back_makes_the_next_windows() -> None:
    """A row of 2**16 blocks leaves spare bits; the next row reads these before it asks for others."""
    threshold, drawn = THRESHOLD_SCALE // 3, []

    def source(count: int) -> bytes:
        drawn.append(os.urandom(count))
        return drawn[-1]

    found = sample_bits(threshold, 2, 8 * BLOCKS_PER_BATCH, Randomness(source=source)).view(np.uint8)
    table = build_bit_table(threshold)
    windows = np.frombuffer(drawn[0], np.uint16)
    kept = (windows[windows < table.reusable_below] & 255).astype(np.uint8)
    again = kept[: kept.size // 2 * 2].view(np.uint16)
    assert len(drawn[2]) == 8 * math.ceil((BLOCKS_PER_BATCH - again.size) / 4)
    settled = again < table.decided_below
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
    threshold = THRESHOLD_SCALE // 3
    table = build_bit_table(threshold)
    place = next(
        i for i in range(PATTERNS - 1) if table.bounds[i, 0] == table.decided_below and table.bounds[i, 1] > 1
    )
    window, *beyond = (int(each) for each in table.bounds[place])
    at = sample_bits(threshold, 1, 8, of_words(window, *beyond))
    just_below = sample_bits(threshold, 1, 8, of_words(window, *beyond[:-1], beyond[-1] - 1))
    below = sample_bits(threshold, 1, 8, of_words(window, beyond[0] - 1))
    assert (int(below[0, 0]), int(just_below[0, 0]), int(at[0, 0])) == (place, place, place + 1)


@pytest.mark.parametrize("share", [Fraction(1, 1000), Fraction(27, 100), Fraction(1, 2), Fraction(9, 10)])
def test_bits_are_set_as_often_as_stated_and_independent_of_each_other(
    share: Fraction, random: Randomness
) -> None:
    threshold = int(share * THRESHOLD_SCALE)
    found = unpack_bits(sample_bits(threshold, TRIALS // 4, 70, random), 70)
    for place in (0, 7, 8, 63, 64, 69):
        assert_probability(int(found[:, place].sum()), TRIALS // 4, float(share), family=60)
    for one, other in ((0, 1), (0, 8), (7, 8), (63, 64), (0, 69)):
        both = int((found[:, one] & found[:, other]).sum())
        assert_probability(both, TRIALS // 4, float(share) ** 2, family=60)
    rows = int((found[0::2, 0] & found[1::2, 0]).sum())
    assert_probability(rows, TRIALS // 8, float(share) ** 2, family=60)


@pytest.mark.parametrize(("threshold", "wanted"), [(0, 0), (THRESHOLD_SCALE, 1)])
def test_bits_that_are_certain_are_never_drawn_otherwise(
    threshold: int, wanted: int, random: Randomness
) -> None:
    found = unpack_bits(sample_bits(threshold, 1000, 70, random), 70)
    assert np.all(found == bool(wanted))


@pytest.mark.parametrize("width", [1, 8, 63, 64, 65, 128, 1000])
def test_no_bit_beyond_the_width_is_set(width: int, random: Randomness) -> None:
    found = sample_bits(THRESHOLD_SCALE // 2, 300, width, random)
    assert count_set_bits(found)[width:].sum() == 0
    assert found.shape == (300, math.ceil(width / 64))


@given(st.integers(0, THRESHOLD_SCALE - 1))
def test_ones_are_the_bits_of_a_word_that_are_set(word: int) -> None:
    assert popcount(np.uint64(word)) == word.bit_count()


@pytest.mark.parametrize("rows", [0, 1, 255, 256, 1000])
def test_sums_of_bits_are_those_of_the_unpacked_bits(rows: int, random: Randomness) -> None:
    found = sample_bits(THRESHOLD_SCALE // 3, rows, 130, random)
    assert np.array_equal(count_set_bits(found)[:130], unpack_bits(found, 130).sum(axis=0))


def test_put_sets_and_clears_just_the_named_bits(random: Randomness) -> None:
    before = sample_bits(THRESHOLD_SCALE // 2, 500, 130, random)
    after, places = before.copy(), np.arange(500) % 130
    assign_bits(after, places, np.arange(500) % 3 == 0)
    wanted = unpack_bits(before, 130)
    wanted[np.arange(500), places] = np.arange(500) % 3 == 0
    assert np.array_equal(unpack_bits(after, 130), wanted)

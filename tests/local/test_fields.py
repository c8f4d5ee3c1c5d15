"""Finite fields and the hash functions over them."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from discreet.core.errors import InvalidParameterError
from discreet.local import LocalHashing
from discreet.local.hadamard_response import walsh_hadamard_transform
from discreet.local.local_hashing import make_finite_field, transform_counts, transform_weights

SIZES = (2, 3, 4, 5, 7, 8, 16)


@pytest.mark.parametrize("size", SIZES)
def test_tables_are_those_of_a_field(size: int) -> None:
    field = make_finite_field(size)
    add, times = field.add, field.multiply
    for a, b, c in product(range(min(size, 8)), repeat=3):
        assert add[a, b] == add[b, a]
        assert times[a, b] == times[b, a]
        assert add[add[a, b], c] == add[a, add[b, c]]
        assert times[times[a, b], c] == times[a, times[b, c]]
        assert times[a, add[b, c]] == add[times[a, b], times[a, c]]
    assert all(sorted(row) == list(range(size)) for row in add)
    assert all(sorted(row) == list(range(size)) for row in times[1:])
    assert times[1].tolist() == list(range(size))


@pytest.mark.parametrize("size", [1, 6, 9, 10, 15])
def test_other_sizes_are_refused(size: int) -> None:
    with pytest.raises(InvalidParameterError, match="a prime or a power of 2"):
        make_finite_field(size)


@pytest.mark.parametrize(("size", "values"), [(2, 5), (3, 10), (4, 17), (5, 6), (8, 9)])
def test_two_values_meet_in_exactly_one_seed_of_so_many_as_there_are_buckets(size: int, values: int) -> None:
    operator = LocalHashing(values=values, buckets=size, truth=Fraction("0.9"))
    outputs = np.arange(operator.outputs)
    held = operator.support_mask(outputs, np.arange(values)[:, None])
    together = (held[:, None, :] & held[None, :, :]).sum(axis=2)
    assert np.all(np.diag(together) == operator.seeds)
    assert np.all(together[~np.eye(values, dtype=bool)] * size == operator.seeds)


@pytest.mark.parametrize(("size", "digits"), [(2, 4), (3, 3), (4, 2), (5, 2)])
def test_transforms_are_the_sums_that_they_stand_for(size: int, digits: int) -> None:
    generator = np.random.default_rng(3)
    seeds = size**digits
    operator = LocalHashing(values=seeds, buckets=size, truth=Fraction("0.9"))
    held = operator.support_mask(np.arange(seeds * size), np.arange(seeds)[:, None])
    counts, weights = generator.integers(0, 100, seeds * size), generator.normal(size=seeds)
    found = transform_counts(counts.reshape(-1, size), make_finite_field(size), digits)
    assert np.array_equal(found, held @ counts)
    assert transform_weights(weights, make_finite_field(size), digits).ravel() == pytest.approx(
        weights @ held
    )


def test_the_hadamard_transform_is_its_matrix() -> None:
    places = np.arange(16)
    matrix = 1 - 2 * (np.bitwise_count(places[:, None] & places) & 1).astype(np.int64)
    vector = np.random.default_rng(4).integers(-50, 50, 16)
    assert np.array_equal(walsh_hadamard_transform(vector), matrix @ vector)

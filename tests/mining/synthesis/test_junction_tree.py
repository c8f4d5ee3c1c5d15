"""Junction tree: everything that it says is what the whole distribution, written out, would say."""

from __future__ import annotations

from itertools import chain, combinations
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.mechanisms.sampling import Floats
from discreet.mining.synthesis.junction_tree import JunctionTree, find_cliques
from discreet.mining.tabulation.cells import Columns

SHAPES = st.lists(st.integers(1, 3), min_size=2, max_size=5).map(tuple)


@st.composite
def models(draw: st.DrawFn) -> tuple[tuple[int, ...], dict[Columns, Floats]]:
    shape = draw(SHAPES)
    places = range(len(shape))
    every = list(chain.from_iterable(combinations(places, size) for size in (1, 2, 3)))
    sets = draw(st.lists(st.sampled_from(every), min_size=1, max_size=6, unique=True))
    dice = np.random.default_rng(draw(st.integers(0, 1000)))
    return shape, {each: dice.normal(0, 2, [shape[place] for place in each]) for each in sets}


def written_out(shape: tuple[int, ...], potentials: dict[Columns, Floats]) -> Floats:
    table = np.zeros(shape)
    for columns, potential in potentials.items():
        table += potential.reshape([size if place in columns else 1 for place, size in enumerate(shape)])
    return np.exp(table)


def calibrated(
    shape: tuple[int, ...], potentials: dict[Columns, Floats]
) -> tuple[JunctionTree, tuple[Floats, ...], float]:
    tree = JunctionTree.from_sets(potentials, shape)
    homes = {each: tree.find_clique(each) for each in potentials}
    beliefs, logarithm = tree.calibrate(potentials, homes)  # type: ignore[arg-type]
    return tree, beliefs, logarithm


@given(models())
def test_every_set_has_a_clique_and_shared_columns_are_connected(
    model: tuple[tuple[int, ...], dict[Columns, Floats]],
) -> None:
    shape, potentials = model
    tree = JunctionTree.from_sets(potentials, shape)
    assert all(tree.find_clique(each) is not None for each in potentials)
    assert set(chain.from_iterable(tree.cliques)) == set(range(len(shape)))
    for column in range(len(shape)):
        having = {place for place, clique in enumerate(tree.cliques) if column in clique}
        links = [joint for joint in tree.edges if column in joint.separator]
        assert len(links) == len(having) - 1


@given(models())
def test_marginals_of_all_sets_and_the_normalizer_are_those_of_the_whole_distribution(
    model: tuple[tuple[int, ...], dict[Columns, Floats]],
) -> None:
    shape, potentials = model
    tree, beliefs, logarithm = calibrated(shape, potentials)
    whole = written_out(shape, potentials)
    assert logarithm == pytest.approx(log(whole.sum()))
    for size in range(1, len(shape) + 1):
        for columns in combinations(range(len(shape)), size):
            others = tuple(place for place in range(len(shape)) if place not in columns)
            expected = whole.sum(axis=others) / whole.sum()
            assert tree.compute_marginal(beliefs, columns) == pytest.approx(expected, abs=1e-12)


def test_barred_combinations_have_no_probability_anywhere() -> None:
    never = np.array([[0.0, -np.inf], [0.0, 0.0]])
    tree, beliefs, _ = calibrated((2, 2, 2), {(0, 1): never, (1, 2): np.zeros((2, 2))})
    assert tree.compute_marginal(beliefs, (0, 1))[0, 1] == 0
    assert tree.compute_marginal(beliefs, (0, 1, 2))[0, 1].sum() == 0


def test_a_circle_of_four_columns_is_cut_where_tables_stay_small() -> None:
    assert find_cliques([(0, 1), (1, 2), (2, 3), (0, 3)], [2, 9, 2, 9]) == [(0, 1, 2), (0, 2, 3)]


def test_more_columns_than_einsum_has_letters_for() -> None:
    """A chain of 80 columns, and the marginal of its two ends."""
    shape = (2,) * 80
    potentials = {(place, place + 1): np.array([[1.0, 0.0], [0.0, 1.0]]) for place in range(79)}
    tree = JunctionTree.from_sets(potentials, shape)
    homes = {columns: tree.find_clique(columns) for columns in potentials}
    beliefs, _ = tree.calibrate(potentials, homes)  # type: ignore[arg-type]
    step = np.array([[np.e, 1.0], [1.0, np.e]]) / (1 + np.e)
    for first, last in ((0, 79), (70, 79), (60, 62)):
        found = tree.compute_marginal(beliefs, (first, last))
        assert np.allclose(found, np.linalg.matrix_power(step, last - first) / 2)

"""Every entry of the sensitivity table, against all neighbours of small tables."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, product

import pytest

from discreet.core.errors import InvalidParameterError
from discreet.core.neighbor_relations import Relation
from discreet.mechanisms.sensitivity import ContributionBounds, mean_sensitivity, median_sensitivity

CELLS = 3
Row = tuple[int, int]  # the cell that the row falls into, its value
Person = tuple[Row, ...]


def people(bound: ContributionBounds, low: int, high: int) -> Iterator[Person]:
    """Everything that one person may contribute under the bound."""
    rows = list(product(range(CELLS), range(low, high + 1)))
    most = bound.rows * bound.groups
    for size in range(most + 1):
        for person in combinations_with_replacement(rows, size):
            cells = [cell for cell, _ in person]
            per_cell = max((cells.count(c) for c in set(cells)), default=0)
            if bound.groups == 1 or (len(set(cells)) <= bound.groups and per_cell <= bound.rows):
                yield person


def sums(person: Person, *, centre: int | None, counting: bool) -> tuple[int, ...]:
    totals = [0] * CELLS
    for cell, x in person:
        totals[cell] += 1 if counting else 2 * x - centre if centre is not None else x
    return tuple(totals)


def worst(
    bound: ContributionBounds, low: int, high: int, measure: str, cells: int = CELLS
) -> tuple[int, int]:
    """The largest L1 and squared L2 change over all neighbours: what others contribute cancels."""
    centre = low + high if measure == "centred" else None
    vectors = {sums(p, centre=centre, counting=measure == "count")[:cells] for p in people(bound, low, high)}
    others = {(0,) * cells} if bound.relation is Relation.PRESENCE else vectors
    changes = [[a - b for a, b in zip(u, v, strict=True)] for u in vectors for v in others]
    return max(sum(map(abs, c)) for c in changes), max(sum(x * x for x in c) for c in changes)


RANGES = [(0, 1), (-1, 1), (1, 2), (-2, -1)]


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize(("low", "high"), RANGES)
@pytest.mark.parametrize("measure", ["count", "sum", "centred"])
def test_the_table_is_tight_over_all_groups_together(
    measure: str, low: int, high: int, rows: int, relation: Relation
) -> None:
    bound = ContributionBounds(rows=rows, relation=relation)
    claimed = {
        "count": bound.count_sensitivity(),
        "sum": bound.sum_sensitivity(low=low, high=high),
        "centred": bound.centred_sum_sensitivity(low=low, high=high),
    }[measure]
    assert worst(bound, low, high, measure) == (claimed.l1, claimed.squared_l2)


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize(("low", "high"), RANGES)
@pytest.mark.parametrize("measure", ["count", "sum", "centred"])
def test_the_table_is_tight_for_one_cell_alone(
    measure: str, low: int, high: int, rows: int, relation: Relation
) -> None:
    bound = ContributionBounds(rows=rows, relation=relation)
    claimed = {
        "count": bound.count_sensitivity(one_cell=True),
        "sum": bound.sum_sensitivity(low=low, high=high, one_cell=True),
        "centred": bound.centred_sum_sensitivity(low=low, high=high, one_cell=True),
    }[measure]
    assert worst(bound, low, high, measure, cells=1) == (claimed.l1, claimed.squared_l2)


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("measure", ["count", "sum", "centred"])
def test_bounded_groups_never_move_more_than_claimed(measure: str, relation: Relation) -> None:
    bound = ContributionBounds(rows=1, groups=2, relation=relation)
    claimed = {
        "count": bound.count_sensitivity(),
        "sum": bound.sum_sensitivity(low=-1, high=1),
        "centred": bound.centred_sum_sensitivity(low=-1, high=1),
    }[measure]
    l1, squared_l2 = worst(bound, -1, 1, measure)
    assert l1 <= claimed.l1
    assert squared_l2 <= claimed.squared_l2
    if relation is Relation.PRESENCE:
        assert (l1, squared_l2) == (claimed.l1, claimed.squared_l2)


def test_a_mean_of_known_rows_moves_by_its_range_over_n() -> None:
    tables = list(product(range(4), repeat=3))
    moves = [
        abs(Fraction(sum(a), 3) - Fraction(sum(b), 3))
        for a in tables
        for b in tables
        if sum(x != y for x, y in zip(a, b, strict=True)) <= 1
    ]
    assert max(moves) == mean_sensitivity(low=0, high=3, rows=3)


def test_a_median_moves_from_end_to_end() -> None:
    tables = list(product(range(4), repeat=3))
    moves = [
        abs(sorted(a)[1] - sorted(b)[1])
        for a in tables
        for b in tables
        if sum(x != y for x, y in zip(a, b, strict=True)) <= 1
    ]
    assert max(moves) == median_sensitivity(low=0, high=3)


def test_age_and_hours_have_the_sensitivities_that_the_paper_prints() -> None:
    """LPB, Table II: .0015 for age, .0020 for hours; .00031 (not the printed .0031) for education."""
    assert float(mean_sensitivity(low=17, high=90, rows=48_842)) == pytest.approx(0.0014946152901191597)
    assert float(mean_sensitivity(low=1, high=99, rows=48_842)) == pytest.approx(0.002006469841529831)
    assert float(mean_sensitivity(low=1, high=16, rows=48_842)) == pytest.approx(0.00030711273084640267)


@pytest.mark.parametrize("name", ["rows", "groups"])
@pytest.mark.parametrize("value", [0, -1, 1.5, True])
def test_contribution_requires_whole_positive_bounds(name: str, value: float) -> None:
    with pytest.raises(
        InvalidParameterError, match=rf"^ContributionBounds\.{name} must be an integer of at least 1"
    ):
        ContributionBounds(**{"rows": 1, name: value})  # type: ignore[arg-type]


def test_bounds_in_the_wrong_order_are_refused() -> None:
    with pytest.raises(
        InvalidParameterError, match=r"^ContributionBounds\.low must be at most high = 1; got 2\.$"
    ):
        ContributionBounds(rows=1).sum_sensitivity(low=2, high=1)

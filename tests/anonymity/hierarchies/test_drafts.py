"""Drafts from what the policy declares: usable at once, covering all that it declares."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.anonymity.hierarchies import Flat, Mask, build_column_spec, draft_hierarchy
from discreet.core.column_entry import Column
from discreet.core.hierarchy_entry import HierarchyEntry
from discreet.core.policy import Policy


def column(**facts: Any) -> Column:
    return Column.model_validate(facts)


def test_numbers_get_round_widths_that_double() -> None:
    drafted = draft_hierarchy(column(type="integer", low=17, high=90))
    assert drafted == HierarchyEntry(low=0, high=94, widths=(5, 10, 20, 40))
    pay = draft_hierarchy(column(type="decimal", low=0, high=1000, resolution=Decimal("0.01")))
    assert pay is not None
    assert (pay.low, pay.high, pay.widths) == (0, 1000, (50, 100, 200, 400))


@given(st.integers(-(10**6), 10**6), st.integers(1, 10**6), st.sampled_from([None, "0.01", "0.5", "5"]))
def test_a_draft_covers_the_declared_bounds(low: int, span: int, step: str | None) -> None:
    facts = {"type": "integer"} if step is None else {"type": "decimal", "resolution": Decimal(step)}
    grid = 1 if step is None else 5
    declared = column(low=low * grid, high=(low + span) * grid, **facts)
    made = build_column_spec("n", declared)
    values = [str(low * grid), str((low + span) * grid), str((low + span // 2) * grid)]
    hierarchy = made.build_hierarchy(values)
    assert hierarchy.height >= 2 or span < 6
    assert hierarchy.size < 4 * (span * grid / float(step or 1) + 1) + 4


def test_public_quantiles_become_cut_points() -> None:
    ages = column(type="integer", low=0, high=120)
    drafted = draft_hierarchy(ages, [Decimal(each) for each in (15, 30, 45, 60, 75)])
    assert drafted is not None
    assert drafted.cuts == (("15", "30", "45", "60", "75"), ("30", "60"), ("60",))


def test_dates_get_the_periods_that_their_bounds_span() -> None:
    for low, high, periods in (
        ("1930-01-01", "2020-01-01", ["month", "year", "decade"]),
        ("2023-01-01", "2023-12-31", ["month"]),
        ("2021-01-01", "2023-12-31", ["month", "year"]),
    ):
        drafted = draft_hierarchy(column(type="date", low=low, high=high))
        assert drafted is not None
        assert [period.value for period in drafted.dates or ()] == periods
    assert draft_hierarchy(column(type="date", low="2023-01-01", high="2023-01-02")) is None


def test_categories_get_a_balanced_tree_and_codes_a_mask() -> None:
    grades = column(type="category", values=["a", "b", "c", "d", "e"])
    hierarchy = build_column_spec("g", grades).build_hierarchy(())
    assert [len(labels) for labels in hierarchy.labels] == [5, 3, 2, 1]
    assert isinstance(
        build_column_spec("z", column(type="category", values=["13053", "13068", "14850"])), Mask
    )
    assert isinstance(build_column_spec("t", column(type="text")), Mask)
    assert isinstance(build_column_spec("b", column(type="boolean")), Flat)
    assert isinstance(build_column_spec("s", column(type="category", values=["Male", "Female"])), Flat)
    assert isinstance(build_column_spec("c", column(type="category")), Flat)


def test_what_the_policy_says_comes_before_a_draft() -> None:
    facts = {"type": "integer", "low": 0, "high": 99}
    policy = Policy.model_validate(
        {
            "tables": {
                "t": {"source": "x", "columns": {"age": facts, "old": {**facts, "hierarchy": "ages"}}}
            },
            "hierarchies": {"age": {"widths": [50]}, "ages": {"widths": [25]}},
        }
    )
    columns = policy.tables["t"].columns
    assert (
        build_column_spec("age", columns["age"], policy).build_hierarchy(["1"]).generalize("1", 1)
        == "[0, 49]"
    )
    assert (
        build_column_spec("old", columns["old"], policy).build_hierarchy(["1"]).generalize("1", 1)
        == "[0, 24]"
    )
    assert build_column_spec("age", columns["age"]).build_hierarchy(["1"]).generalize("1", 1) == "[0, 4]"


@pytest.mark.parametrize("kind", ["integer", "date", "timestamp", "decimal"])
def test_without_bounds_there_is_no_draft(kind: str) -> None:
    assert draft_hierarchy(column(type=kind)) is None

"""The models of a policy: what may be declared, what contradicts itself, the grid of its numbers."""

from __future__ import annotations

from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from discreet.core.column_entry import Column, ColumnType
from discreet.core.policy import Policy, PromiseTerms
from discreet.core.table_entry import Table, ValueRange

ROW: dict[str, Any] = {"source": "x.csv", "columns": {"a": {}}}


@given(
    low=st.decimals(-1000, 1000, places=3),
    width=st.decimals(0, 1000, places=3),
    resolution=st.sampled_from([Decimal(text) for text in ("0.001", "0.01", "0.25", "1", "7")]),
)
def test_the_grid_holds_exactly_the_multiples_within_the_bounds(
    low: Decimal, width: Decimal, resolution: Decimal
) -> None:
    high = low + width
    declared = {"type": ColumnType.DECIMAL, "low": low, "high": high, "resolution": resolution}
    # Counted up from a multiple that is surely below.
    start = int(low / resolution) - 2
    inside = [n for n in range(start, start + 5) if low <= n * resolution <= high]
    if not inside:
        with pytest.raises(ValidationError, match="no multiple of the resolution"):
            Column.model_validate(declared)
        return
    grid = Column.model_validate(declared).grid_bounds
    assert grid is not None
    assert grid[0] == inside[0]
    assert grid[1] * resolution <= high < (grid[1] + 1) * resolution


def test_columns_without_numbers_or_bounds_have_no_grid() -> None:
    assert Column(type=ColumnType.INTEGER).grid_bounds is None
    assert Column(type=ColumnType.DATE, low=date(2024, 1, 1), high=date(2024, 12, 31)).grid_bounds is None


@pytest.mark.parametrize(
    ("declared", "complaint"),
    [
        ({"type": "integer", "low": 1}, "go together"),
        ({"type": "integer", "high": 1}, "go together"),
        ({"type": "integer", "low": 2, "high": 1}, "must not be above"),
        ({"type": "text", "low": 1, "high": 2}, "no meaning for type text"),
        ({"type": "category", "low": 1, "high": 2}, "no meaning for type category"),
        ({"type": "integer", "values": ["a"]}, "values go with type category"),
        ({"type": "category", "values": []}, "different values"),
        ({"type": "category", "values": ["a", "a"]}, "different values"),
        ({"type": "integer", "resolution": 1}, "goes with type decimal"),
        ({"type": "decimal", "low": 0, "high": 1}, "needs a resolution"),
        ({"type": "decimal", "low": 0, "high": 1, "resolution": 0}, "above 0"),
        ({"type": "decimal", "low": 0, "high": 1, "resolution": Decimal("1e-999999")}, "above 0"),
        ({"type": "decimal", "low": 0, "high": 1, "resolution": Decimal("1e-20")}, r"2\*\*53"),
        ({"type": "integer", "low": 0, "high": 2**53}, r"2\*\*53"),
        ({"type": "integer", "low": 0, "high": Decimal("1e999999")}, "must be numbers"),
        ({"type": "integer", "low": date(2024, 1, 1), "high": date(2024, 1, 2)}, "must be numbers"),
        ({"type": "date", "low": 1, "high": 2}, "must be dates"),
        ({"type": "date", "low": datetime(2024, 1, 1, 5), "high": datetime(2024, 1, 2, 5)}, "must be dates"),
        ({"type": "date", "low": 1, "high": date(2024, 1, 1)}, "must be dates"),
        (
            {
                "type": "timestamp",
                "low": datetime(2024, 1, 1, 5, tzinfo=timezone.utc),  # noqa: UP017
                "high": datetime(2024, 1, 2, 5),
            },
            "without a zone",
        ),
        ({"kind": "integer"}, "kind"),
    ],
)
def test_a_column_that_contradicts_itself_is_refused(declared: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValidationError, match=complaint):
        Column.model_validate(declared)


@pytest.mark.parametrize(
    ("declared", "complaint"),
    [
        ({**ROW, "rows_per_person": 2}, "where a person is a row"),
        ({**ROW, "groups_per_person": 2}, "where a person is a row"),
        ({**ROW, "person": "b"}, "person names the column b"),
        ({**ROW, "person": "a", "rows": 10}, "goes with person: row"),
        ({**ROW, "links": {"b": "t.a"}}, "links names the column b"),
        ({**ROW, "links": {"a": "nowhere"}}, "column"),
        ({**ROW, "rows_per_person": 0}, "greater than or equal to 1"),
        ({"source": "x.csv", "columns": {"_discreet_person": {}}}, "column name"),
        ({"source": "x.csv", "columns": {"": {}}}, "column name"),
        ({"source": "x.csv", "columns": {'a"b': {}}}, "column name"),
    ],
)
def test_a_table_that_contradicts_itself_is_refused(declared: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValidationError, match=complaint):
        Table.model_validate(declared)


@pytest.mark.parametrize(
    ("declared", "complaint"),
    [
        ({"tables": {"two words": ROW}}, "table name"),
        ({"tables": {"t": {**ROW, "links": {"a": "u.a"}}}}, "which is not declared"),
        ({"tables": {"t": {**ROW, "links": {"a": "t.b"}}}}, "which is not declared"),
        ({"tables": {}, "analysts": {"a": {"share": "60%"}, "b": {"share": 0.5}}}, "more than 100%"),
        ({"tables": {}, "analysts": {"a": {"share": -0.5}}}, "probability"),
        ({"tables": {}, "epsilon": 0}, "greater than 0"),
        ({"tables": {}, "epsilon": "inf"}, "finite"),
        ({"tables": {}, "epsilon": float("nan")}, "greater than 0|finite"),
    ],
)
def test_a_policy_that_contradicts_itself_is_refused(declared: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValidationError, match=complaint):
        Policy.model_validate(declared)


@pytest.mark.parametrize("share", [-0.1, 1.5, "nan", "150%", True, None, []])
def test_terms_are_probabilities(share: object) -> None:
    with pytest.raises(ValidationError, match="probability"):
        PromiseTerms.model_validate({"prior": share, "posterior": 0.5})


def test_probabilities_may_be_typed_in_three_ways() -> None:
    terms = [
        PromiseTerms.model_validate({"prior": prior, "posterior": "5%"}) for prior in ("1%", 0.01, "1/100")
    ]
    assert {(each.prior, each.posterior) for each in terms} == {(0.01, 0.05)}


def test_a_link_may_be_written_with_a_dot() -> None:
    table = Table.model_validate({**ROW, "links": {"a": "people.id"}})
    assert (table.links["a"].table, table.links["a"].column) == ("people", "id")


PEOPLE: dict[str, Any] = {
    "source": "x.csv",
    "columns": {
        "age": {"type": "integer", "low": 0, "high": 99},
        "kin": {"type": "category", "values": ["wife", "child"]},
        "ill": {"type": "boolean"},
    },
}


def test_what_is_impossible_is_named_by_values_bounds_or_nothing() -> None:
    entries = [{"age": {"high": 14}, "kin": "wife"}, {"kin": [None, "child"], "ill": True}]
    first, second = Table.model_validate(PEOPLE | {"impossible": entries}).impossible
    assert first == {"age": ValueRange(high=14), "kin": ("wife",)}
    assert second == {"kin": (None, "child"), "ill": ("true",)}


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        ({}, "at least one column"),
        ({"shoe": "red"}, "names the column shoe, which is not declared"),
        ({"kin": "aunt"}, "a value of kin that is not declared: declare it under values"),
        ({"age": "7"}, "a value of age that is not declared: name it by low and high"),
        ({"kin": {"low": 1}}, "names kin by bounds that are not of its type"),
        ({"age": {}}, "names age by bounds that are not of its type"),
        ({"age": {"low": date(2024, 1, 1)}}, "names age by bounds that are not of its type"),
        ({"age": {"low": 9, "high": 3}}, "a low that is above its high"),
    ],
)
def test_what_is_impossible_must_be_declared(entry: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValidationError, match=complaint):
        Table.model_validate(PEOPLE | {"impossible": [entry]})

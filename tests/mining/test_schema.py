"""Bins follow from values and declarations alone, and an engine finds the same ones as an array."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.errors import InvalidParameterError, RequestError
from discreet.mining.attributes import MISSING, Attribute
from discreet.mining.schema import Schema
from tests.mining.rows import COLUMNS, drawn, policy


@given(
    st.integers(-1000, 1000),
    st.integers(1, 5000),
    st.integers(1, 300),
    st.sampled_from(["linear", "log"]),
    st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=30),
)
def test_bins_are_in_the_order_of_the_numbers(
    low: int, width: int, bins: int, scale: str, numbers: list[float]
) -> None:
    attribute = Attribute.numeric("x", low, low + width, bins=bins, scale=scale)
    codes = attribute.encode(sorted(numbers))
    assert (np.diff(codes) >= 0).all()
    assert codes.min() >= 0
    assert codes.max() < attribute.regular_bins <= bins
    clamped = np.clip(sorted(numbers), low, low + width)
    assert (attribute.encode(clamped) == codes).all()


@given(st.integers(2, 400), st.integers(1, 6), st.sampled_from(["linear", "log"]))
def test_coarser_bins_are_runs_of_finer_ones(width: int, power: int, scale: str) -> None:
    fine = Attribute.numeric("x", 0, width, bins=64, scale=scale, step=1)
    starts = fine.merge_bins(2**power)
    assert starts[0] == 0
    assert len(starts) <= 2**power
    assert list(starts) == sorted(set(starts))
    assert starts[-1] < fine.regular_bins


@pytest.mark.parametrize("value", [None, float("nan")])
def test_what_is_missing_has_a_bin_of_its_own_or_is_in_the_first(value: Any) -> None:
    for missing, bin_ in ((True, 4), (False, 0)):
        attribute = Attribute.numeric("x", 0, 1, bins=4, has_missing_bin=missing)
        assert attribute.encode(np.array([value], float)).tolist() == [bin_]
        category = Attribute.category("x", "abcd", has_missing_bin=missing)
        assert category.encode([value, "z", "d"]).tolist() == [bin_, bin_, 3]


def test_a_category_that_is_a_number_is_found_however_it_is_typed() -> None:
    attribute = Attribute.category("x", [1, 2])
    assert attribute.encode(np.array([1.0, 2.0, 3.0])).tolist() == [0, 1, 2]
    assert attribute.encode([1, "2", True]).tolist() == [0, 1, 2]


def test_every_bin_has_a_label_and_a_middle_that_lies_in_it() -> None:
    attribute = Attribute.numeric("age", 17, 90, bins=8, step=1)
    assert len(attribute.labels) == attribute.bins
    assert attribute.labels[-1] == MISSING
    assert attribute.encode(attribute.midpoints).tolist() == list(range(8))


def test_a_schema_is_what_the_policy_declares(tmp_path: Path) -> None:
    table = policy(tmp_path).tables["people"]
    schema = Schema.from_table(table, "ill", bins={"age": 4}, logarithmic=["pay"])
    assert [each.name for each in schema.attributes] == ["age", "pay", "work", "owner", "since"]
    assert schema.attributes[0].cuts == (Fraction(36), Fraction(54), Fraction(73))
    assert schema.classes == 2
    assert schema.cells == sum(each.bins for each in schema.attributes)


def test_a_log_scale_is_declared_in_the_policy_or_asked_for(tmp_path: Path) -> None:
    columns = {**COLUMNS, "pay": {**COLUMNS["pay"], "scale": "log"}}
    declared = Schema.from_table(policy(tmp_path, columns=columns).tables["people"], "ill")
    asked_for = Schema.from_table(policy(tmp_path).tables["people"], "ill", logarithmic=["pay"])
    assert declared == asked_for != Schema.from_table(policy(tmp_path).tables["people"], "ill")
    cuts = [cut for cut in declared.attributes[1].cuts if isinstance(cut, Fraction)]
    first, *_, last = (high - low for low, high in pairwise(cuts))
    assert last > 10 * first


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: Schema.from_table(t, "wage"), r"no column wage"),
        (lambda t: Schema.from_table(t, "age"), r"must be a category"),
        (lambda t: Schema.from_table(t, "ill", is_classification=False), r"must be a number"),
        (lambda t: Schema.from_table(t, "ill", features=["who"]), r"no column who"),
        (lambda t: Schema.from_table(t, "ill", features=[]), r"at least one column"),
        (lambda t: Attribute.numeric("x", 1, 1), r"`bounds=` must be two numbers for x, the lower one first"),
        (lambda t: Attribute.numeric("x", 0, 1, scale="root"), r"scale must be 'linear' or 'log'"),
        (lambda t: Attribute.category("x", ["a", "a"]), r"different values"),
        (lambda t: Attribute.numeric("x", 0, 1).encode(["much"]), r"declared as a number"),
    ],
)
def test_what_has_no_bins_is_refused_with_a_way_out(call: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises((RequestError, InvalidParameterError), match=message):
        call(policy(tmp_path, person="who").tables["people"])


def test_codes_of_drawn_rows_are_all_inside(tmp_path: Path) -> None:
    schema = Schema.from_table(policy(tmp_path).tables["people"], "ill")
    rows = drawn(500)
    codes = schema.encode([rows[each.name] for each in schema.attributes])
    assert (codes >= 0).all()
    assert (codes < [each.bins for each in schema.attributes]).all()

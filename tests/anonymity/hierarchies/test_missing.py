"""Values that are missing: a category of their own, left out, or refused until the policy says which."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.anonymity.hierarchies import (
    Flat,
    Hierarchy,
    HierarchySpec,
    ListedHierarchy,
    Tree,
    add_missing_value,
    build_column_hierarchy,
    hierarchy_from_rows,
)
from discreet.core.errors import DataError, RequestError
from discreet.core.hierarchy_entry import MissingValues

NATIONS: HierarchySpec = Tree(name="nation", tree={"Earth": {"Asia": ["Japan", "India"], "America": ["US"]}})


def test_a_missing_value_is_a_category_that_meets_the_others_at_the_top() -> None:
    hierarchy = build_column_hierarchy(NATIONS, ["Japan", None], missing=MissingValues.CATEGORY)
    assert [hierarchy.generalize("", level) for level in range(hierarchy.height + 1)] == ["", "", "*"]
    assert hierarchy.generalize("Japan", 2) == "*"
    assert [shares.sum() for shares in hierarchy.shares] == pytest.approx([1, 1, 1])
    assert hierarchy.shares[1].tolist() == pytest.approx([2 / 4, 1 / 4, 1 / 4])


def test_rows_without_a_value_may_be_left_out_instead() -> None:
    hierarchy = build_column_hierarchy(NATIONS, ["Japan", None, ""], missing=MissingValues.SUPPRESS)
    assert "" not in hierarchy.positions
    assert hierarchy.labels[-1] == ("Earth",)


def test_what_becomes_of_missing_values_must_be_declared() -> None:
    with pytest.raises(DataError) as caught:
        build_column_hierarchy(NATIONS, ["Japan", None], column="born_in")
    assert str(caught.value).startswith("Some rows have no value in column born_in")
    assert "Add missing: category" in caught.value.hint
    assert build_column_hierarchy(NATIONS, ["Japan"], column="born_in").labels[-1] == ("Earth",)


def test_a_list_that_holds_the_empty_text_says_itself_what_becomes_of_it() -> None:
    listing = ListedHierarchy(name="l", rows=(("", "unknown", "*"), ("Japan", "known", "*")))
    assert build_column_hierarchy(listing, [None, "Japan"]).generalize("", 1) == "unknown"


def test_a_column_of_one_value_gets_a_top_for_the_missing_ones() -> None:
    hierarchy = add_missing_value(hierarchy_from_rows("one", [("x",)]))
    assert hierarchy.labels == (("x", ""), ("*",))
    assert build_column_hierarchy(Flat(name="f"), [None], missing=MissingValues.CATEGORY).labels == (
        ("",),
        ("*",),
    )


def test_uncovered_values_are_counted_and_not_told() -> None:
    with pytest.raises(DataError, match="does not cover 2 of the values in the data") as caught:
        build_column_hierarchy(NATIONS, ["Atlantis", "Utopia", "US"])
    assert not any(value in str(caught.value) for value in ("Atlantis", "Utopia"))
    assert caught.value.exit_code == 2


def test_a_hierarchy_of_two_tops_is_refused() -> None:
    codes = np.arange(2, dtype=np.int32)
    with pytest.raises(RequestError, match="h has 2 labels at its top"):
        Hierarchy(name="h", labels=(("a", "b"),), maps=(codes,), shares=(np.full(2, 0.5),), size=2)

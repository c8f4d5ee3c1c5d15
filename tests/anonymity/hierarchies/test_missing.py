"""Values that are missing: a category of their own, left out, or refused until the policy says which."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.anonymity.hierarchies import (
    Flat,
    Hierarchy,
    Listing,
    Spec,
    Tree,
    listed,
    over_column,
    with_missing,
)
from discreet.core.errors import DataError, RequestError
from discreet.core.hierarchies import Missing

NATIONS: Spec = Tree(name="nation", tree={"Earth": {"Asia": ["Japan", "India"], "America": ["US"]}})


def test_a_missing_value_is_a_category_that_meets_the_others_at_the_top() -> None:
    hierarchy = over_column(NATIONS, ["Japan", None], missing=Missing.CATEGORY)
    assert [hierarchy.label("", level) for level in range(hierarchy.height + 1)] == ["", "", "*"]
    assert hierarchy.label("Japan", 2) == "*"
    assert [shares.sum() for shares in hierarchy.shares] == pytest.approx([1, 1, 1])
    assert hierarchy.shares[1].tolist() == pytest.approx([2 / 4, 1 / 4, 1 / 4])


def test_rows_without_a_value_may_be_left_out_instead() -> None:
    hierarchy = over_column(NATIONS, ["Japan", None, ""], missing=Missing.SUPPRESS)
    assert "" not in hierarchy.places
    assert hierarchy.labels[-1] == ("Earth",)


def test_what_becomes_of_missing_values_must_be_declared() -> None:
    with pytest.raises(DataError) as caught:
        over_column(NATIONS, ["Japan", None], column="born_in")
    assert str(caught.value).startswith("Some rows have no value in column born_in")
    assert "Add missing: category" in caught.value.hint
    assert over_column(NATIONS, ["Japan"], column="born_in").labels[-1] == ("Earth",)


def test_a_list_that_holds_the_empty_text_says_itself_what_becomes_of_it() -> None:
    listing = Listing(name="l", rows=(("", "unknown", "*"), ("Japan", "known", "*")))
    assert over_column(listing, [None, "Japan"]).label("", 1) == "unknown"


def test_a_column_of_one_value_gets_a_top_for_the_missing_ones() -> None:
    hierarchy = with_missing(listed("one", [("x",)]))
    assert hierarchy.labels == (("x", ""), ("*",))
    assert over_column(Flat(name="f"), [None], missing=Missing.CATEGORY).labels == (("",), ("*",))


def test_uncovered_values_are_counted_and_not_told() -> None:
    with pytest.raises(DataError, match="does not cover 2 of the values in the data") as caught:
        over_column(NATIONS, ["Atlantis", "Utopia", "US"])
    assert not any(value in str(caught.value) for value in ("Atlantis", "Utopia"))
    assert caught.value.exit_code == 2


def test_a_hierarchy_of_two_tops_is_refused() -> None:
    codes = np.arange(2, dtype=np.int32)
    with pytest.raises(RequestError, match="h has 2 labels at its top"):
        Hierarchy(name="h", labels=(("a", "b"),), maps=(codes,), shares=(np.full(2, 0.5),), size=2)

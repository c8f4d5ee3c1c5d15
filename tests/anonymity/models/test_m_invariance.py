"""m-invariance over two releases: who stays is seen among the same values."""

from __future__ import annotations

from collections import Counter

import pytest

from discreet.anonymity.equivalence_classes import EquivalenceClasses
from discreet.anonymity.models import MInvariance, find_worst_class
from discreet.anonymity.models.m_invariance import NEW, format_signature, format_signatures
from discreet.core.errors import RequestError
from tests.anonymity.models.tables import sensitive, table

FLU_ACNE, FLU_SHINGLES = format_signature(["flu", "acne"]), format_signature(["flu", "shingles"])
MODEL = MInvariance(column="disease", m=2, earlier="signature")


def release(*classes: tuple[dict[str, int], dict[str, int]]) -> EquivalenceClasses:
    """Classes of a second release: their values, and the earlier signatures of their rows' owners."""
    values = [each for each, _ in classes]
    earlier = sensitive([each for _, each in classes])
    return table(values, others={"signature": earlier})


def test_who_stays_must_find_the_same_values() -> None:
    both = {"flu": 1, "acne": 1}
    verdicts = MODEL.judge(
        release(
            (both, {FLU_ACNE: 2}),
            (both, {FLU_ACNE: 1, NEW: 1}),
            (both, {NEW: 2}),
            (both, {FLU_SHINGLES: 1, FLU_ACNE: 1}),
            (both, {FLU_SHINGLES: 2}),
            ({"flu": 1, "acne": 1, "shingles": 1}, {FLU_ACNE: 1, NEW: 2}),
            ({"flu": 1, "shingles": 1}, {FLU_SHINGLES: 1, NEW: 1}),
        )
    )
    assert verdicts.tolist() == [True, True, True, False, False, False, True]


def test_a_value_that_is_gone_from_the_table_cannot_be_met_again() -> None:
    gone = format_signature(["flu", "plague"])
    assert MODEL.judge(release(({"flu": 1, "acne": 1}, {gone: 1, NEW: 1}))).tolist() == [False]


def test_values_must_differ_and_be_m() -> None:
    verdicts = MODEL.judge(release(({"flu": 2, "acne": 1}, {NEW: 3}), ({"flu": 1}, {NEW: 1})))
    assert verdicts.tolist() == [False, False]


def test_signatures_of_one_release_are_what_the_next_one_is_judged_by() -> None:
    first = table([{"flu": 1, "acne": 1}, {"flu": 1, "gout": 1, "acne": 1}])
    kept = format_signatures(first.sensitive["disease"])
    assert kept == [FLU_ACNE, format_signature(["acne", "flu", "gout"])]
    again = release(({"flu": 1, "acne": 1}, Counter({kept[0]: 2})), ({"gout": 1, "flu": 1}, {kept[1]: 2}))
    assert MODEL.judge(again).tolist() == [True, False]


def test_names_that_hold_quotes_and_commas_are_told_apart() -> None:
    odd = {'a", "b': 1, "c": 1}
    assert format_signature(["a", "b", "c"]) != format_signature(odd)
    assert MODEL.judge(release((odd, {format_signature(odd): 1, NEW: 1}))).tolist() == [True]


def test_the_worst_class_is_one_whose_signature_changed() -> None:
    both = {"flu": 1, "acne": 1}
    found = find_worst_class(release((both, {FLU_ACNE: 2}), (both, {FLU_SHINGLES: 1, NEW: 1})), MODEL)
    assert found is not None
    assert (found.place, found.holds) == (1, False)


def test_a_missing_link_between_releases_is_said() -> None:
    with pytest.raises(RequestError, match="signature"):
        MODEL.judge(table([{"flu": 1, "acne": 1}]))

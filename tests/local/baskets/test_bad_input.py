"""Bad input to baskets: one sentence, with the way out, and nothing of the data in it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet.belief import Promise
from discreet.core.errors import DataError, InvalidParameterError
from discreet.core.randomness import Randomness
from discreet.local import operator_json
from discreet.local.baskets import CutAndPaste, SelectASize, find_frequent_itemsets, find_rules, pack_baskets
from discreet.local.design import design_baskets
from discreet.local.operator import Operator

OPERATOR = SelectASize.for_epsilon(1, items=70, size=3)


def select(**given: Any) -> SelectASize:
    return SelectASize(**given)


def paste(**given: Any) -> CutAndPaste:
    return CutAndPaste(**given)


def estimated() -> Any:
    return OPERATOR.estimate(OPERATOR.randomize_baskets(pack_baskets([[1, 2]] * 9, 70), Randomness()))


CALLS: dict[str, tuple[Callable[[], Any], str]] = {
    "sum": (lambda: select(items=9, size=1, noise=0.5, kept=(0.5, 0.4)), "a sum of 0.9"),
    "length": (lambda: select(items=9, size=2, noise=0.5, kept=(0.5, 0.5)), "3 probabilities"),
    "negative": (lambda: select(items=9, size=1, noise=0.5, kept=(1.5, -0.5)), "2 probabilities"),
    "noise": (lambda: select(items=9, size=1, noise=0, kept=(0.5, 0.5)), "rules a basket out"),
    "size": (lambda: paste(items=9, size=10, cutoff=1, noise=0.5), "the number of items"),
    "slots": (lambda: paste(items=999, size=65, cutoff=1, noise=0.5), "at most 64"),
    "cutoff": (lambda: paste(items=9, size=2, cutoff=0, noise=0.5), "at least 1"),
    "items": (lambda: paste(items=1, size=1, cutoff=1, noise=0.5), "at least 2"),
    "dear": (lambda: CutAndPaste.for_epsilon(0.5, items=9, size=2), "costs ln 2"),
    "epsilon": (lambda: SelectASize.for_epsilon(-1, items=9, size=2), "from 0.000001 to 30"),
    "itemset": (lambda: SelectASize.for_epsilon(1, items=9, size=2, itemset=0), "at least 1"),
    "outside": (lambda: pack_baskets([[0], [77]], 70), "items from 0 to 69; got an item outside"),
    "texts": (lambda: pack_baskets([["bread"]], 70), "lists of the numbers of items"),
    "flat": (lambda: pack_baskets([1, 2], 70), "lists of the numbers of items"),
    "missing": (lambda: pack_baskets([[1, None]], 70), "lists of the numbers of items"),
    "floats": (lambda: pack_baskets(pa.array([[1.5]]), 70), "lists of the numbers of items"),
    "rows": (
        lambda: OPERATOR.randomize_baskets(np.zeros((2, 1), np.uint64), Randomness()),
        "rows of 2 64-bit words",
    ),
    "spare": (
        lambda: OPERATOR.randomize_baskets(np.full((2, 2), 1 << 60, np.uint64), Randomness()),
        "an item outside of the domain",
    ),
    "codes": (
        lambda: SelectASize.for_epsilon(1, items=999, size=5).randomize(np.array([0]), Randomness()),
        "too many baskets to enumerate",
    ),
    "too long": (lambda: estimated().estimate([1, 2, 3, 4]), "at most 3 items"),
    "twice": (lambda: estimated().estimate([1, 1]), "different items"),
    "unknown": (lambda: estimated().estimate([70]), "items from 0 to 69"),
    "other items": (lambda: estimated().estimate_excess([1, 2], [3], 0.5), "some of the itemset's items"),
    "none": (lambda: estimated().estimate_each([]), "rows of items"),
    "least": (lambda: find_frequent_itemsets(estimated(), 0), "between 0 and 1"),
    "longest": (lambda: find_frequent_itemsets(estimated(), 0.5, max_size=0), "at least 1"),
    "strength": (
        lambda: find_rules(estimated(), find_frequent_itemsets(estimated(), 0.9), 2),
        "between 0 and 1",
    ),
    "clients": (lambda: design_baskets(Promise(0.1, 0.5), items=9, size=2, clients=0), "at least 1"),
    "partial": (lambda: OPERATOR.variance(2, 9, [0.5, 0.5]), "3 probabilities"),
    "telling nothing": (
        lambda: paste(items=9, size=3, cutoff=1, noise=0.5).unbiased_support_values(2),
        "reveals nothing about itemsets of 2 items",
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_bad_input_gets_one_sentence(name: str) -> None:
    call, sentence = CALLS[name]
    with pytest.raises(InvalidParameterError) as caught:
        call()
    assert sentence in str(caught.value)
    assert "77" not in str(caught.value)
    assert "bread" not in str(caught.value)


def test_reports_that_are_no_baskets_are_refused() -> None:
    with pytest.raises(DataError, match="it sends 70 bits"):
        OPERATOR.estimate(np.full((2, 2), 1 << 60, np.uint64))


@pytest.mark.parametrize("operator", [OPERATOR, paste(items=9, size=2, cutoff=2, noise=0.3)])
def test_an_operator_that_was_written_is_read_with_the_same_law(operator: Operator) -> None:
    again = operator_json.operator_from_json(json.loads(json.dumps(operator_json.operator_to_json(operator))))
    assert again == operator
    assert again.gamma == operator.gamma


def test_an_operator_may_be_written_by_its_epsilon() -> None:
    short = {"operator": "select-a-size", "items": 70, "size": 3, "epsilon": 1}
    assert operator_json.operator_from_json(short) == OPERATOR


def test_a_promise_is_kept_with_the_least_that_it_asks_for() -> None:
    weak = design_baskets(Promise(0.1, 0.15), items=9, size=2, clients=100)
    assert [type(each.operator) for each in weak] == [SelectASize]
    assert weak[0].operator.epsilon <= math.log(0.15 * 0.9 / (0.1 * 0.85)) * (1 + 1e-12)

"""The lean way: every column, and a spanning tree of pairs; a second for a table of any length.

One-way     all columns are measured at once, for the share `SINGLE` of the budget.
Tree        pairs are chosen one after the other for the share `CHOICE`, always among those that close no
            circle: the pair whose counts differ most from what the columns alone let expect, less what its
            noise would add. No pair at all is a choice too, and ends the search.
Pairs       what is left of the budget, in equal parts, measures the chosen ones, or without any the columns
            once more.

[MMS21]     McKenna, Miklau & Sheldon, Winning the NIST Contest: a tree of marginals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from discreet.mining.synthesis.inference import Model
from discreet.mining.synthesis.measuring import Candidate, Measuring
from discreet.mining.tabulation.budget import Budget, mean_size
from discreet.mining.tabulation.cells import Columns

SINGLE, CHOICE = Fraction(1, 5), Fraction(1, 20)
STEPS, FINAL = 60, 200

Fit = Callable[[Model | None, int], Model]


def learn(measuring: Measuring, pairs: Sequence[Columns], columns: int, fit: Fit) -> Model:
    """A model of the columns and of a tree of pairs."""
    whole = measuring.budget
    single = whole.part(SINGLE if pairs else 1)
    for column in range(columns):
        measuring.measure((column,), single.part(Fraction(1, columns)))
    model = fit(None, STEPS)
    if not pairs:
        return model
    chosen = _tree(measuring, pairs, columns, model)
    finer = chosen or [(column,) for column in range(columns)]
    rest = whole.part(measuring.left / whole.amount)
    for each in finer:
        measuring.measure(each, rest.part(Fraction(1, len(finer))))
    return fit(model, FINAL)


def _tree(measuring: Measuring, pairs: Sequence[Columns], columns: int, model: Model) -> list[Columns]:
    whole = measuring.budget
    cost = whole.part(CHOICE / (columns - 1))
    candidates = [_candidate(pair, model, _later(whole, columns)) for pair in pairs]
    chosen: list[Columns] = []
    group = list(range(columns))
    while open_ := [each for each in candidates if len({group[column] for column in each.columns}) == 2]:
        place = measuring.choose(open_, cost, or_none=True)
        if place == len(open_):
            break
        first, second = open_[place].columns
        chosen.append((first, second))
        group = [group[first] if each == group[second] else each for each in group]
    return chosen


def _later(whole: Budget, columns: int) -> float:
    """How large the noise on each count of a pair would be, if a whole tree is measured."""
    return mean_size(whole.part((1 - SINGLE - CHOICE) / (columns - 1)).noise())


def _candidate(pair: Columns, model: Model, size: float) -> Candidate:
    expected = model.counts(pair)
    return Candidate(columns=pair, expected=expected, allowance=size * expected.size)

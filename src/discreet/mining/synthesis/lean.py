"""MST (quality "lean"): every column, a spanning tree of pairs, and the worst-fitting further pairs.

One-way     all columns are measured at once, for the share `SINGLE` of the budget.
Tree        pairs are chosen one after the other, always among those that close no circle: the pair whose
            counts differ most from what the columns alone let expect, less what its noise would add. They are
            measured for the share `TREE`, each with the same part, whether or not the tree becomes whole.
Further     then pairs whose counts differ most from what the tree lets expect, less what noise would add if
            those chosen so far shared all that is left. How many are worth it thus follows from budget, bins
            and number of rows. A pair with which the model would pass `ROOM` cells is left out; which these
            are follows from what was chosen, so it is no more than was released.
Pairs       what is left of the budget, in equal parts, measures the further ones; without any, the tree once
            more, or the columns.
Choices     of both kinds share `CHOICE`. No pair at all is a choice too, and ends the search.

[MMS21]     McKenna, Miklau & Sheldon, Winning the NIST Contest: a tree of marginals.
[ZWLHBHCZ21] Zhang et al., PrivSyn: as many pairs as noise makes worth measuring.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from discreet.mechanisms.sampling import Floats
from discreet.mining.synthesis.inference import Model
from discreet.mining.synthesis.measuring import Candidate, Measuring
from discreet.mining.synthesis.triangulation import total_cells
from discreet.mining.tabulation.budget import Budget, mean_size
from discreet.mining.tabulation.cells import Columns

SINGLE, TREE, CHOICE = Fraction(1, 8), Fraction(2, 5), Fraction(1, 20)
CHOICES = 3
"""The most further pairs that are selected, per column."""
ROOM = 1 << 15
STEPS, FINAL = 60, 200

Fit = Callable[[Model | None, int], Model]


def learn(measuring: Measuring, pairs: Sequence[Columns], shape: Sequence[int], fit: Fit) -> Model:
    """Return a model of the columns, of a spanning tree of pairs, and of further pairs."""
    whole, columns = measuring.budget, len(shape)
    single = whole.part(SINGLE if pairs else 1)
    for column in range(columns):
        measuring.measure((column,), single.part(Fraction(1, columns)))
    model = fit(None, STEPS)
    if not pairs:
        return model
    tree = _tree(measuring, pairs, columns, model)
    for each in tree:
        measuring.measure(each, branch(whole, columns))
    model = fit(model, STEPS) if tree else model
    further = _further(measuring, [each for each in pairs if each not in tree], shape, model)
    finer = further or tree or [(column,) for column in range(columns)]
    rest = whole.part(measuring.left / whole.amount)
    for each in finer:
        measuring.measure(each, rest.part(Fraction(1, len(finer))))
    return fit(model, FINAL)


def branch(whole: Budget, columns: int) -> Budget:
    """Return the budget of measuring one pair of the tree."""
    return whole.part(TREE / (columns - 1))


def _tree(measuring: Measuring, pairs: Sequence[Columns], columns: int, model: Model) -> list[Columns]:
    whole = measuring.budget
    cost = whole.part(CHOICE / 2 / (columns - 1))
    noise = mean_size(branch(whole, columns).noise())
    candidates = [_candidate(pair, model.counts(pair), noise) for pair in pairs]
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


def _further(
    measuring: Measuring, pairs: Sequence[Columns], shape: Sequence[int], model: Model
) -> list[Columns]:
    whole, most = measuring.budget, CHOICES * len(shape)
    cost = whole.part(CHOICE / 2 / most)
    rest = whole.part(measuring.left / whole.amount - CHOICE / 2)
    expected = {pair: model.counts(pair) for pair in pairs}
    chosen: list[Columns] = []
    for _ in range(min(most, len(pairs))):
        noise = mean_size(rest.part(Fraction(1, len(chosen) + 1)).noise())
        candidates = [_candidate(*each, noise) for each in expected.items()]
        place = measuring.choose(candidates, cost, or_none=True)
        if place == len(candidates):
            break
        found = candidates[place].columns
        del expected[found]
        if total_cells([*model.sets, *chosen, found], shape) <= ROOM:
            chosen.append(found)
    return chosen


def _candidate(pair: Columns, expected: Floats, noise: float) -> Candidate:
    return Candidate(columns=pair, expected=expected, allowance=noise * expected.size)

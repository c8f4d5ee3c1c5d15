"""MST (quality "lean"): every column, a spanning tree of pairs, and the worst-fitting further pairs.

One-way     all columns are measured at once, for the share `SINGLE` of the budget.
Tree        pairs are chosen one after the other, always among those that close no circle: the pair whose
            counts differ most from what the columns alone let expect, less what its noise would add. They are
            measured for the share `TREE`, each with the same part, whether or not the tree becomes whole.
Further     then pairs whose counts differ most from what the tree lets expect, less what noise would add if
            those chosen so far shared all that is left. How many are worth it thus follows from budget, bins
            and number of rows. A pair with which the model would pass `MAX_CELLS` cells is left out; which
            these are follows from what was chosen, so it is no more than was released.
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
from discreet.mining.synthesis.graphical_model import GraphicalModel
from discreet.mining.synthesis.junction_tree import count_clique_cells
from discreet.mining.synthesis.marginal_measurement import Candidate, MarginalMeasurer
from discreet.mining.tabulation.cells import Columns
from discreet.mining.tabulation.noise_budget import NoiseBudget, compute_mean_magnitude

SINGLE, TREE, CHOICE = Fraction(1, 8), Fraction(2, 5), Fraction(1, 20)
CHOICES_PER_COLUMN = 3
"""The most further pairs that are selected, per column."""
MAX_CELLS = 1 << 15
STEPS, FINAL = 60, 200

Fit = Callable[[GraphicalModel | None, int], GraphicalModel]


def fit_mst(
    measurer: MarginalMeasurer, pairs: Sequence[Columns], shape: Sequence[int], fit: Fit
) -> GraphicalModel:
    """Return a model of the columns, of a spanning tree of pairs, and of further pairs."""
    whole, columns = measurer.budget, len(shape)
    single = whole.take_share(SINGLE if pairs else 1)
    for column in range(columns):
        measurer.measure((column,), single.take_share(Fraction(1, columns)))
    model = fit(None, STEPS)
    if not pairs:
        return model
    tree = _select_tree(measurer, pairs, columns, model)
    for each in tree:
        measurer.measure(each, get_pair_budget(whole, columns))
    model = fit(model, STEPS) if tree else model
    further = _select_further_pairs(measurer, [each for each in pairs if each not in tree], shape, model)
    finer = further or tree or [(column,) for column in range(columns)]
    rest = whole.take_share(measurer.remaining / whole.amount)
    for each in finer:
        measurer.measure(each, rest.take_share(Fraction(1, len(finer))))
    return fit(model, FINAL)


def get_pair_budget(whole: NoiseBudget, columns: int) -> NoiseBudget:
    """Return the budget of measuring one pair of the tree."""
    return whole.take_share(TREE / (columns - 1))


def _select_tree(
    measurer: MarginalMeasurer, pairs: Sequence[Columns], columns: int, model: GraphicalModel
) -> list[Columns]:
    whole = measurer.budget
    cost = whole.take_share(CHOICE / 2 / (columns - 1))
    noise = compute_mean_magnitude(get_pair_budget(whole, columns).make_noise())
    candidates = [_make_candidate(pair, model.compute_counts(pair), noise) for pair in pairs]
    chosen: list[Columns] = []
    group = list(range(columns))
    while open_ := [each for each in candidates if len({group[column] for column in each.columns}) == 2]:
        place = measurer.select(open_, cost, or_none=True)
        if place == len(open_):
            break
        first, second = open_[place].columns
        chosen.append((first, second))
        group = [group[first] if each == group[second] else each for each in group]
    return chosen


def _select_further_pairs(
    measurer: MarginalMeasurer, pairs: Sequence[Columns], shape: Sequence[int], model: GraphicalModel
) -> list[Columns]:
    whole, most = measurer.budget, CHOICES_PER_COLUMN * len(shape)
    cost = whole.take_share(CHOICE / 2 / most)
    rest = whole.take_share(measurer.remaining / whole.amount - CHOICE / 2)
    expected = {pair: model.compute_counts(pair) for pair in pairs}
    chosen: list[Columns] = []
    for _ in range(min(most, len(pairs))):
        noise = compute_mean_magnitude(rest.take_share(Fraction(1, len(chosen) + 1)).make_noise())
        candidates = [_make_candidate(*each, noise) for each in expected.items()]
        place = measurer.select(candidates, cost, or_none=True)
        if place == len(candidates):
            break
        found = candidates[place].columns
        del expected[found]
        if count_clique_cells([*model.sets, *chosen, found], shape) <= MAX_CELLS:
            chosen.append(found)
    return chosen


def _make_candidate(pair: Columns, expected: Floats, noise: float) -> Candidate:
    return Candidate(columns=pair, expected=expected, allowance=noise * expected.size)

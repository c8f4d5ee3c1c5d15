"""AIM (quality "best"): sets of up to three columns, selected one by one where the model is worst.

Rounds      ROUNDS * columns of them would use up the budget; the first one for every column measures it.
Choice      each further round picks, for the share `CHOICE_SHARE` of its cost, the set whose real counts
            differ most from the model's, less what its noise would add. Sets that would make the model too
            large are no candidates; the room grows with what was spent.
Annealing   a set that taught less than its own noise was measured too coarsely: noise is halved from then
            on, and choices twice as bold. Costs are thus chosen by what was released, which sums of epsilon
            and of rho allow.
Last        a round takes all that is left if two such rounds would not fit.

[MMSM22]    McKenna, Mullins, Sheldon & Miklau, AIM: An Adaptive and Iterative Mechanism.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from discreet.mining.bin_counters import Progress
from discreet.mining.synthesis.graphical_model import GraphicalModel
from discreet.mining.synthesis.junction_tree import count_clique_cells
from discreet.mining.synthesis.marginal_measurement import Candidate, MarginalMeasurer
from discreet.mining.synthesis.mst import Fit
from discreet.mining.tabulation.cells import Columns
from discreet.mining.tabulation.noise_budget import NoiseBudget, compute_mean_magnitude

ROUNDS = 16
CHOICE_SHARE = Fraction(1, 10)
STEPS, FINAL = 60, 1_000
MAX_CELLS = 200_000
FIRST_ROOM = 0.1
SHARPER = 2


def fit_aim(
    measurer: MarginalMeasurer, sets: Sequence[Columns], columns: int, fit: Fit, report_progress: Progress
) -> GraphicalModel:
    """Return a model of the sets that are worth their noise; progress is the share of budget spent."""
    whole = measurer.budget
    cost = whole.take_share(Fraction(1, ROUNDS * columns))
    for column in range(columns):
        measurer.measure((column,), cost.take_share(1 - CHOICE_SHARE))
    model = fit(None, STEPS)
    while measurer.remaining > 0:
        if measurer.remaining < 2 * cost.amount:
            cost = whole.take_share(measurer.remaining / whole.amount)
        report_progress(float((measurer.spent + cost.amount) / whole.amount))
        model, taught = _run_round(measurer, sets, cost, model, fit)
        cost = cost if taught else cost.sharpen(SHARPER)
    return fit(model, FINAL)


def _run_round(
    measurer: MarginalMeasurer, sets: Sequence[Columns], cost: NoiseBudget, model: GraphicalModel, fit: Fit
) -> tuple[GraphicalModel, bool]:
    """Return the model with one more set, and True if it taught more than its noise."""
    after = float((measurer.spent + cost.amount) / measurer.budget.amount)
    size = compute_mean_magnitude(cost.take_share(1 - CHOICE_SHARE).make_noise())
    candidates = [_make_candidate(each, model, size) for each in _list_fitting_sets(sets, model, after)]
    chosen = candidates[measurer.select(candidates, cost.take_share(CHOICE_SHARE))].columns
    measurer.measure(chosen, cost.take_share(1 - CHOICE_SHARE))
    before = model.compute_counts(chosen)
    found = fit(model, STEPS)
    moved = float(np.abs(found.compute_counts(chosen) - before).sum())
    return found, moved > size * before.size


def _list_fitting_sets(sets: Sequence[Columns], model: GraphicalModel, share: float) -> list[Columns]:
    """Return the sets with which the model stays within its size limit; single columns always do."""
    room = MAX_CELLS * max(share, FIRST_ROOM)
    return [
        each
        for each in sets
        if model.tree.find_clique(each) is not None
        or count_clique_cells([*model.sets, each], model.tree.shape) <= room
    ]


def _make_candidate(columns: Columns, model: GraphicalModel, size: float) -> Candidate:
    expected = model.compute_counts(columns)
    return Candidate(columns=columns, expected=expected, allowance=size * expected.size)

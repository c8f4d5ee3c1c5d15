"""AIM (quality "best"): sets of up to three columns, selected one by one where the model is worst.

Rounds      ROUNDS * columns of them would use up the budget; the first one for every column measures it.
Choice      each further round picks, for the share `CHOICE` of its cost, the set whose real counts differ
            most from the model's, less what its noise would add. Sets that would make the model too large
            are no candidates; the room grows with what was spent.
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

from discreet.mining.counting import Progress
from discreet.mining.synthesis.inference import Model
from discreet.mining.synthesis.lean import Fit
from discreet.mining.synthesis.measuring import Candidate, Measuring
from discreet.mining.synthesis.triangulation import total_cells
from discreet.mining.tabulation.budget import Budget, mean_size
from discreet.mining.tabulation.cells import Columns

ROUNDS = 16
CHOICE = Fraction(1, 10)
STEPS, FINAL = 60, 1_000
CELLS = 200_000
FIRST_ROOM = 0.1
SHARPER = 2


def learn(measuring: Measuring, sets: Sequence[Columns], columns: int, fit: Fit, told: Progress) -> Model:
    """Return a model of the sets that are worth their noise; progress is the share of budget spent."""
    whole = measuring.budget
    cost = whole.part(Fraction(1, ROUNDS * columns))
    for column in range(columns):
        measuring.measure((column,), cost.part(1 - CHOICE))
    model = fit(None, STEPS)
    while measuring.left > 0:
        if measuring.left < 2 * cost.amount:
            cost = whole.part(measuring.left / whole.amount)
        told(float((measuring.spent + cost.amount) / whole.amount))
        model, taught = _round(measuring, sets, cost, model, fit)
        cost = cost if taught else cost.sharper(SHARPER)
    return fit(model, FINAL)


def _round(
    measuring: Measuring, sets: Sequence[Columns], cost: Budget, model: Model, fit: Fit
) -> tuple[Model, bool]:
    """Return the model with one more set, and True if it taught more than its noise."""
    after = float((measuring.spent + cost.amount) / measuring.budget.amount)
    size = mean_size(cost.part(1 - CHOICE).noise())
    candidates = [_candidate(each, model, size) for each in _fitting(sets, model, after)]
    chosen = candidates[measuring.choose(candidates, cost.part(CHOICE))].columns
    measuring.measure(chosen, cost.part(1 - CHOICE))
    before = model.counts(chosen)
    found = fit(model, STEPS)
    moved = float(np.abs(found.counts(chosen) - before).sum())
    return found, moved > size * before.size


def _fitting(sets: Sequence[Columns], model: Model, share: float) -> list[Columns]:
    """Return the sets with which the model stays within its size limit; single columns always do."""
    room = CELLS * max(share, FIRST_ROOM)
    return [
        each
        for each in sets
        if model.tree.home(each) is not None or total_cells([*model.sets, each], model.tree.shape) <= room
    ]


def _candidate(columns: Columns, model: Model, size: float) -> Candidate:
    expected = model.counts(columns)
    return Candidate(columns=columns, expected=expected, allowance=size * expected.size)

"""What an objective promises of nodes that were not judged is true of every one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet.anonymity.models import KAnonymity
from discreet.anonymity.search import OBJECTIVES, Objective
from discreet.anonymity.search.exploration import Exploration
from discreet.anonymity.search.lattice import Floats, Levels, slice_above, slice_below
from discreet.anonymity.search.objectives import LOSS
from tests.anonymity.search.worlds import World, worlds

ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True)
class Claim:
    """The score of a valid node, and what it says of those below and above."""

    score: float
    below: Floats | float
    above: float


def claims(world: World, objective: Objective, suppress: Fraction) -> tuple[Exploration, dict[Levels, Claim]]:
    """Every valid node."""
    exploration = Exploration.from_tuples(
        world.tuples,
        world.hierarchies,
        [KAnonymity(k=2)],
        suppress=suppress,
        objective=objective,
        weights=None,
    )
    scale, found = exploration.scale, {}
    for node in map(exploration.lattice.get_levels, range(exploration.lattice.size)):
        outcome = exploration.evaluate(node)
        if outcome.view is not None:
            below, above = scale.bound_below(outcome.view), scale.bound_above(outcome.view)
            found[node] = Claim(score=outcome.score, below=below, above=above)
    return exploration, found


@given(worlds(), st.sampled_from(OBJECTIVES), st.fractions(0, 1))
def test_no_node_scores_below_a_bound(world: World, objective: Objective, suppress: Fraction) -> None:
    exploration, found = claims(world, objective, suppress)
    scores = np.full(exploration.lattice.shape, np.inf)
    for node, claim in found.items():
        scores[node] = claim.score + ROUNDING * (1 + abs(claim.score))
    assert (exploration.scale.compute_bounds() <= scores).all()
    for node, claim in found.items():
        assert (claim.below <= scores[slice_below(node)]).all()
        assert (claim.above <= scores[slice_above(node)]).all()


@given(worlds())
def test_the_bound_of_the_loss_is_the_loss_where_nothing_is_suppressed(world: World) -> None:
    exploration, found = claims(world, LOSS, Fraction(0))
    bounds = exploration.scale.compute_bounds()
    assert all(abs(bounds[node] - claim.score) < ROUNDING for node, claim in found.items())

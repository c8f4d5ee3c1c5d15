"""From (epsilon, delta) back to rho: what is found holds, and hardly more would."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting.profile_inversion import find_largest_rho
from discreet.belief import Promise
from discreet.core.errors import InvalidParameterError
from discreet.core.guarantees import ZeroConcentratedDP
from discreet.core.neighbor_relations import Relation
from discreet.mining.tabulation.noise_budget import NoiseBudget
from discreet.mining.training_budget import make_noise_budget


@given(st.floats(0.01, 20), st.floats(1e-12, 0.1))
def test_the_largest_rho_keeps_to_delta_and_a_thousandth_more_does_not(epsilon: float, delta: float) -> None:
    found = find_largest_rho(lambda held: held.profile(epsilon) <= delta, Relation.VALUE)
    assert found.profile(epsilon) <= delta
    assert ZeroConcentratedDP(rho=Fraction(found.rho) * Fraction(1001, 1000)).profile(epsilon) > delta


def test_models_and_tables_have_the_same_rho_for_the_same_epsilon_and_delta() -> None:
    table = NoiseBudget.from_epsilon(epsilon=1, delta=1e-9, relation=Relation.PRESENCE).guarantee
    assert make_noise_budget("mine", 1, 1e-9, None) == table


def test_a_promise_that_leaves_nothing_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="leaves no budget to learn with"):
        find_largest_rho(Promise(0.01, 0.05).admits, Relation.VALUE)

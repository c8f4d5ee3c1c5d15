"""All that boosting releases: what a run can tell of a person, exactly, and by an audit; twins are caught.

A model is computed from noisy counts and noisy residuals alone, so these are what is looked at. What a
release can tell is known exactly from what either of two neighbouring tables would have given: how far apart
they are, in widths of the noise. Added up over a run that is never more than the budget, whatever was
released before; and on the worst neighbours it is nearly all of it: all others of a cell are of one class and
the person is of the other, so her count is one more, and her residual is as large as it can be.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from discreet.attacks.privacy_audit import EpsilonAudit, audit_epsilon
from discreet.core.exact_values import Exact
from discreet.core.guarantees import PureDP, ZeroConcentratedDP
from discreet.core.randomness import Randomness
from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.sampling import Floats, Integers
from discreet.mining import boosting
from discreet.mining.additive_model import GRID, Scores
from discreet.mining.attributes import Codes
from discreet.mining.bin_counters import ArrayCounter
from discreet.mining.boosting import BoostingPlan, boost_scores
from discreet.mining.decision_tree import Splits
from discreet.mining.training_budget import make_noise_budget
from tests.conftest import seeded
from tests.mining.rows import binary
from tests.statistical import FALSE_ALARM

KINDS = ("pure", "concentrated")
DELTA = 1e-3
OTHERS, MANY = 60, 10**6
Noise = DiscreteLaplace | DiscreteGaussian
Table = tuple[Codes, Integers]


def budgeted(kind: str, epsilon: Fraction) -> PureDP | ZeroConcentratedDP:
    return make_noise_budget("audit", epsilon, 0 if kind == "pure" else DELTA, None)


class OneRound(BoostingPlan):
    """A twin that spends all of its budget in every round."""

    def _get_round_share(self, rounds: int) -> Fraction:
        return Fraction(1)


class OneAttribute(BoostingPlan):
    """A twin whose noise is that of one attribute, though it counts the cells of all."""

    def _make_noise(self, share: Fraction, l1: int, squared_l2: int, places: int) -> Noise:
        d = len(self.schema.attributes)
        return super()._make_noise(share, l1 // d, squared_l2 // d, places)


class TwoClasses(BoostingPlan):
    """A twin that takes the residuals of many classes for one."""

    def make_residual_noise(self, rounds: int) -> Noise:
        d, places = len(self.schema.attributes), self.schema.cells * self.schema.classes
        return self._make_noise(self._get_round_share(rounds), d * GRID, d * GRID**2, places)


TWINS = (OneRound, OneAttribute, TwoClasses)


# -- What a run releases ------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class Both(ArrayCounter):
    """Counts one of two neighbouring tables, and writes down what either would have given."""

    other: ArrayCounter
    pairs: list[tuple[Integers, Integers]]

    def count_cells_by_node(self, splits: Splits) -> Exact[Integers]:
        return self._noted(
            ArrayCounter.count_cells_by_node(self, splits), self.other.count_cells_by_node(splits)
        )

    def sum_residuals(self, scores: Scores) -> Exact[Integers]:
        return self._noted(ArrayCounter.sum_residuals(self, scores), self.other.sum_residuals(scores))

    def _noted(self, own: Exact[Integers], other: Exact[Integers]) -> Exact[Integers]:
        self.pairs.append((own.secret.reshape(-1), other.secret.reshape(-1)))
        return own


@dataclass(frozen=True)
class Release:
    """One noisy release of a run, and what it was made of on either table."""

    noise: Noise
    released: Floats
    own: Integers
    other: Integers

    @property
    def spent(self) -> float:
        """What it costs on these two tables: epsilon, or rho."""
        apart = np.abs(self.own - self.other).astype(np.float64)
        if isinstance(self.noise, DiscreteLaplace):
            return float(self.noise.rate) * float(apart.sum())
        return float((apart**2).sum()) / (2 * float(self.noise.variance))

    @property
    def loss(self) -> float:
        """How much likelier it is on the table that was run on, as a logarithm; for Laplace noise."""
        assert isinstance(self.noise, DiscreteLaplace)
        further = np.abs(self.released - self.other) - np.abs(self.released - self.own)
        return float(self.noise.rate) * float(further.sum())


HONEST = boosting._release_noisy


def run(
    plan: BoostingPlan, own: Table, other: Table, random: Randomness, patch: pytest.MonkeyPatch
) -> list[Release]:
    """All that is released of the first table."""
    found: list[Release] = []
    against = ArrayCounter(schema=plan.schema, codes=other[0], targets=other[1])
    here = Both(schema=plan.schema, codes=own[0], targets=own[1], other=against, pairs=[])

    def noisy(noise: Noise, exact: Exact[Integers], random: Randomness) -> Floats:
        released = HONEST(noise, exact, random)
        found.append(Release(noise, released.reshape(-1), *here.pairs[-1]))
        return released

    patch.setattr(boosting, "_release_noisy", noisy)
    boost_scores(plan, here, random)
    return found


def worst(plan: BoostingPlan, person: int) -> Table:
    """Others of the first class, and so many rows of one person of the last, all in the first cells."""
    targets = np.array([0] * OTHERS + [plan.schema.classes - 1] * person, np.int64)
    return np.zeros((len(targets), len(plan.schema.attributes)), np.int16), targets


def drawn(plan: BoostingPlan, others: int, person: int, seed: int) -> tuple[Table, Table]:
    """Random rows, without and with those of one more person."""
    generator = np.random.default_rng(seed)
    codes = generator.integers(0, 2, (others + person, len(plan.schema.attributes))).astype(np.int16)
    targets = generator.integers(0, plan.schema.classes, others + person)
    return (codes[:others], targets[:others]), (codes, targets)


# -- Exactly ------------------------------------------------------------------------------------------


def allowed(plan: BoostingPlan) -> float:
    return float(plan.budget.epsilon if isinstance(plan.budget, PureDP) else plan.budget.rho)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("rows", [1, 3])
def test_no_neighbour_makes_a_run_tell_more_than_its_budget(
    kind: str, classes: int, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = binary(3, [str(each) for each in range(classes)])
    plan = BoostingPlan(schema=schema, budget=budgeted(kind, Fraction(1)), rows=MANY, rows_per_person=rows)
    for seed in range(12):
        without, with_her = drawn(plan, 3 * seed, 1 + seed % rows, seed)
        for own, other in ((without, with_her), (with_her, without)):
            spent = [each.spent for each in run(plan, own, other, seeded(seed), monkeypatch)]
            assert len(spent) == plan.choose_rounds(MANY)
            assert sum(spent) <= allowed(plan) * (1 + 1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("attributes", [1, 5])
def test_the_worst_neighbours_make_a_run_tell_nearly_all_of_its_budget(
    kind: str, attributes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = BoostingPlan(schema=binary(attributes), budget=budgeted(kind, Fraction(4)), rows=MANY)
    released = run(plan, worst(plan, 1), worst(plan, 0), seeded(1), monkeypatch)
    assert 0.85 * allowed(plan) < sum(each.spent for each in released) <= allowed(plan)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("twin", TWINS)
def test_a_twin_that_pays_for_less_than_it_releases_is_caught(
    kind: str, twin: type[BoostingPlan], monkeypatch: pytest.MonkeyPatch
) -> None:
    classes = ["a", "b", "c"] if twin is TwoClasses else ["a", "b"]
    plan = twin(schema=binary(4, classes), budget=budgeted(kind, Fraction(4)), rows=MANY)
    released = run(plan, worst(plan, 1), worst(plan, 0), seeded(1), monkeypatch)
    assert sum(each.spent for each in released) > 1.2 * allowed(plan)


# -- By an audit --------------------------------------------------------------------------------------


def audited(plan: BoostingPlan, patch: pytest.MonkeyPatch, *, runs: int) -> EpsilonAudit:
    """With one person more, and without her, by the loss of all that a run releases."""

    def losses(own: int, other: int, seed: int) -> Callable[[int], list[float]]:
        random, sign = seeded(seed), 1 if own else -1
        tables = worst(plan, own), worst(plan, other)
        return lambda number: [
            sign * sum(each.loss for each in run(plan, *tables, random, patch)) for _ in range(number)
        ]

    return audit_epsilon(
        losses(1, 0, 1), losses(0, 1, 2), claimed=allowed(plan), runs=runs, confidence=1 - FALSE_ALARM
    )


def test_an_audit_certifies_much_of_a_forests_epsilon_and_never_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many runs could show 3.3 at most."""
    plan = BoostingPlan(schema=binary(1), budget=budgeted("pure", Fraction(4)), rows=OTHERS)
    assert plan.choose_rounds(OTHERS) == 2
    found = audited(plan, monkeypatch, runs=1_200)
    assert found.holds
    assert found.lower_bound > 1.6


@pytest.mark.parametrize(
    ("twin", "attributes", "rows"),
    [pytest.param(OneRound, 1, MANY, marks=pytest.mark.night), (OneAttribute, 16, OTHERS)],
)
def test_an_audit_catches_a_twin(
    twin: type[BoostingPlan], attributes: int, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = twin(schema=binary(attributes), budget=budgeted("pure", Fraction(3, 2)), rows=rows)
    assert not audited(plan, monkeypatch, runs=1_500).holds

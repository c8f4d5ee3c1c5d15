"""Boosting on noisy histograms: a forest of small trees, each over one attribute, whose scores add up.

Release     Round 0: how many rows of each class every cell has, with noise. Every further round: the
            residuals of the model so far, summed in every cell, with noise. A round refines the score of
            every attribute at once: what the sums say of a cell's score, averaged over rounds, is smoothed to
            a regression tree over its bins. No other thing of the rows is read.
Requires    Bins, classes and rows per person R are declared.
Guarantee   For added and removed people. A row is in one cell of each of the d attributes. In round 0 it adds
            1 to d counts: R d in L1, and R**2 d in squared L2, since all rows of a person may be in the same
            cells. In later rounds it adds at most GRID (for more than two classes 2 GRID) to each in L1 and
            GRID**2 (2 GRID**2) in squares, see `additive_model`. How much each round spends is fixed
            beforehand, or by the released number of rows, and adds up to the budget in every case:
            pure            discrete Laplace noise, the epsilons of the rounds add up;
            concentrated    discrete Gaussian noise, the rho add up. A given (epsilon, delta), or a promise
                            with a tail, is served by the largest rho that it allows.
Utility     Pure noise grows with the number of rounds, concentrated noise with its root.

Rule        With s the noise of one round that has the whole budget, in rows, and n rows: n / (64 s) rounds,
            from 3 to 8 (pure, where every round more costs more: n / (200 s), from 1 to 4). Then as many bins
            an attribute, a power of two from 8 to 256, as keep the noise of a sum over all of them below
            n / 100. 1/50 of the budget measures the number of rows if it is not declared.
            Steps are damped, because attributes that say the same would be counted twice: 1/5 of what round 0
            says, then 2/5 / (1 + t/5) of what round t says of the average, 1/10 at least.

Smoothing, from noisy sums to a score for every bin of one attribute, reads released sums alone. What is known
of a bin (or a run of bins) is a sum z = h s + error for the score s that is looked for, and a noisy weight h.
The error has the variance of the noise, which is known, and that of sampling, about h.

Ordered     a regression tree over the bins: divided where the two sides' z / h differ by most standard
            errors, as long as that is sqrt(`CLEAR`) or more, and each side's weight stands out of its own
            noise. The difference d, of variance v, counts as d (1 - v / d**2), which is what is left of it
            on average once the noise is taken off [JS61].
Categories  each z / h is drawn to 0 as under a normal prior of variance 1; where the weight does not stand
            out of its noise, the score is 0.
Resolution  Neighboring bins are merged as far as the noise requires. Counts are exact at the declared bins;
            which of them are added up before noise is drawn follows from the plan. Fewer bins make the noise
            of sums over many of them smaller, and see less.

[NCBK21]    Nori, Caruana, Bu, Shen & Kulkarni, Accuracy, Interpretability, and Differential Privacy via
            Explainable Boosting: cyclic boosting of one attribute at a time.
[JS61]      James & Stein, Estimation with Quadratic Loss.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import require_parameter
from discreet.core.exact_values import Exact
from discreet.core.guarantees import PureDP
from discreet.core.neighbor_relations import Relation
from discreet.core.number_checks import require_count
from discreet.core.randomness import Randomness
from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.noise_laws import IntegerNoise
from discreet.mechanisms.sampling import Floats, Integers
from discreet.mining.additive_model import GRID, Scores, count_outputs
from discreet.mining.bin_counters import Counter, Progress
from discreet.mining.decision_tree import Splits
from discreet.mining.schema import Schema
from discreet.mining.training_budget import Budget

ROW_COUNT_SHARE = Fraction(1, 50)
COARSEST, FINEST = 8, 256
SMALL = 100
FEWEST, PURE_FEWEST = (64, 3, 8), (200, 1, 4)
CALM = 0.6
"""The ratio of the mean of p (1 - p) to that at the mean p: confident rows move less."""
CLEAR = 3.0
STANDS_OUT = 2.0
LIGHTEST = 0.5
LARGEST = 6.0


@dataclass(frozen=True, kw_only=True)
class BoostingPlan:
    """The plan of a boosted forest and its cost, known before data is read."""

    schema: Schema
    budget: Budget
    rows: int | None = None
    rows_per_person: int = 1

    def __post_init__(self) -> None:
        for name in ("rows", "rows_per_person"):
            if getattr(self, name) is not None:
                require_count("", name, getattr(self, name))
        hides = self.budget.relation is Relation.PRESENCE
        require_parameter(hides, self, "budget", self.budget, "a guarantee for added and removed people")
        require_parameter(
            self.schema.classes >= 2, self, "schema", self.schema.classes, "a target of two classes or more"
        )

    @property
    def guarantee(self) -> Budget:
        return self.budget

    @property
    def row_count_noise(self) -> IntegerNoise | None:
        """The noise of the number of rows, if that is not declared."""
        if self.rows is not None:
            return None
        return self._make_noise(ROW_COUNT_SHARE, self.rows_per_person, self.rows_per_person**2, 1)

    def choose_rounds(self, rows: int) -> int:
        """Return the number of rounds for this many rows."""
        per, fewest, most = PURE_FEWEST if isinstance(self.budget, PureDP) else FEWEST
        return max(fewest, min(most, round(rows / (per * compute_deviation(self.make_count_noise(1))))))

    def choose_bins(self, rows: int) -> int:
        """Return the largest number of bins of an attribute."""
        noise = compute_deviation(self.make_count_noise(self.choose_rounds(rows)))
        number = COARSEST
        while number < FINEST and noise * math.sqrt(2 * number) <= rows / SMALL:
            number *= 2
        return number

    def make_count_noise(self, rounds: int) -> IntegerNoise:
        """Return the noise of round 0."""
        d, r = len(self.schema.attributes), self.rows_per_person
        return self._make_noise(
            self._get_round_share(rounds), r * d, r**2 * d, self.schema.cells * self.schema.classes
        )

    def make_residual_noise(self, rounds: int) -> IntegerNoise:
        """Return the noise of the later rounds, in steps of the residuals' grid."""
        d, r = len(self.schema.attributes), self.rows_per_person
        twice = 1 if self.schema.classes == 2 else 2
        return self._make_noise(
            self._get_round_share(rounds),
            r * d * twice * GRID,
            r**2 * d * twice * GRID**2,
            self.schema.cells * count_outputs(self.schema.classes),
        )

    def _get_round_share(self, rounds: int) -> Fraction:
        return (1 - ROW_COUNT_SHARE if self.rows is None else Fraction(1)) / rounds

    def _make_noise(self, share: Fraction, l1: int, squared_l2: int, places: int) -> IntegerNoise:
        if isinstance(self.budget, PureDP):
            return DiscreteLaplace(
                epsilon=Fraction(self.budget.epsilon) * share, sensitivity=l1, relation=Relation.PRESENCE
            )
        return DiscreteGaussian.from_rho(
            Fraction(self.budget.rho) * share,
            squared_sensitivity=squared_l2,
            places=places,
            relation=Relation.PRESENCE,
        )


def compute_deviation(noise: IntegerNoise) -> float:
    """Return the standard deviation of the noise; positive even for a huge epsilon."""
    return max(math.sqrt(noise.variance), 1e-9)


def boost_scores(
    plan: BoostingPlan, counter: Counter, random: Randomness, report_progress: Progress = lambda _: None
) -> Scores:
    """Return the scores of all cells; `report_progress` receives the share of rounds done."""
    schema = plan.schema
    exact = counter.count_cells_by_node(Splits()).secret[0]
    rows = _release_row_count(plan, Exact(int(exact[: schema.offsets[1]].sum())), random)
    rounds = plan.choose_rounds(rows)
    resolution = BinResolution.from_schema(schema, plan.choose_bins(rows))
    counts = _release_noisy(plan.make_count_noise(rounds), Exact(resolution.coarsen(exact)), random)
    model = _BoostingState.from_counts(resolution, counts, float(plan.make_count_noise(rounds).variance))
    noise = plan.make_residual_noise(rounds)
    for step in range(1, rounds):
        report_progress(step / rounds)
        sums = counter.sum_residuals(model.scores)
        apart = _release_noisy(noise, Exact(resolution.coarsen(sums.secret)), random) / GRID
        model.update(apart, float(noise.variance) / GRID**2, max(0.4 / (1 + step / 5), 0.1))
    return model.scores


def _release_row_count(plan: BoostingPlan, exact: Exact[int], random: Randomness) -> int:
    if plan.rows is not None or plan.row_count_noise is None:
        return plan.rows or 1
    return max(1, plan.row_count_noise.release(exact, random).value)


def _release_noisy(noise: IntegerNoise, exact: Exact[Integers], random: Randomness) -> Floats:
    released = noise.release_many(Exact(exact.secret.reshape(-1)), random)
    return released.value.reshape(exact.secret.shape).astype(np.float64)


class _BoostingState:
    """The state of boosting, computed from releases alone: averages over rounds of the estimates of h s."""

    def __init__(
        self, resolution: BinResolution, intercepts: Floats, weights: Floats, weight_noise: Floats
    ) -> None:
        self._resolution, self._beforehand = resolution, intercepts
        self._weights, self._weight_noise = weights, weight_noise
        self._average = np.zeros_like(weights)
        self._noise = np.zeros(len(intercepts))
        self._table = np.zeros_like(weights)

    @classmethod
    def from_counts(cls, resolution: BinResolution, counts: Floats, noise: float) -> _BoostingState:
        """Return the model of noisy counts over (cell, class), as if attributes were independent."""
        classes = counts.shape[1]
        totals = np.maximum(resolution.compute_totals(counts), 1.0)
        shares = np.clip(totals / totals.sum(), 0.01, 0.99)
        told = shares[1:] if classes == 2 else shares
        rows = counts.sum(axis=1)
        calm = CALM * told * (1 - told)
        model = cls(
            resolution,
            np.log(told / (1 - told)) if classes == 2 else np.log(told),
            rows[None, :] * calm[:, None],
            classes * noise * calm**2,
        )
        own = counts[:, 1:] if classes == 2 else counts
        spread = noise * ((1 - told) ** 2 + (classes - 1) * told**2)
        model._update_scores(own.T - told[:, None] * rows[None, :], spread, 0.2)
        return model

    @property
    def scores(self) -> Scores:
        return Scores(table=self._resolution.refine(self._table), intercepts=self._beforehand)

    def update(self, residuals: Floats, noise: float, step: float) -> None:
        """Update with the noisy residuals over (cell, output) of the current model."""
        rows = self._resolution.compute_totals(self._weights.T)
        self._beforehand = self._beforehand + self._resolution.compute_totals(residuals) / np.maximum(
            rows, 1.0
        )
        self._update_scores(residuals.T, np.full(len(self._beforehand), noise), step)

    def _update_scores(self, residuals: Floats, noise: Floats, step: float) -> None:
        said = self._weights * self._table + residuals
        self._average = (1 - step) * self._average + step * said
        self._noise = (1 - step) ** 2 * self._noise + step**2 * noise
        self._table = np.stack(
            [
                self._resolution.smooth_scores(
                    NoisySums(
                        sums=self._average[k],
                        weights=self._weights[k],
                        sum_noise=float(self._noise[k]),
                        weight_noise=float(self._weight_noise[k]),
                    )
                )
                for k in range(len(self._beforehand))
            ]
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisySums:
    """Sums and weights by bin, and the variance of their noise."""

    sums: Floats
    weights: Floats
    sum_noise: float
    weight_noise: float

    def take_range(self, begin: int, end: int) -> NoisySums:
        return NoisySums(
            sums=self.sums[begin:end],
            weights=self.weights[begin:end],
            sum_noise=self.sum_noise,
            weight_noise=self.weight_noise,
        )


def smooth_ordered(noisy_sums: NoisySums) -> Floats:
    """Return a score for every bin, equal over runs of bins that noise does not distinguish."""
    bins = len(noisy_sums.sums)
    z, h = (np.concatenate([[0.0], np.cumsum(each)]) for each in (noisy_sums.sums, noisy_sums.weights))
    found = np.zeros(bins)

    def divide(begin: int, end: int, level: float) -> None:
        found[begin:end] = level
        at = np.arange(begin + 1, end)
        heavy = _exceeds_noise(noisy_sums, h[at] - h[begin], at - begin) & _exceeds_noise(
            noisy_sums, h[end] - h[at], end - at
        )
        if not heavy.any():
            return
        at = at[heavy]
        left, right = h[at] - h[begin], h[end] - h[at]
        apart = (z[end] - z[at]) / right - (z[at] - z[begin]) / left
        doubt = _compute_variance(noisy_sums, left, at - begin) + _compute_variance(
            noisy_sums, right, end - at
        )
        clear = apart**2 / doubt
        best = int(np.argmax(clear))
        if clear[best] < CLEAR:
            return
        kept = apart[best] * (1 - 1 / clear[best])
        share = left[best] / (left[best] + right[best])
        divide(begin, int(at[best]), level - kept * (1 - share))
        divide(int(at[best]), end, level + kept * share)

    whole = bool(_exceeds_noise(noisy_sums, h[-1:], np.array([bins]))[0])
    divide(0, bins, z[-1] / h[-1] if whole else 0.0)
    return np.clip(found, -LARGEST, LARGEST)


def smooth_categories(noisy_sums: NoisySums) -> Floats:
    """Return a score for every bin on its own."""
    heavy = _exceeds_noise(noisy_sums, noisy_sums.weights, np.ones(len(noisy_sums.sums)))
    weights = np.where(heavy, noisy_sums.weights, 1.0)
    doubt = _compute_variance(noisy_sums, weights, np.ones(len(weights)))
    return np.clip(np.where(heavy, noisy_sums.sums / weights / (1 + doubt), 0.0), -LARGEST, LARGEST)


def _exceeds_noise(noisy_sums: NoisySums, weights: Floats, bins: NDArray[Any]) -> NDArray[np.bool_]:
    noise = np.sqrt(noisy_sums.weight_noise * bins.astype(np.float64))
    return np.asarray(weights > STANDS_OUT * noise + LIGHTEST)


def _compute_variance(noisy_sums: NoisySums, weights: Floats, bins: NDArray[Any]) -> Floats:
    """Return the variance of z / h over this many bins, from noise and sampling."""
    return np.asarray((noisy_sums.sum_noise * bins + weights) / weights**2)


@dataclass(frozen=True, kw_only=True, eq=False)
class BinResolution:
    """`starts`: the first cell of each coarse cell; `ends`: the end of each attribute's coarse cells."""

    schema: Schema
    starts: Integers
    ends: Integers

    @classmethod
    def from_schema(cls, schema: Schema, bins: int) -> BinResolution:
        """Return at most `bins` bins per ordered attribute, besides that of missing values."""
        starts, ends = [], []
        for j, attribute in enumerate(schema.attributes):
            first = int(schema.offsets[j])
            starts += [first + k for k in attribute.merge_bins(bins)]
            starts += [first + attribute.regular_bins] * attribute.has_missing_bin
            ends.append(len(starts))
        return cls(schema=schema, starts=np.array(starts, np.int64), ends=np.array(ends, np.int64))

    def coarsen(self, cells: Integers) -> Integers:
        """Return sums over (coarse cell, …) of an array over (cell, …)."""
        return np.asarray(np.add.reduceat(cells, self.starts, axis=0))

    def refine(self, table: Floats) -> Floats:
        """Return an array over (…, coarse cell) repeated for every cell."""
        return np.repeat(table, np.diff([*self.starts, self.schema.cells]), axis=-1)

    def compute_totals(self, cells: Floats) -> Floats:
        """Return the mean over attributes of the sum of cells; all attributes have the same total."""
        return np.asarray(cells.sum(axis=0) / len(self.ends))

    def smooth_scores(self, noisy_sums: NoisySums) -> Floats:
        """Return the scores of all attributes, each with a weighted mean of 0."""
        found = np.zeros(len(self.starts))
        for j, attribute in enumerate(self.schema.attributes):
            begin, end = int(self.ends[j - 1]) if j else 0, int(self.ends[j])
            part = noisy_sums.take_range(begin, end)
            last = end - begin - attribute.has_missing_bin
            if attribute.is_ordered:
                shaped = smooth_ordered(part.take_range(0, last))
                scores = np.concatenate([shaped, smooth_categories(part.take_range(last, end - begin))])
            else:
                scores = smooth_categories(part)
            weights = np.maximum(part.weights, 0)
            found[begin:end] = scores - (scores @ weights) / max(weights.sum(), 1.0)
        return found

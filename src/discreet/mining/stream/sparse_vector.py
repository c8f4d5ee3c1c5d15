"""Sparse vector: which of a stream of scores reach a threshold, where few of them do and only those cost.

Release     of each score h_i, one after the other, whether h_i + Z_i >= threshold + W. W is drawn first, and
            anew after a score that passed if `redraws_threshold`; Z_i is drawn for every score. After `test_score` scores
            that passed nothing more is told. All are integers: W discrete Laplace of rate e1 / s, Z_i of rate
            e2 / (2 s).
Requires    |h_i(D) - h_i(D')| <= s = `sensitivity` for all neighbours D, D', whatever was released before.
Guarantee   (e1 + passes e2)-DP. Fix what was released and the Z_i of scores that did not pass. On D' take W +
            s for W, and Z_i + 2 s for Z_i of scores that passed. What did not pass does not: h'_i + Z_i <=
            h_i + s + Z_i < threshold + W + s. What passed does: h'_i + Z_i + 2 s >= h_i + Z_i + s >=
            threshold + W + s. The shift of W costs a factor of exp(e1), that of each Z_i exp(e2), and a sum
            over all W and Z_i is a sum over the shifted ones. How many scores did not pass does not matter.
            If `redraws_threshold`, everything up to a pass is (e1 + e2)-DP, and there are `test_score` such parts.
Utility     a score that is further than `bound_error(miss)` from the threshold is misjudged with probability
            at most `miss`. W and Z are at most one more than Laplace variables of the same rates L1, L2, and
            Pr[L1 + L2 > x] = (b**2 exp(-a x) - a**2 exp(-b x)) / (2 (b**2 - a**2)) for rates a, b.
Taken       One score at a time, whichever threads bring them: a pass is taken before its score is drawn, and
            returned only where the score does not pass. So neither threads that come together nor a draw
            that is interrupted tell more than `test_score`; if `redraws_threshold`, a pass also ends its threshold.
Why once    A threshold that is drawn once costs e1 once; in concentrated terms it is drawn anew, since parts
            that are each pure add up there by themselves.

[DNRRV09]   Dwork, Naor, Reingold, Rothblum & Vadhan, On the Complexity of DP Data Release.
[LSL17]     Lyu, Su & Li, Understanding the Sparse Vector Technique: variants of it that keep no promise, and
            the best division of epsilon, e1 : passes e2 = 1 : (2 passes)**(2/3).
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from discreet.core.errors import BudgetError
from discreet.core.exact_values import Exact
from discreet.core.guarantees import PureDP
from discreet.core.neighbor_relations import Relation, coerce_relation
from discreet.core.number_checks import coerce_positive_fraction, require_count, require_probability
from discreet.core.randomness import Randomness
from discreet.mechanisms.discrete_laplace import DiscreteLaplace

PLACES = 10_000


@dataclass(frozen=True, kw_only=True)
class SparseVector:
    """The sparse vector technique: `threshold_epsilon` is spent on the threshold, `score_epsilon` on every passing score.

    >>> SparseVector.from_epsilon(Fraction(1), passes=10, sensitivity=1).guarantees
    {PureDP(epsilon=Fraction(1, 1), relation=<Relation.VALUE: 'value'>): 1}
    """

    threshold_epsilon: Fraction
    score_epsilon: Fraction
    passes: int
    sensitivity: int
    redraws_threshold: bool = False
    relation: Relation = Relation.VALUE

    def __post_init__(self) -> None:
        coerce_relation(self)
        coerce_positive_fraction(self, "threshold_epsilon")
        coerce_positive_fraction(self, "score_epsilon")
        require_count(self, "passes", self.passes)
        require_count(self, "sensitivity", self.sensitivity)

    @classmethod
    def from_epsilon(
        cls,
        epsilon: Fraction,
        *,
        passes: int,
        sensitivity: int,
        redraws_threshold: bool = False,
        relation: Relation = Relation.VALUE,
    ) -> SparseVector:
        """Return the best division of epsilon, for all passes together, or for each one if renewed."""
        together = 1 if redraws_threshold else passes
        lasting = Fraction(math.ceil(PLACES / (1 + (2 * together) ** (2 / 3))), PLACES)
        return cls(
            threshold_epsilon=epsilon * lasting,
            score_epsilon=epsilon * (1 - lasting) / together,
            passes=passes,
            sensitivity=sensitivity,
            redraws_threshold=redraws_threshold,
            relation=relation,
        )

    @property
    def guarantees(self) -> dict[PureDP, int]:
        """The guarantees spent, and how often each."""
        if self.redraws_threshold:
            return {
                PureDP(
                    epsilon=self.threshold_epsilon + self.score_epsilon, relation=self.relation
                ): self.passes
            }
        return {
            PureDP(
                epsilon=self.threshold_epsilon + self.passes * self.score_epsilon, relation=self.relation
            ): 1
        }

    @cached_property
    def threshold_noise(self) -> DiscreteLaplace:
        """The noise W."""
        return DiscreteLaplace(
            epsilon=self.threshold_epsilon, sensitivity=self.sensitivity, relation=self.relation
        )

    @cached_property
    def score_noise(self) -> DiscreteLaplace:
        """The noise Z."""
        return DiscreteLaplace(
            epsilon=self.score_epsilon, sensitivity=2 * self.sensitivity, relation=self.relation
        )

    def bound_error(self, miss: float) -> int:
        """Return a bound that Z - W exceeds with probability at most `miss`."""
        require_probability(self, "miss", miss)
        a, b = sorted(float(each.rate) for each in (self.threshold_noise, self.score_noise))
        high = 1 / a
        while _compute_tail(high, a, b) > miss:
            high *= 2
        low = 0.0
        # beyond 2**53 neighboring floats are further apart than 0.5
        while high - low > 0.5 and low < (middle := (low + high) / 2) < high:
            low, high = (low, middle) if _compute_tail(middle, a, b) <= miss else (middle, high)
        return math.ceil(high) + 2


class SparseVectorRun:
    """A running sparse vector: it holds W, and tests one score after the other."""

    def __init__(self, terms: SparseVector, threshold: int, random: Randomness) -> None:
        self.terms, self.passed = terms, 0
        self._threshold, self._random = threshold, random
        self._lock = threading.Lock()
        self._limit: Exact[int] | None = self._draw_limit()

    @property
    def is_exhausted(self) -> bool:
        """True if all passes are used, so that nothing more may be released."""
        return self.passed >= self.terms.passes

    def test_score(self, score: Exact[int]) -> bool:
        """Test if a noisy score reaches the noisy threshold; `BudgetError` if all passes are used."""
        with self._lock:
            if self.is_exhausted:
                raise BudgetError(f"stream: all {self.terms.passes:,} passes are used.")
            self.passed += 1
            if self._limit is None:
                self._limit = self._draw_limit()
            noisy = self.terms.score_noise.release(score, self._random).value
            if noisy < self._limit.secret:
                self.passed -= 1
                return False
            if self.terms.redraws_threshold:
                self._limit = None  # drawn with the next score
            return True

    def _draw_limit(self) -> Exact[int]:
        """Draw the noisy threshold, which is never released."""
        noise = self.terms.threshold_noise.release(Exact(self._threshold), self._random)
        return Exact(noise.value)


def _compute_tail(x: float, a: float, b: float) -> float:
    """Return Pr[L1 + L2 > x] for Laplace variables of rates a <= b."""
    if b - a < 1e-4 * b:
        return (1 + a * x / 2) * math.exp(-a * x) / 2
    return (b * b * math.exp(-a * x) - a * a * math.exp(-b * x)) / (2 * (b * b - a * a))

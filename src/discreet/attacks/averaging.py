"""Averaging: repeat the same count until the noise cancels out.

Knows       the mechanism, everyone but one person, and that this person is in one of two groups, the first
            with probability `prior`. The counts of the two groups then differ by 1 between the two worlds.
Learns      the optimal posterior: with discrete Laplace noise the loss of an answer is `rate` towards the
            group on whose side it fell, so only the number of answers on each side matters. That number is
            binomial: an answer falls on the true side with probability 1 / (1 + exp(-rate)).
Score       against an answerer: how often the more probable side of each claim is true, by Bayes' rule on
            all answers; the baseline is the commoner side. From the mechanism alone, without reading data
            (`compute_expected_posterior`): the mean posterior of a true claim.
Stopped by  stored answers (a stored answer counts once, however often it is read), and a budget that charges
            fresh noise: the posterior of k answers is at most that of a loss of k epsilon.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from discreet.attacks.findings import Findings
from discreet.attacks.query_attacks import Answerer, Noise, Victim, ask_count, require_victims, score_claims
from discreet.belief.odds import logit
from discreet.core.number_checks import Real, require_count, require_probability
from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.discrete_laplace import DiscreteLaplace


@dataclass(frozen=True, kw_only=True)
class Averaging:
    """One count repeated `repeats` times for each victim; `noise` is the attacker's model of the noise.

    `same` is a condition that every row meets, whatever number replaces {i} in it. It varies the text of a
    question but not its meaning, against curators that store answers by their text.
    """

    table: str
    claim: str
    noise: Noise
    repeats: int = 100
    same: str = ""
    prior: float = 0.5

    name: ClassVar[str] = "averaging"
    knows: ClassVar[str] = "a condition that only the victim meets, and the mechanism"
    learns: ClassVar[str] = "whether a claim about the victim is true, once the noise of many answers cancels"
    stopped_by: ClassVar[str] = "stored answers, and a budget that charges every fresh one"

    def __post_init__(self) -> None:
        require_probability(self, "prior", self.prior)
        require_count(self, "repeats", self.repeats)

    def run(self, answerer: Answerer, victims: Sequence[Victim]) -> Findings:
        """Repeat each victim's question until `repeats` or a refusal, and score the posteriors."""
        require_victims(self, victims)
        answers = [self._collect_answers(answerer, victim) for victim in victims]
        posteriors = [self._compute_posterior(each) for each in answers]
        figures = {"answers of one victim, at most": float(max(map(len, answers)))}
        return score_claims(self, victims, posteriors, claim=self.claim, prior=self.prior, figures=figures)

    def _collect_answers(self, answerer: Answerer, victim: Victim) -> list[int]:
        target, found = f"({victim.where}) AND ({self.claim})", []
        for i in range(self.repeats):
            more = f" AND ({self.same.replace('{i}', str(i))})" if self.same else ""
            answer = ask_count(answerer, self.table, target + more)
            if answer is None:
                break
            found.append(answer)
        # identical answers to one text are one stored answer, which carries no new noise
        return found[:1] if not self.same and len(set(found)) == 1 else found

    def _compute_posterior(self, answers: Sequence[int]) -> float:
        drawn = np.asarray(answers, np.int64)
        if isinstance(self.noise, DiscreteGaussian):
            loss = float(np.sum(2 * drawn - 1)) / (2 * float(self.noise.variance))
        else:
            loss = float(self.noise.rate) * float(np.sum(np.abs(drawn) - np.abs(drawn - 1)))
        return float(scipy.special.expit(logit(self.prior) + loss))


def compute_expected_posterior(
    mechanism: DiscreteLaplace, *, prior: Real, answers: int, counts: int = 2
) -> float:
    """Return the mean posterior of a true claim after `answers` fresh answers for each of `counts` counts.

    >>> noise = DiscreteLaplace(epsilon=1, sensitivity=2)
    >>> [round(compute_expected_posterior(noise, prior=0.01, answers=k), 3) for k in (1, 10, 100)]
    [0.016, 0.222, 0.997]
    """
    require_probability("compute_expected_posterior", "prior", prior)
    require_count("compute_expected_posterior", "answers", answers)
    require_count("compute_expected_posterior", "counts", counts)
    from scipy.stats import binom  # takes a second to load, and nothing else here needs it

    draws, rate = answers * counts, float(mechanism.rate)
    on_its_side = np.arange(draws + 1)
    posterior = scipy.special.expit(logit(prior) + rate * (2 * on_its_side - draws))
    return float(binom.pmf(on_its_side, draws, scipy.special.expit(rate)) @ posterior)

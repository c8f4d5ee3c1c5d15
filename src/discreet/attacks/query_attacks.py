"""Shared parts of attacks on answers: a query interface, victims, and posteriors from noisy counts.

Answerer    a curator, or anything else that takes a SELECT and returns a table or a refusal. Attackers see
            nothing else of it.
Victim      a person, a condition that only this person's row meets, and the truth of the claim, by which the
            attack is scored. Attackers do not use the truth.
Posterior   attacks end in an integer that is 1 if the claim is true and 0 if not, plus the noise of a known
            number of answers. The posterior is Bayes' rule on that number; without noise it is certain. If
            every question was refused, it is the prior.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
import scipy
from numpy.typing import NDArray

from discreet.attacks.findings import AttackDescription, Finding, Findings, select_strongest
from discreet.belief.odds import logit, sigmoid
from discreet.core.binomial import clopper_pearson
from discreet.core.errors import RequestError
from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.discrete_laplace import DiscreteLaplace

Noise = DiscreteLaplace | DiscreteGaussian

NEGLIGIBLE_EXPONENT = 60  # terms below exp(-60) are left out of the sum
MOST_TERMS = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """A refusal to answer, with the reason."""

    message: str


class Answerer(Protocol):
    """A query interface that answers SQL or refuses."""

    def ask(self, sql: str) -> pa.Table | Refusal: ...


@dataclass(frozen=True, kw_only=True)
class Victim:
    """A person whom the condition `where` singles out, and the truth of the claim about this person."""

    name: str
    where: str
    truth: bool


def ask_count(answerer: Answerer, table: str, where: str) -> int | None:
    """Return one row count from the answerer, or None if it refuses."""
    answer = answerer.ask(f"SELECT COUNT(*) AS n FROM {table} WHERE {where}")
    if isinstance(answer, Refusal):
        return None
    if answer.num_rows != 1 or answer.num_columns != 1:
        raise RequestError(
            "attack: the answerer returned a table for a COUNT.",
            hint="It must return one row with one column.",
        )
    found = answer.column(0)[0].as_py()
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise RequestError(
            "attack: the answerer returned no number for a COUNT.", hint="It must return one number."
        )
    return round(found)


def require_victims(attack: AttackDescription, victims: Sequence[Victim]) -> None:
    """Raise RequestError if there is no victim."""
    if not victims:
        raise RequestError(f"{attack.name}: there is nobody to attack.", hint="Name at least one victim.")


def compute_claim_posterior(
    estimate: int | None, *, answer_count: int, noise: Noise | None, prior: float
) -> float:
    """Return the posterior of a claim that makes `estimate` 1 instead of 0, up to the answers' noise."""
    if estimate is None:
        return prior
    if noise is None:
        return 1.0 if estimate >= 1 else 0.0
    gained = _log_mass(noise, answer_count, estimate - 1) - _log_mass(noise, answer_count, estimate)
    return sigmoid(logit(prior) + gained)


def score_claims(
    attack: AttackDescription,
    victims: Sequence[Victim],
    posteriors: Sequence[float],
    *,
    claim: str,
    prior: float,
    figures: Mapping[str, float],
    note: str = "",
) -> Findings:
    """Return how often the more probable side of each claim was right, and how often the commoner side is."""
    truths = np.array([victim.truth for victim in victims])
    says = np.array([after > 0.5 if after != 0.5 else prior > 0.5 for after in posteriors])
    right, often = int(np.count_nonzero(says == truths)), int(truths.sum())
    found = [
        Finding(victim=victim.name, claim=claim, prior=prior, posterior=after, truth=victim.truth)
        for victim, after in zip(victims, posteriors, strict=True)
    ]
    return Findings(
        attack=attack.name,
        knows=attack.knows,
        learns=attack.learns,
        stopped_by=attack.stopped_by,
        success=right / len(victims),
        baseline=max(often, len(victims) - often) / len(victims),
        attempts=len(victims),
        interval=clopper_pearson(right, len(victims)),
        victims=select_strongest(found),
        figures=dict(figures),
        note=note,
    )


def _log_mass(noise: Noise, answer_count: int, z: int) -> float:
    """Return ln Pr[the noises of this many answers sum to z], up to a constant.

    The sum of discrete Gaussian noises is close to one discrete Gaussian with the summed variance, which the
    attacker uses. Each discrete Laplace noise is the difference of two geometric variables, so their sum is
    the difference of two negative binomial variables; all terms are positive, so no digits are lost in the
    tail.
    """
    if isinstance(noise, DiscreteGaussian):
        return -z * z / (2 * answer_count * float(noise.variance))
    rate = float(noise.rate)
    k = np.arange(min(MOST_TERMS, math.ceil(NEGLIGIBLE_EXPONENT / rate) + 2 * answer_count))
    ways = _log_compositions(k, answer_count) + _log_compositions(k + abs(z), answer_count)
    return float(scipy.special.logsumexp(ways - rate * (2 * k + abs(z))))


def _log_compositions(k: NDArray[np.int64], parts: int) -> NDArray[np.float64]:
    """Return ln of the number of ways to write k as an ordered sum of `parts` nonnegative integers."""
    log_gamma = scipy.special.gammaln
    return np.asarray(log_gamma(k + parts) - log_gamma(k + 1) - log_gamma(parts))

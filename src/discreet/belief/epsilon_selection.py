"""Methods to choose epsilon that the literature proposes, each returned with the beliefs that it allows.

limiting_breaches       ln gamma(prior, posterior)                                        [OYL]
identifiability         ln((m - 1) rho / (1 - rho)): m equal candidates, none above rho   [LC12]
possible_worlds         sensitivity / spread * ln((n - 1) rho / (1 - rho))                [LC11]
relative_error          -ln(1 - p) / (w c): a count c within w c, with probability p      [ND15]
accuracy_first          the least epsilon whose noise stays within alpha except with probability beta
risk_profile            the largest epsilon with posterior / prior <= ratio               [KR24]
epsilon_generation      |ln(|1 - rows|) / columns|: a heuristic, no belief follows        [EGM]

`tight_identifiability` is for comparison only: it is the epsilon at which an attacker to whom all candidates
are equally likely stays below rho. An attacker with another prior does not, so it never sets a parameter.

A choice of epsilon, together with the beliefs that it allows.

[OYL]       Ouyang, Yin & Liu, Limiting Privacy Breaches in Differential Privacy. [LC11]      Lee & Clifton,
How Much Is Enough? Choosing epsilon for Differential Privacy. [LC12]      Lee & Clifton, Differential
Identifiability. [ND15]      Naldi & D'Acquisto, Differential Privacy: An Estimation Theory-Based Method for
Choosing Epsilon. [KR24]      Kazan & Reiter, Prior-itizing Privacy: A Bayesian Approach to Setting the
Privacy Budget, 2024. [EGM]       The Epsilon Generation Model; papers/ lists its errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from discreet.belief.odds import highest_posterior
from discreet.belief.promise import Promise
from discreet.belief.wording import format_number, format_percent, format_percent_up
from discreet.core.argument_types import refuse_wrong_types
from discreet.core.errors import RequestError, require_parameter
from discreet.core.neighbor_relations import Relation
from discreet.core.number_checks import (
    Real,
    is_real,
    require_count,
    require_nonnegative,
    require_positive,
    require_probability,
)

REFERENCE = (0.001, 0.01, 0.05, 0.1, 0.5)


@dataclass(frozen=True, kw_only=True)
class EpsilonChoice:
    """An epsilon, the method that chose it, and the neighbor relation that it is for."""

    name: str
    epsilon: float
    relation: Relation
    note: str

    def __post_init__(self) -> None:
        require_positive(self, "epsilon", self.epsilon)

    @property
    def beliefs(self) -> tuple[tuple[float, float], ...]:
        """The highest posterior that this epsilon allows, for priors from 0.1% to 50%."""
        return self.beliefs_for_priors(REFERENCE)

    def beliefs_for_priors(self, priors: Iterable[Real]) -> tuple[tuple[float, float], ...]:
        """Return each prior with the highest posterior that this epsilon allows for it."""
        return tuple((float(prior), highest_posterior(prior, self.epsilon)) for prior in priors)

    def to_promise(self, prior: Real) -> Promise:
        """Return the promise that this epsilon keeps for claims of at most `prior`."""
        posterior = highest_posterior(prior, self.epsilon)
        if posterior >= 1:
            raise RequestError(
                f"An epsilon of {format_number(self.epsilon)} lets a belief of "
                f"{format_percent(float(prior))} "
                "become certain; no promise follows from it.",
                hint="Choose a smaller epsilon.",
            )
        return Promise(prior, posterior, secret=self.relation)

    def explain(self) -> str:
        """Return a text with the method, the epsilon, and the beliefs that it allows."""
        about = {Relation.VALUE: "what a record says", Relation.PRESENCE: "whether someone is in the data"}
        lines = [
            f"{self.name}: epsilon = {format_number(self.epsilon, 4)} for {self.relation.neighbours} "
            "neighbours.",
            self.note,
            f"It allows beliefs about {about[self.relation]} to grow:",
        ]
        lines += [
            f"  from {format_percent(prior):>5} to at most {format_percent_up(top)}"
            for prior, top in self.beliefs
        ]
        if self.relation is Relation.PRESENCE:
            top = format_percent(highest_posterior(0.01, 2 * self.epsilon))
            lines.append(f"Beliefs about what a record says may grow twice as far in log-odds: 1% to {top}.")
        return "\n".join(lines)


@dataclass(frozen=True, kw_only=True)
class WhatIf:
    """An epsilon that suffices against one attacker only: for comparison, not for use.

    It has no `epsilon` and makes no promise, so that it cannot be used as a parameter.
    """

    name: str
    against_this_attacker: float
    safe: EpsilonChoice
    warning: str

    def explain(self) -> str:
        top = highest_posterior(0.5, self.against_this_attacker)
        return (
            f"{self.name}: {format_number(self.against_this_attacker)} instead of "
            f"{format_number(self.safe.epsilon)}. "
            f"{self.warning} One who hesitates between two far values, 50% each, could reach "
            f"{format_percent(top)}."
        )


def limiting_breaches(
    prior: Real, posterior: Real, *, secret: Relation | str = Relation.VALUE
) -> EpsilonChoice:
    """Return the epsilon at which a belief of at most `prior` stays at most `posterior`.

    >>> limiting_breaches(0.2, 0.5).epsilon
    1.3862...
    """
    promise = Promise(prior, posterior, secret=secret)
    return EpsilonChoice(
        name="Limiting privacy breaches",
        epsilon=promise.epsilon,
        relation=promise.secret,
        note=f"A belief of at most {format_percent(promise.prior)} stays at most "
        f"{format_percent(promise.posterior)}.",
    )


def identifiability(m: int, rho: Real) -> EpsilonChoice:
    """Return the epsilon at which none of `m` equally likely candidates is believed above `rho`."""
    epsilon = _compute_guessing_log_odds("identifiability", "m", m, rho)
    return EpsilonChoice(
        name="Differential identifiability",
        epsilon=epsilon,
        relation=Relation.VALUE,
        note=f"None of {m:,} equally likely candidates is believed in with more than "
        f"{format_percent(float(rho))}; "
        f"it is limiting breaches from a prior of 1 in {m:,}.",
    )


@refuse_wrong_types
def tight_identifiability(answers: Sequence[Real], rho: Real, *, sensitivity: Real | None = None) -> WhatIf:
    """Return the epsilon for equally likely worlds with these true `answers`, and for no other attacker.

    Solves max_i 1 / sum_j exp(-|f_i - f_j| / scale) = rho for the scale of Laplace noise.
    """
    f = np.array([float(each) if is_real(each) else math.nan for each in answers])
    holds = f.size >= 2 and bool(np.all(np.isfinite(f))) and np.unique(f).size == f.size
    require_parameter(
        holds, "tight_identifiability", "answers", list(answers), "at least two different numbers"
    )
    safe = identifiability(f.size, rho)
    spread = float(np.ptp(f))
    reach = spread if sensitivity is None else sensitivity
    require_positive("tight_identifiability", "sensitivity", reach)
    distances = np.abs(f[:, None] - f[None, :])

    def compute_excess(log_rate: float) -> float:
        return float((1 / np.exp(-distances * math.exp(log_rate)).sum(axis=1)).max()) - float(rho)

    rate = math.exp(_find_root(compute_excess, -math.log(spread)))
    return WhatIf(
        name="Differential identifiability, tight for one attacker",
        against_this_attacker=float(reach) * rate,
        safe=safe,
        warning="It holds only while all values are equally likely to the attacker; "
        "never set a parameter by it.",
    )


def possible_worlds(
    n: int, rho: Real, *, sensitivity: Real, spread: Real, relation: Relation | str = Relation.PRESENCE
) -> EpsilonChoice:
    """Return the epsilon at which none of `n` equally likely worlds is believed above `rho`.

    The answers in these worlds lie within `spread`. `relation` is the neighbor relation of the query's
    `sensitivity`.
    """
    against_guessing = _compute_guessing_log_odds("possible_worlds", "n", n, rho)
    require_positive("possible_worlds", "sensitivity", sensitivity)
    require_positive("possible_worlds", "spread", spread)
    return EpsilonChoice(
        name="Lee and Clifton's possible worlds",
        epsilon=float(sensitivity) / float(spread) * against_guessing,
        relation=Relation.parse("possible_worlds", "relation", relation),
        note=f"None of {n:,} equally likely worlds, whose answers to this one query differ by at most "
        f"{format_number(float(spread))}, is believed in with more than {format_percent(float(rho))}. "
        "Another query, or another prior, may be believed in with more.",
    )


def relative_error(
    w: Real, p: Real, count: Real, *, secret: Relation | str = Relation.VALUE
) -> EpsilonChoice:
    """Return the epsilon that releases a count of about `count` within a share of `w`, with probability `p`.

    >>> relative_error(0.1, 0.95, 100).epsilon
    0.2995...
    """
    require_positive("relative_error", "w", w)
    require_probability("relative_error", "p", p)
    require_positive("relative_error", "count", count)
    return EpsilonChoice(
        name="Naldi and D'Acquisto's relative error",
        epsilon=-math.log1p(-p) / (float(w) * float(count)),
        relation=Relation.parse("relative_error", "secret", secret),
        note=f"A count of about {format_number(float(count))} is within "
        f"±{format_number(float(w) * float(count))} of the "
        f"truth with a probability of {format_percent(float(p))}. That size must be public, not read "
        "from the data.",
    )


def accuracy_first(
    alpha: Real,
    beta: Real,
    *,
    sensitivity: Real = 1,
    noise: str = "laplace",
    secret: Relation | str = Relation.VALUE,
) -> EpsilonChoice:
    """Return the least epsilon with |error| <= `alpha` except with probability `beta`.

    `noise` is laplace or geometric; the latter needs a little less, since an integer has fewer ways to err.

    >>> accuracy_first(10, 0.05).epsilon
    0.2995...
    """
    require_nonnegative("accuracy_first", "alpha", alpha)
    require_probability("accuracy_first", "beta", beta)
    require_positive("accuracy_first", "sensitivity", sensitivity)
    require_parameter(
        noise in ("laplace", "geometric"), "accuracy_first", "noise", repr(noise), "'laplace' or 'geometric'"
    )
    if noise == "laplace":
        require_positive("accuracy_first", "alpha", alpha)
        rate = -math.log(beta) / float(alpha)
    else:
        rate = _solve_geometric_rate(math.floor(alpha), float(beta))
    return EpsilonChoice(
        name="Accuracy first",
        epsilon=rate * float(sensitivity),
        relation=Relation.parse("accuracy_first", "secret", secret),
        note=f"One answer with {noise.replace('l', 'L', 1)} noise is within "
        f"±{format_number(float(alpha))} of the truth with a probability of "
        f"{format_percent(1 - float(beta))}. "
        "Every further answer costs as much again.",
    )


def risk_profile(p: Real, q: Real, ratio: Real) -> EpsilonChoice:
    """Return the largest epsilon at which a belief in membership and value grows by at most `ratio`.

    `p` is the prior of membership, `q` of the value given membership. The bound on posterior / prior, 1 / (pq
    + p(1 - q) z**2 + (1 - p) z) with z = exp(-epsilon), is set equal to `ratio` and solved for z.
    """
    require_probability("risk_profile", "p", p)
    require_probability("risk_profile", "q", q)
    require_parameter(is_real(ratio) and ratio > 1, "risk_profile", "ratio", ratio, "a finite number above 1")
    member, value = float(p), float(q)
    left = 1 / float(ratio) - member * value
    if left <= 0:
        raise RequestError(
            f"A ratio of {format_number(float(ratio))} allows any epsilon: the belief starts at "
            f"{format_percent(member * value)} and cannot grow by more than "
            f"{format_number(1 / (member * value))}.",
            hint="Ask for a smaller ratio.",
        )
    root = math.sqrt((1 - member) ** 2 + 4 * member * (1 - value) * left)
    z = 2 * left / ((1 - member) + root)
    return EpsilonChoice(
        name="Kazan and Reiter's risk profile",
        epsilon=-math.log(z),
        relation=Relation.PRESENCE,
        note="If an attacker takes a person to be in the data with a probability of "
        f"{format_percent(member)}, and "
        f"then to have some value with {format_percent(value)}, the belief that both are so grows by "
        "a factor of at "
        f"most {format_number(float(ratio))}.",
    )


def epsilon_generation(rows: int, columns: int, *, secret: Relation | str = Relation.VALUE) -> EpsilonChoice:
    """Return EGM's epsilon from the table's size: offered for comparison only."""
    require_count("epsilon_generation", "rows", rows, minimum=3)
    require_count("epsilon_generation", "columns", columns)
    return EpsilonChoice(
        name="Epsilon generation model",
        epsilon=math.log(rows - 1) / columns,
        relation=Relation.parse("epsilon_generation", "secret", secret),
        note="A heuristic without a belief meaning: it grows with the rows and ignores the question.",
    )


def _compute_guessing_log_odds(owner: str, name: str, m: int, rho: Real) -> float:
    """Return ln gamma from a guess among m to rho."""
    require_count(owner, name, m, minimum=2)
    require_probability(owner, "rho", rho)
    require_parameter(rho * m > 1, owner, "rho", rho, f"above the chance of a guess, 1/{m}")
    return math.log((m - 1) * float(rho) / (1 - float(rho)))


def _solve_geometric_rate(k: int, beta: float) -> float:
    """Return the least rate with 2 a**(k+1) / (1 + a) <= beta, a = exp(-rate)."""

    def compute_excess(log_rate: float) -> float:
        rate = math.exp(log_rate)
        return math.log(2) - rate * (k + 1) - math.log1p(math.exp(-rate)) - math.log(beta)

    return math.exp(_find_root(compute_excess, math.log(-math.log(beta) / (k + 1))))


def _find_root(f: Callable[[float], float], start: float) -> float:
    """Return the argument at which a monotone function of a logarithm crosses 0."""
    low = high = start
    while (f(low) > 0) == (f(high) > 0):
        low, high = low - 1, high + 1
    return float(scipy.optimize.brentq(f, low, high, xtol=1e-14))

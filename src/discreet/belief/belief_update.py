"""Belief update: the posteriors that a claim can reach, from a bound on the privacy loss or from one output.

Definition  A claim of prior p may end between sigmoid(logit p - t) and sigmoid(logit p + t). With no tail
            allowed, t is the largest loss that any output has (infinite where there is no largest: the claim
            can become certain). With a tail, t is the least ln gamma with tail(gamma) <= tail.
Belief      Pr[posterior > highest | the claim is true] <= tail, and
            Pr[posterior < lowest | the claim is false] <= tail.
Loss        epsilon; (epsilon, delta); or any guarantee of `core.guarantees`, or of its shape: Gaussian mu,
            zCDP rho, Rényi, a privacy-loss distribution.
Attacker    knows all other records, or takes records as independent.

`belief.tail_bounds` argues why these bounds follow from a loss distribution, and why smaller ones do not.

The informed adversary updates by the output itself, and knows all records but one, and the mechanism:

Knows       the prior of every value that the last record may have; the true answer of the query in each of
            these worlds; the mechanism, and so the probability of each output.
Learns      Pr[world | output], proportional to prior(world) * likelihood(output | truth in that world).
            For a continuous mechanism the likelihood is a density; only ratios matter.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from discreet.belief.odds import highest_posterior, log_gamma, lowest_posterior
from discreet.belief.tail_bounds import smallest_loss, tail_probability_beyond_loss
from discreet.belief.wording import format_chance, format_percent, format_percent_up
from discreet.core.argument_types import refuse_wrong_types
from discreet.core.errors import InvalidParameterError, require_parameter, shorten_value
from discreet.core.guarantees import ApproximateDP, Guarantee, PureDP, convert_guarantee
from discreet.core.html_summary import build_facts, build_summary
from discreet.core.neighbor_relations import Relation
from discreet.core.number_checks import Real, is_real, require_nonnegative, require_probability

Loss = Real | tuple[Real, Real] | Guarantee


@dataclass(frozen=True, kw_only=True)
class Belief:
    """The range in which a claim of probability `prior` can end, except with probability `tail`."""

    prior: float
    highest: float
    lowest: float
    tail: float
    secret: Relation = Relation.VALUE

    def _repr_html_(self) -> str:
        facts = [
            ("before", f"at most {format_percent(self.prior)}"),
            ("after", f"from {format_percent(self.lowest)} to {format_percent_up(self.highest)}"),
            *((("except with", format_chance(self.tail)),) if self.tail else ()),
            ("secret", f"{self.secret.value} ({self.secret.neighbours} neighbours)"),
        ]
        return build_summary(build_facts(facts, caption="Belief in a claim about one person"))


def compute_belief(
    prior: Real,
    loss: Loss,
    *,
    posterior: Real | None = None,
    tail: Real = 0.0,
    secret: Relation | str | None = None,
) -> Belief:
    """Return the highest and lowest posterior of a claim, except with probability `tail`.

    With `posterior`, return the probability that it is exceeded as `tail`. `secret` is the subject of the
    claim, a value or a presence; by default the one that the loss was proven for.

    >>> compute_belief(0.01, 1.6)
    Belief(prior=0.01, highest=0.0476..., lowest=0.0020..., tail=0.0, secret=<Relation.VALUE: 'value'>)
    >>> compute_belief(0.01, (1.6, 1e-6)).highest
    1.0
    >>> compute_belief(0.01, (1.6, 1e-6), posterior=0.05).tail
    2.0...e-05
    """
    require_probability("compute_belief", "prior", prior)
    require_parameter(is_real(tail) and 0 <= tail < 1, "compute_belief", "tail", tail, "a number in [0, 1)")
    guarantee = to_guarantee(loss, secret)
    p, exceeded = float(prior), float(tail)
    if posterior is None:
        reach = smallest_loss(guarantee, exceeded)
    else:
        require_probability("compute_belief", "posterior", posterior)
        require_parameter(
            posterior > prior, "compute_belief", "posterior", posterior, f"above the prior {p:g}"
        )
        require_parameter(
            tail == 0, "compute_belief", "tail", tail, "left out where posterior is given: it is the answer"
        )
        reach = log_gamma(prior, posterior)
        exceeded = tail_probability_beyond_loss(guarantee, reach)
    top = float(posterior) if posterior is not None else highest_posterior(p, reach)
    return Belief(
        prior=p, highest=top, lowest=lowest_posterior(p, reach), tail=exceeded, secret=guarantee.relation
    )


def to_guarantee(loss: Loss, secret: Relation | str | None = None) -> Guarantee:
    """Return a loss in any of its forms as a guarantee for `secret`."""
    if isinstance(loss, Real):
        require_nonnegative("compute_belief", "loss", loss)
    relation = None if secret is None else Relation.parse("compute_belief", "secret", secret)
    if isinstance(loss, tuple):
        require_parameter(len(loss) == 2, "compute_belief", "loss", loss, "epsilon or (epsilon, delta)")
        return ApproximateDP(epsilon=loss[0], delta=loss[1], relation=relation or Relation.VALUE)
    if isinstance(loss, Real):
        return PureDP(epsilon=loss, relation=relation or Relation.VALUE)
    if not callable(getattr(loss, "profile", None)):
        raise InvalidParameterError(
            "compute_belief: `loss=` must be epsilon, (epsilon, delta) or a guarantee; "
            f"got {shorten_value(loss)}."
        )
    return loss if relation is None else convert_guarantee(loss, relation)


World = TypeVar("World", bound=Hashable)
T_contra = TypeVar("T_contra", contravariant=True)


class SupportsLikelihood(Protocol[T_contra]):
    """A mechanism that can compute the likelihood of its outputs."""

    def likelihood(self, output: T_contra, truth: T_contra) -> float:
        """Return Pr[output], or its density, where the exact answer is `truth`."""


@refuse_wrong_types
def compute_posterior(
    mechanism: SupportsLikelihood[T_contra],
    worlds: Mapping[World, T_contra],
    prior: Mapping[World, Real],
    output: T_contra,
) -> dict[World, float]:
    """Return the belief in each world after `output`; `worlds` maps each world to its exact answer."""
    require_parameter(
        set(prior) == set(worlds),
        "compute_posterior",
        "prior",
        sorted(map(str, prior)),
        "given for exactly the worlds of `worlds=`",
    )
    holds = all(is_real(p) and p >= 0 for p in prior.values()) and math.isclose(
        sum(map(float, prior.values())), 1, abs_tol=1e-9
    )
    require_parameter(
        holds, "compute_posterior", "prior", list(prior.values()), "probabilities that sum to 1"
    )
    try:
        joint = {
            world: float(prior[world]) * mechanism.likelihood(output, truth)
            for world, truth in worlds.items()
        }
    except (TypeError, OverflowError):
        raise InvalidParameterError(
            "compute_posterior: `output=` and the answers of `worlds=` must be such as "
            f"{type(mechanism).__name__} releases; got {shorten_value(output)}."
        ) from None
    total = math.fsum(joint.values())
    if not 0 < total < math.inf:
        raise InvalidParameterError(
            "compute_posterior: `output=` must be possible in a world of positive prior; "
            f"got {shorten_value(output)}."
        )
    return {world: each / total for world, each in joint.items()}


@refuse_wrong_types
def uniform_prior(worlds: Mapping[World, object]) -> dict[World, float]:
    """Return the uniform prior: that of an adversary who can only guess.

    >>> uniform_prior({"flu": 1, "none": 0})
    {'flu': 0.5, 'none': 0.5}
    """
    require_parameter(len(worlds) > 0, "uniform_prior", "worlds", "none", "at least one world")
    return dict.fromkeys(worlds, 1 / len(worlds))

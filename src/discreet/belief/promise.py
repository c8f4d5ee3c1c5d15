"""The promise: a bound on an attacker's belief about any one person, after everything that is released.

Definition  A claim that is believed with at most `prior` is afterwards believed with at most `posterior`.
            gamma = posterior (1 - prior) / (prior (1 - posterior)), and epsilon = ln gamma / group, for the
            neighbors that differ in the secret: `value` replaces one record, `presence` adds or removes
            it [EGS03, OYL].
Belief      Releases that together are epsilon-DP for these neighbors keep it, for every property of up to
            `group` people and for every prior up to `prior`, upward and downward.
Tail        With tail > 0, the posterior may exceed the bound with at most that probability if the claim is
            true. This is a probability for each person; see `belief.tail_bounds`. With tail 0 only pure
            mechanisms keep the promise.
Relations   An add/remove mechanism may serve a value promise at half of its epsilon, as replacing is one
            removal and one addition. Only add/remove mechanisms serve a presence promise.

[EGS03]     Evfimievski, Gehrke & Srikant, Limiting Privacy Breaches in Privacy Preserving Data Mining. [OYL]
Ouyang, Yin & Liu, Limiting Privacy Breaches in Differential Privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import scipy

from discreet.belief.odds import gamma, log_gamma
from discreet.belief.tail_bounds import tail_probability_beyond_loss
from discreet.belief.wording import (
    describe_promise,
    format_chance,
    format_number,
    format_odds,
    format_percent,
    format_percent_up,
)
from discreet.core.argument_types import refuse_wrong_types
from discreet.core.errors import InvalidParameterError, RequestError, require_parameter
from discreet.core.guarantees import GaussianDP, Guarantee, convert_guarantee
from discreet.core.html_summary import build_facts, build_sentence, build_summary
from discreet.core.neighbor_relations import Relation
from discreet.core.number_checks import (
    Real,
    is_real,
    parse_probability,
    require_count,
    require_positive,
    require_probability,
)

ROUNDING = 1e-12
BISECTIONS = 48
FINEST = 1e-6


@dataclass(frozen=True, init=False, repr=False)
class Promise:
    """A bound on the belief about any one person: from at most `prior` to at most `posterior`.

    >>> Promise(0.01, 0.05).epsilon
    1.6506...
    """

    prior: float
    posterior: float
    secret: Relation
    group: int
    tail: float

    def __init__(
        self,
        prior: Real | str,
        posterior: Real | str,
        *,
        secret: Relation | str = Relation.VALUE,
        group: int = 1,
        tail: Real | str = 0.0,
    ) -> None:
        prior, posterior, tail = (
            parse_probability(f"Promise.{name}", value) if isinstance(value, str) else value
            for name, value in (("prior", prior), ("posterior", posterior), ("tail", tail))
        )
        require_probability(self, "prior", prior)
        require_probability(self, "posterior", posterior)
        require_parameter(
            float(prior) < float(posterior),
            self,
            "posterior",
            posterior,
            f"above the prior, which is {prior}",
        )
        relation = Relation.parse(self, "secret", secret)
        require_count(self, "group", group)
        require_parameter(
            is_real(tail) and 0 <= tail < 1, self, "tail", tail, "a probability of at least 0 and below 1"
        )
        # the dataclass is frozen, and its own __init__ would keep the values as they were given
        fields = {"prior": float(prior), "posterior": float(posterior), "secret": relation, "group": group}
        for name, value in (fields | {"tail": float(tail)}).items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        """Return the call that makes this promise, without what is left at its default."""
        more = (
            *((f"secret={self.secret.value!r}",) if self.secret is not Relation.VALUE else ()),
            *((f"group={self.group}",) if self.group != 1 else ()),
            *((f"tail={self.tail:g}",) if self.tail else ()),
        )
        return f"Promise({', '.join((f'{self.prior:g}', f'{self.posterior:g}', *more))})"

    def _repr_html_(self) -> str:
        facts = [
            ("belief", f"{format_percent(self.prior)} → at most {format_percent_up(self.posterior)}"),
            ("odds", f"{format_odds(self.prior)} → at most {format_odds(self.posterior)}"),
            ("secret", f"{self.secret.value} ({self.secret.neighbours} neighbours)"),
            ("gamma", format_number(self.gamma)),
            ("epsilon", format_number(self.epsilon, 5)),
            *((("group", f"any {self.group} people together"),) if self.group != 1 else ()),
            *((("tail", format_chance(self.tail)),) if self.tail else ()),
        ]
        sentence = self.explain().partition("\n\n")[0]
        return build_summary(build_facts(facts, caption="Promise"), build_sentence(sentence))

    @property
    def gamma(self) -> float:
        """The factor by which the odds of a claim may grow or shrink."""
        return gamma(self.prior, self.posterior)

    @property
    def loss(self) -> float:
        """ln gamma: the privacy loss that the whole group may have."""
        return log_gamma(self.prior, self.posterior)

    @property
    def epsilon(self) -> float:
        """The budget of each person, in the neighbor relation of the secret."""
        return self.loss / self.group

    def epsilon_for(self, relation: Relation | str) -> float:
        """Return the epsilon at which a mechanism proven for `relation` may run.

        >>> Promise(0.01, 0.05).epsilon_for("presence")
        0.8253...
        """
        proven = Relation.parse(self, "relation", relation)
        if proven is self.secret:
            return self.epsilon
        if self.secret is Relation.VALUE:
            return self.epsilon / 2
        raise RequestError(
            "A promise about presence cannot be kept by a mechanism that is proven for replaced values only: "
            "such a mechanism may show how many people there are.",
            hint="Use a mechanism that is proven for added and removed people.",
        )

    def laplace_scale(self, sensitivity: Real) -> float:
        """Return the scale of Laplace noise for an L1 sensitivity in the secret's relation."""
        require_positive(self, "sensitivity", sensitivity)
        return float(sensitivity) / self.epsilon

    def gaussian_scale(self, sensitivity: Real) -> float:
        """Return the least sigma of Gaussian noise for an L2 sensitivity in the secret's relation.

        >>> round(Promise(0.01, 0.05, tail=1e-6).gaussian_scale(1), 4)
        3.0923
        """
        require_positive(self, "sensitivity", sensitivity)
        if self.tail == 0:
            raise RequestError(
                "Gaussian noise cannot keep a promise with tail 0: no output of it has a largest loss, "
                "so its cap is 100%, not the posterior that was promised.",
                hint="Allow a small tail, such as 1e-6, or use Laplace noise.",
            )
        if self.loss < FINEST:
            raise RequestError(
                f"A promise that lets the odds grow by no more than {self.loss:.1g} of themselves is finer "
                "than the tail of Gaussian noise can be computed.",
                hint="Use Laplace noise, or a posterior further from the prior.",
            )
        return self.group * float(sensitivity) / _find_largest_mu(self.loss, self.tail)

    @refuse_wrong_types
    def admits(self, guarantee: Guarantee) -> bool:
        """Return whether all releases together may have this guarantee under the promise."""
        try:
            held = convert_guarantee(guarantee, self.secret).for_group(self.group)
        except RequestError:
            return False
        if held.cap <= self.loss * (1 + ROUNDING):
            return True
        return self.tail > 0 and tail_probability_beyond_loss(held, self.loss) <= self.tail

    def explain(self, *, people: int | None = None) -> str:
        """Return a text of what is promised, in two sentences and in odds, and of what is not.

        `people` is the number of people in the data.
        """
        if people is not None:
            require_count(self, "people", people)
        return describe_promise(self, people)


def _find_largest_mu(loss: float, tail: float) -> float:
    """Return the largest Gaussian mu whose tail beyond `loss` is at most `tail`, by bisection."""
    z = -float(scipy.special.ndtri(tail))
    root = math.sqrt(z * z + 2 * loss)
    # where Pr[loss of the raw output > loss] is `tail`; post-processing can only demand less
    high = 2 * loss / (root + z) if z > 0 else root - z
    low = high
    while tail_probability_beyond_loss(GaussianDP(mu=low), loss) > tail:
        low /= 2
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        fits = tail_probability_beyond_loss(GaussianDP(mu=middle), loss) <= tail
        low, high = (middle, high) if fits else (low, middle)
    return low * (1 - ROUNDING)


def parse_promise(name: str, text: str) -> Promise:
    """Return the promise of a text prior:posterior.

    >>> parse_promise("`promise=`", "1%:5%").gamma
    5.2105...
    """
    prior, colon, posterior = text.partition(":")
    if not colon:
        raise InvalidParameterError(f"{name} must be prior:posterior such as 1%:5%; got {text}.")
    return Promise(parse_probability(name, prior), parse_probability(name, posterior))

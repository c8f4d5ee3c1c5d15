"""The accountant: a privacy filter, which keeps a promise however questions and budgets are chosen.

Statement   Each release, and its budget, may be chosen by looking at all earlier ones: as long as every one
            of them was accepted, all of them together keep the promise.
Tail 0      the sum of epsilon is at most promise.epsilon. At every output the losses add up to at most the
            sum of their caps, along every path, so nothing has to be fixed in advance [RRUV16].
Tail > 0    the sum of rho is at most limit.rho and the sum of delta at most limit.delta, both fixed before
            the first release; then all are together (rho, delta)-zCDP at that limit [WRRW23, FZ21].
            limit.delta takes the share `leak` of the tail; limit.rho is the largest with which
            (rho, delta)-zCDP, for `group` people, keeps the promise by `belief.tail_bounds`.
Limits      Optimal composition or a loss distribution of past spending is not a stopping rule: both hold only
            for parameters fixed in advance. Nor may rho and delta be traded, nor may a rule use the sum of
            epsilon or the sum of rho, whichever fits: it would pick its bound after seeing answers.
Group       epsilon = ln gamma / group is each person's share, so epsilons are summed as they are. With
            `leak` 0 a group has rho * group**2; else the more careful conversion by the profile holds.
Rounding    Sums are exact fractions. The limit of epsilon is widened by one rounding of a double (2**-51 of
            it), so that ten times 0.1 fits into 1. A remainder due to rounding, less than 10**-9 of the
            limit, counts as 0: no question is worth asking for so little.

[RRUV16]    Rogers, Roth, Ullman & Vadhan, Privacy Odometers and Filters. [FZ21]      Feldman & Zrnic,
Individual Privacy Accounting via a Rényi Filter. [WRRW23]    Whitehouse, Ramdas, Rogers & Wu, Fully-Adaptive
Composition in Differential Privacy.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache

import scipy

from discreet.accounting.amounts import Cost, format_amount, is_exhausted
from discreet.belief.belief_update import Belief, compute_belief
from discreet.belief.promise import Promise
from discreet.belief.tail_bounds import smallest_gamma, tail_probability
from discreet.core.errors import BudgetError, RequestError, require_parameter
from discreet.core.guarantees import (
    ApproximateDP,
    Guarantee,
    LaplaceDP,
    PureDP,
    ZeroConcentratedDP,
    convert_guarantee,
)
from discreet.core.neighbor_relations import Relation
from discreet.core.number_checks import Real, is_real, require_count

ONE_ROUNDING = Fraction(1, 2**51)
LEAK = Fraction(1, 20)
RATIO = 2**-0.25
STEPS = 160
FURTHEST = 500.0
NEARLY_ALL = Fraction(999_999_999, 1_000_000_000)
HARDLY_ANY = 1 - NEARLY_ALL


@dataclass(frozen=True)
class Accountant:
    """The budget spent under a promise; immutable: spending returns a new accountant.

    >>> accountant = Accountant(Promise(0.01, 0.05))
    >>> later = accountant.spend(PureDP(epsilon=Fraction(1, 2))).spend(PureDP(epsilon=1))
    >>> later.total_spent.epsilon, round(later.compute_belief().highest, 4)
    (Fraction(3, 2), 0.0433)
    """

    promise: Promise
    leak: Real = field(default=LEAK, kw_only=True)
    epsilon: Fraction = field(default=Fraction(0), kw_only=True)
    rho: Fraction = field(default=Fraction(0), kw_only=True)
    delta: Fraction = field(default=Fraction(0), kw_only=True)
    events: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        require_parameter(isinstance(self.promise, Promise), self, "promise", self.promise, "a Promise")
        require_parameter(
            is_real(self.leak) and 0 <= self.leak < 1, self, "leak", self.leak, "a share in [0, 1)"
        )
        for name in ("epsilon", "rho", "delta"):
            value = getattr(self, name)
            require_parameter(
                is_real(value) and value >= 0, self, name, value, "a finite number of at least 0"
            )
            object.__setattr__(self, name, Fraction(value))
        require_count(self, "events", self.events, minimum=0)

    @classmethod
    def from_events(
        cls, promise: Promise, events: Iterable[Guarantee] | Mapping[Guarantee, int], *, leak: Real = LEAK
    ) -> Accountant:
        """Return the accountant after past events, none of which is refused, even above the limit."""
        accountant = cls(promise, leak=leak)
        for event, times in Counter(events).items():
            accountant = accountant.add_cost(accountant.compute_cost(event, times=times), times)
        return accountant

    @property
    def is_pure(self) -> bool:
        """True if epsilon is summed, and not rho."""
        return self.promise.tail == 0

    @property
    def limit(self) -> Cost:
        """The largest total that keeps the promise."""
        if self.is_pure:
            return PureDP(epsilon=Fraction(self.promise.epsilon), relation=self.promise.secret)
        return _compute_limit(self.promise, Fraction(self.leak))

    @property
    def total_spent(self) -> Cost:
        """The total cost so far."""
        return self.to_cost(self.epsilon, self.rho, self.delta)

    @property
    def remaining_budget(self) -> Cost:
        """The cost that can still be spent."""
        limit = self.limit
        if isinstance(limit, PureDP):
            return self.to_cost(_subtract_spent(limit.epsilon, self.epsilon), self.rho, self.delta)
        return self.to_cost(
            self.epsilon, _subtract_spent(limit.rho, self.rho), _subtract_spent(limit.delta, self.delta)
        )

    def to_cost(self, epsilon: Fraction, rho: Fraction, delta: Fraction) -> Cost:
        """Return an amount as a cost: epsilon without a tail, else rho and delta."""
        if self.is_pure:
            return PureDP(epsilon=epsilon, relation=self.promise.secret)
        return ZeroConcentratedDP(rho=rho, delta=delta, relation=self.promise.secret)

    def epsilon_per_question(self, questions: int) -> Fraction:
        """Return the epsilon of each of this many equal questions that use up the limit."""
        require_count(self, "questions", questions)
        limit = self.limit
        if isinstance(limit, PureDP):
            return NEARLY_ALL * Fraction(limit.epsilon) / questions
        # a question of epsilon costs at most rho = epsilon ** 2 / 2
        return NEARLY_ALL * Fraction(float(2 * limit.rho / questions) ** 0.5)

    def compute_cost(self, guarantee: Guarantee, *, times: int = 1) -> Cost:
        """Return the cost of a release with this guarantee under the promise."""
        require_count(self, "times", times)
        holds = isinstance(getattr(guarantee, "relation", None), Relation)
        require_parameter(holds, self, "guarantee", guarantee, "a guarantee")
        if self.is_pure:
            epsilon = _compute_exact_epsilon(convert_guarantee(guarantee, self.promise.secret))
            return self.to_cost(times * epsilon, Fraction(0), Fraction(0))
        summed = _to_zcdp(guarantee, self.promise.secret)
        return self.to_cost(Fraction(0), times * Fraction(summed.rho), times * Fraction(summed.delta))

    def has_room_for(self, guarantee: Guarantee, *, times: int = 1) -> bool:
        """Return whether the promise has budget for a release; raise if its guarantee has no cost."""
        return self._has_room_for_cost(self.compute_cost(guarantee, times=times))

    def spend(self, guarantee: Guarantee, *, times: int = 1) -> Accountant:
        """Return the accountant after a release; raise `BudgetError` if it does not fit."""
        cost = self.compute_cost(guarantee, times=times)
        if not self._has_room_for_cost(cost):
            raise self._make_budget_error(cost)
        return self.add_cost(cost, times)

    def add_cost(self, cost: Cost, times: int = 1) -> Accountant:
        """Return the accountant after a cost that is already incurred, even above the limit."""
        if isinstance(cost, PureDP):
            return replace(self, epsilon=self.epsilon + Fraction(cost.epsilon), events=self.events + times)
        rho, delta = self.rho + Fraction(cost.rho), self.delta + Fraction(cost.delta)
        return replace(self, rho=rho, delta=delta, events=self.events + times)

    def compute_belief(self, prior: Real | None = None) -> Belief:
        """Return the belief that an attacker may have now in a claim of `prior` (by default the promise's).

        With a tail, spending is rounded up to one of `STEPS` below the limit, each with a part of the tail.
        Every step is a filter of its own, so that all readings below the promise's posterior are exceeded
        with probability at most `tail` together, however the moments of reading were chosen. Past events
        above the limit (`from_events`) are read by steps above it in the same way.
        """
        start = self.promise.prior if prior is None else prior
        nothing = PureDP(epsilon=0, relation=self.promise.secret)
        if self.is_pure:
            return compute_belief(start, replace(nothing, epsilon=self.epsilon * self.promise.group))
        if self.rho == 0 and self.delta == 0:
            return compute_belief(start, nothing)
        step = next((j for j in range(STEPS, -STEPS, -1) if self._is_within_step(j)), None)
        loss = math.inf if step is None else _compute_loss_at_step(self.promise, Fraction(self.leak), step)
        if loss > FURTHEST:
            return Belief(prior=float(start), highest=1.0, lowest=0.0, tail=0.0, secret=self.promise.secret)
        if step is not None and step >= 0:
            loss = min(self.promise.loss, loss)
        return replace(compute_belief(start, replace(nothing, epsilon=loss)), tail=self.promise.tail)

    def _is_within_step(self, step: int) -> bool:
        limit = _scale_to_step(_compute_limit(self.promise, Fraction(self.leak)), step)
        return self.rho <= limit.rho and self.delta <= limit.delta

    def _has_room_for_cost(self, cost: Cost) -> bool:
        after = self.add_cost(cost)
        if isinstance(cost, PureDP):
            return after.epsilon <= Fraction(self.promise.epsilon) * (1 + ONE_ROUNDING)
        return after._is_within_step(0)

    def _make_budget_error(self, cost: Cost) -> BudgetError:
        limit, costs = format_amount(self.limit), format_amount(cost, up=True)
        stated = f"spend: this costs {costs} for {self.promise.secret.neighbours} neighbours"
        if is_exhausted(self.remaining_budget):
            return BudgetError(
                f"{stated}; nothing is left under the promise, of {limit} in all.",
                hint="Everything that the promise allows is spent.",
            )
        left = format_amount(self.remaining_budget)
        return BudgetError(
            f"{stated}; left under the promise is {left}, of {limit} in all.",
            hint=f"Ask for less: whatever costs at most {left} is accepted.",
        )


def _subtract_spent(most: Real, spent: Fraction) -> Fraction:
    rest = Fraction(most) - spent
    return rest if rest > HARDLY_ANY * Fraction(most) else Fraction(0)


@lru_cache(maxsize=256)
def _compute_limit(promise: Promise, leak: Fraction) -> ZeroConcentratedDP:
    """Return the largest rho that keeps the promise beside a delta of the tail's share `leak`."""
    # for the whole group, this delta then adds at most the share `leak` to the tail, at some epsilon
    grown = math.expm1(promise.loss) / math.expm1(promise.epsilon)
    delta = leak * Fraction(promise.tail * -math.expm1(-promise.loss) / grown)

    def make_guarantee(rho: float) -> ZeroConcentratedDP:
        return ZeroConcentratedDP(rho=rho, delta=delta, relation=promise.secret)

    def compute_excess(log_rho: float) -> float:
        return math.log(
            tail_probability(make_guarantee(math.exp(log_rho)).for_group(promise.group), promise.gamma)
            / promise.tail
        )

    low = high = math.log(promise.loss)
    while compute_excess(low) > 0:
        low -= 1
    while compute_excess(high) <= 0:
        high += 1
    rho = math.exp(scipy.optimize.brentq(compute_excess, low, high, xtol=1e-10))
    # the root is approximate, so step down until the promise provably holds
    while not promise.admits(make_guarantee(rho)):
        rho *= 1 - 1e-9
    return make_guarantee(rho)


def _scale_to_step(limit: ZeroConcentratedDP, step: int) -> ZeroConcentratedDP:
    """Return the part of the limit that belongs to a step."""
    part = Fraction(RATIO**step)
    return replace(limit, rho=Fraction(limit.rho) * part, delta=Fraction(limit.delta) * part)


@lru_cache(maxsize=4096)
def _compute_loss_at_step(promise: Promise, leak: Fraction, step: int) -> float:
    """Return ln of the odds factor that a filter at this step exceeds with at most its part of the tail.

    The parts of the steps below the limit, (1 - RATIO) / RATIO * RATIO**step, add up to less than 1, and so
    do those of the steps above it.
    """
    if step == 0:
        return promise.loss
    limit = _compute_limit(promise, leak)
    if float(limit.delta) * RATIO**step >= 1:
        return math.inf
    filtered = _scale_to_step(limit, step).for_group(promise.group)
    part = promise.tail * (1 - RATIO) * RATIO ** (abs(step) - 1)
    return math.log(smallest_gamma(filtered, part))


def _compute_exact_epsilon(guarantee: Guarantee) -> Fraction:
    """Return the cap, without rounding where the guarantee states it as a number."""
    if isinstance(guarantee, PureDP | LaplaceDP):
        return Fraction(guarantee.epsilon)
    if isinstance(guarantee, ApproximateDP) and guarantee.delta == 0:
        return Fraction(guarantee.epsilon)
    if math.isinf(guarantee.cap):
        raise RequestError(
            f"A release with {type(guarantee).__name__} cannot be charged to a promise with tail 0: "
            "its loss has no cap, so an attacker could become certain.",
            hint="Use a pure mechanism, such as discrete Laplace, or allow a small tail, such as 1e-6.",
        )
    return Fraction(math.nextafter(guarantee.cap, math.inf))


def _to_zcdp(guarantee: Guarantee, relation: Relation) -> ZeroConcentratedDP:
    """Return rho and delta of a release, for `relation`."""
    stated = convert_guarantee(guarantee, relation)
    if not hasattr(stated, "zcdp") and hasattr(guarantee, "zcdp"):
        stated = convert_guarantee(guarantee.zcdp, relation)
    if not hasattr(stated, "zcdp"):
        raise RequestError(
            f"A release with {type(guarantee).__name__} has no rho for {relation.neighbours} neighbours, "
            "so it cannot be summed under a promise with a tail.",
            hint="Use a mechanism that states epsilon, mu or rho for the promise's own neighbours.",
        )
    found: ZeroConcentratedDP = stated.zcdp
    return found

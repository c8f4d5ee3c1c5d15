"""Query planner: what a query would run and cost, from text and policy alone.

    parse → resolve → bound contributions → decompose into primitives → split the budget → choose noise →
    compile

Budget      equal shares of epsilon, or weighted by the `split` option; see `budget_split`.
Noise       discrete Laplace; if the promise has a tail, discrete Gaussian of the same zCDP cost where its
            interval is narrower, as it is with many groups.
Groups      declared domains give every group. If a key's domain is not declared, partition selection chooses
            the groups privately, which needs a tail; with tail 0 such a query is refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from discreet.belief import Promise
from discreet.core.errors import require
from discreet.core.guarantees import Guarantee, PureDP, ZeroConcentratedDP
from discreet.core.numbers import Real, require_count, require_positive, require_probability
from discreet.core.policy import Policy
from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.group_selection import GroupSelection
from discreet.mechanisms.sampling import Integers
from discreet.mechanisms.sensitivity import Sensitivity
from discreet.sql import compile as compiled
from discreet.sql import domains
from discreet.sql.bound import Bounding, bound
from discreet.sql.error_tracking import ColumnErrors, track_errors
from discreet.sql.estimates import Noise, Released
from discreet.sql.expressions import Scalar
from discreet.sql.needs import Output, read
from discreet.sql.parse import parse
from discreet.sql.primitives import Primitive, Reader
from discreet.sql.refusal import refuse
from discreet.sql.resolve import Question, resolve
from discreet.sql.size import require_moderate_size
from discreet.sql.split import GROUPS, shares
from discreet.sql.tree import People
from discreet.sql.values import Counted, counted

__all__ = ["CONFIDENCE", "Output", "Plan", "Vector", "plan", "together"]

CONFIDENCE = 0.95
SUREST = 1 - 1e-9
SMALLEST = Fraction(1, 1 << 64)  # a smaller share of epsilon would give noise without any information
SHARE_OF_LEAK = Fraction(1, 100)  # of the total delta, for the partition selection of one query


@dataclass(frozen=True, kw_only=True)
class Vector:
    """One primitive over all groups, and the noise added to it."""

    primitive: Primitive
    noise: Noise

    def released(self, numbers: Integers) -> Released:
        """Return noisy numbers together with the law of their noise."""
        return Released(numbers=numbers, noise=self.noise, parts=self.primitive.parts)

    def half_width(self, confidence: float) -> Fraction:
        """Return the half-width of a number's interval in steps, with row weights divided out."""
        return Fraction(self.noise.half_width(confidence), self.primitive.parts)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything about a query except its answer: statements, noise, cost and post-processing."""

    question: Question
    promise: Promise
    epsilon: Fraction
    bounding: Bounding
    vectors: dict[str, Vector]
    counted: dict[str, Counted]
    outputs: tuple[Output, ...]
    selection: GroupSelection | None
    groups: int | None
    statement: str
    after: str
    confidence: float
    shares: Mapping[str, Fraction]
    least_rows: int | None = None
    raw: bool = False

    @property
    def guarantee(self) -> Guarantee:
        """Privacy cost of everything that is released for this query."""
        return together(
            [each.noise.guarantee for each in self.vectors.values()]
            + [each.guarantee for each in self.counted.values()]
            + ([self.selection.guarantee] if self.selection else []),
            self.promise,
        )

    @cached_property
    def errors(self) -> ColumnErrors:
        """Columns of the answer that have an error bar, and the reasons why others have none."""
        return track_errors(self.question)

    @property
    def key(self) -> str:
        """Identity of the release: equal for the same query, epsilon, noise and bounds, however it was
        written.

        Built from `repr`: renaming a class or field in it would change the keys of stored releases.
        """
        meaning = (self.question, self.epsilon, self.bounding.rule, self.confidence, self.raw)
        noise = tuple((name, each.noise) for name, each in sorted(self.vectors.items()))
        return hashlib.sha256(repr((meaning, noise, tuple(self.counted.items()))).encode()).hexdigest()


def plan(
    text: str,
    policy: Policy,
    promise: Promise,
    *,
    epsilon: Real,
    leak: Real = 0,
    confidence: float = CONFIDENCE,
    split: Mapping[str, Real] | None = None,
    least_rows: int | None = None,
    raw: bool = False,
    values: Sequence[Scalar | float] = (),
) -> Plan:
    """Return the plan of a query, or raise a refusal; reads no data.

    `values` are the values of its parameters $1, $2 …. `leak` is the delta that the ledger allows in total.
    `raw` shows negative counts unchanged. `least_rows` is the analyst's assumption on the size of every
    group: only the stated errors depend on it.
    """
    require_positive("ask", "epsilon", epsilon)
    require_probability("ask", "confidence", confidence)
    require(confidence <= SUREST, "ask", "confidence", confidence, f"at most {SUREST}")
    if least_rows is not None:
        require_count("ask", "least_rows", least_rows)
    budget = Fraction(epsilon)
    question = resolve(parse(text, values), policy)
    require_moderate_size(question)
    if question.rows.people is People.NOBODY:
        refuse("the question reads only public tables.", "Read them directly; they need no privacy budget.")
    known = domains.groups(question, policy)
    by_groups, declared = promise.tail > 0, known is not None
    bounding = bound(question, policy, promise.secret, by_groups=by_groups, declared=declared)
    question = bounding.question
    groups = None if known is None else known.size
    if groups is not None and groups > domains.LARGEST:
        refuse(
            f"the declared keys make {groups:,} groups.",
            f"Group by fewer or coarser keys: at most {domains.LARGEST:,}.",
        )
    reader = Reader(contribution=bounding.contribution, one_cell=not question.keys, parts=bounding.parts)
    primitives, outputs = read(question, reader, policy)
    part = shares(question, outputs, split or {}, selected=not declared)
    _require_parts(budget, part)
    selection = None if declared else _selection(promise, budget * part[GROUPS], leak, bounding)
    vectors = {
        name: Vector(primitive=each, noise=_noise(each.sensitivity, budget * part[name], promise, groups))
        for name, each in primitives.items()
    }
    by_values = {
        each.column: counted(each.measure, each.on, budget * part[each.column], bounding, question, policy)
        for each in outputs
        if each.by_values
    }
    aggregates = {name: each.text for name, each in primitives.items()}
    if selection is not None:
        aggregates["people"] = _people(question)
    return Plan(
        question=question,
        promise=promise,
        epsilon=budget,
        bounding=bounding,
        vectors=vectors,
        counted=by_values,
        outputs=tuple(outputs),
        selection=selection,
        groups=groups,
        # a query that only selects values has no primitives, but still needs its groups
        statement=compiled.grouped(question, aggregates or {"one": "1"}, known),
        after=compiled.after(question.after, track_errors(question).kept),
        confidence=confidence,
        shares=part,
        least_rows=least_rows,
        raw=raw,
    )


def together(guarantees: list[Guarantee], promise: Promise) -> Guarantee:
    """Return the joint guarantee of several releases: the sum of their epsilons, or of their zCDP costs."""
    if all(isinstance(each, PureDP) for each in guarantees):
        total = sum((Fraction(each.epsilon) for each in guarantees if isinstance(each, PureDP)), Fraction(0))
        return PureDP(epsilon=total, relation=promise.secret)
    costs: list[ZeroConcentratedDP] = [each.concentrated for each in guarantees]  # type: ignore[attr-defined]
    return ZeroConcentratedDP(
        rho=sum((Fraction(each.rho) for each in costs), Fraction(0)),
        delta=sum((Fraction(each.delta) for each in costs), Fraction(0)),
        relation=promise.secret,
    )


def _require_parts(epsilon: Fraction, part: Mapping[str, Fraction]) -> None:
    if any(0 < each * epsilon < SMALLEST for each in part.values()):
        refuse(
            "a measure would get too small a part of epsilon for its answer to mean anything.",
            "Give a larger epsilon, or weights in split that are closer to each other.",
        )


def _noise(moved: Sensitivity, epsilon: Fraction, promise: Promise, groups: int | None) -> Noise:
    laplace = DiscreteLaplace(epsilon=epsilon, sensitivity=moved.l1, relation=promise.secret)
    if promise.tail == 0:
        return laplace
    gaussian = DiscreteGaussian.of_rho(
        laplace.guarantee.concentrated.rho,
        squared_sensitivity=moved.squared_l2,
        places=groups or 1 << 31,
        relation=promise.secret,
    )
    narrower = gaussian.half_width(CONFIDENCE) < laplace.half_width(CONFIDENCE)
    return gaussian if narrower else laplace


def _selection(promise: Promise, epsilon: Fraction, leak: Real, bounding: Bounding) -> GroupSelection:
    if promise.tail == 0 or leak <= 0:
        refuse(
            "a key's values are not declared, so groups would have to be selected privately, and a promise "
            "with tail 0 does not allow that.",
            "Declare the column's values (or low and high) in the policy, or promise with a small tail.",
        )
    groups = bounding.contribution.rows * bounding.contribution.groups
    if bounding.question.rows.people is People.COLUMN and bounding.contribution.groups > 1:
        groups = bounding.contribution.groups
    return GroupSelection(
        epsilon=epsilon,
        delta=Fraction(leak) * SHARE_OF_LEAK,
        groups_per_person=groups,
        relation=promise.secret,
    )


def _people(question: Question) -> str:
    if question.rows.people is People.COLUMN:
        return 'count(DISTINCT "_discreet_person")'
    return "count(*)"

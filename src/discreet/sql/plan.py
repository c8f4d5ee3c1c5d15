"""The plan: what a question would do and cost, made from text and policy alone.

    parse → resolve → bound → primitives → split the budget → choose the noise → compile

Budget      every primitive gets the same share of epsilon. A centred sum's share and the count's then move a
            mean by the same part of its range when the mean lies at an end of it, which is the worst case, so
            no other split has a smaller worst error relative to the declared ranges.
Noise       discrete Laplace; where the promise has a tail, discrete Gaussian of the same concentrated cost
            if its interval is narrower, which many groups make so.
Groups      declared domains give every group. Where a key's domain is not declared, groups are selected
            privately, which needs a tail; under tail 0 such a question is refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

from discreet.belief import Promise
from discreet.core.errors import require
from discreet.core.guarantees import Guarantee, PureDP, ZeroConcentratedDP
from discreet.core.numbers import Real, require_positive, require_probability
from discreet.core.policy import Policy
from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.group_selection import GroupSelection
from discreet.mechanisms.sensitivity import Sensitivity
from discreet.sql import compile as compiled
from discreet.sql import domains
from discreet.sql.aggregates import Measure
from discreet.sql.bound import Bounding, bound
from discreet.sql.estimates import Noise
from discreet.sql.expressions import Column
from discreet.sql.parse import parse
from discreet.sql.primitives import Grid, Primitive, Reader, grid
from discreet.sql.refusal import refuse
from discreet.sql.resolve import Question, resolve
from discreet.sql.tree import People, scans
from discreet.sql.values import Counted, counted

CONFIDENCE = 0.95
SHARE_OF_LEAK = Fraction(1, 100)
BY_VALUES = ("median", "quantile", "min", "max", "mode")


@dataclass(frozen=True, kw_only=True)
class Vector:
    """One primitive over all groups, and the noise that it gets."""

    primitive: Primitive
    noise: Noise


@dataclass(frozen=True, kw_only=True)
class Output:
    """One measure: what it is computed from."""

    column: str
    measure: Measure
    parts: tuple[str, ...] = ()
    on: Grid | None = None
    known_rows: int | None = None


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything about a question but its answer."""

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
    raw: bool = False

    @property
    def guarantee(self) -> Guarantee:
        """What everything that is released for this question costs together."""
        return together(
            [each.noise.guarantee for each in self.vectors.values()]
            + [each.guarantee for each in self.counted.values()]
            + ([self.selection.guarantee] if self.selection else []),
            self.promise,
        )

    @property
    def key(self) -> str:
        """The same for the same question, epsilon, noise and bounds, however it was written."""
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
    raw: bool = False,
) -> Plan:
    """The plan of a question, or a refusal; reads no data.

    `leak` is the delta that the ledger allows in all; `raw` leaves negative counts as they are.
    """
    require_positive("ask", "epsilon", epsilon)
    require_probability("ask", "confidence", confidence)
    budget = Fraction(epsilon)
    question = resolve(parse(text), policy)
    if question.rows.people is People.NOBODY:
        refuse("the question reads only public tables.", "Read them directly; they are about nobody.")
    bounding = bound(question, policy, promise.secret, by_groups=promise.tail > 0)
    question = bounding.question
    known = domains.groups(question, policy)
    groups = None if known is None else known.size
    if groups is not None and groups > domains.LARGEST:
        refuse(
            f"the declared keys make {groups:,} groups.",
            f"Group by fewer or coarser keys: at most {domains.LARGEST:,}.",
        )
    declared = groups is not None
    reader = Reader(contribution=bounding.contribution, one_cell=not question.keys)
    primitives, outputs, by_value = _read(question, reader, _public_rows(question, policy))
    shares = len(primitives) + len(by_value) + (0 if declared else 1)
    share = budget / shares
    selection = None if declared else _selection(promise, share, leak, bounding)
    vectors = {
        name: Vector(primitive=each, noise=_noise(each.sensitivity, share, promise, groups))
        for name, each in primitives.items()
    }
    values = {
        output.column: counted(output.measure, output.on, share, bounding, question, policy)
        for output in by_value
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
        counted=values,
        outputs=tuple(outputs),
        selection=selection,
        groups=groups,
        statement=compiled.grouped(question, aggregates or {"one": "1"}, known),
        after=compiled.after(question.after, len(question.measures)),
        confidence=confidence,
        raw=raw,
    )


def together(guarantees: list[Guarantee], promise: Promise) -> Guarantee:
    """Several releases as one: their epsilons add up, or their concentrated costs do."""
    if all(isinstance(each, PureDP) for each in guarantees):
        total = sum((Fraction(each.epsilon) for each in guarantees if isinstance(each, PureDP)), Fraction(0))
        return PureDP(epsilon=total, relation=promise.secret)
    costs: list[ZeroConcentratedDP] = [each.concentrated for each in guarantees]  # type: ignore[attr-defined]
    return ZeroConcentratedDP(
        rho=sum((Fraction(each.rho) for each in costs), Fraction(0)),
        delta=sum((Fraction(each.delta) for each in costs), Fraction(0)),
        relation=promise.secret,
    )


def _read(
    question: Question, reader: Reader, public: int | None
) -> tuple[dict[str, Primitive], list[Output], list[Output]]:
    """Which primitives the measures need, each once."""
    primitives: dict[str, Primitive] = {}

    def use(primitive: Primitive) -> str:
        for name, known in primitives.items():
            if known == primitive:
                return name
        name = f"p{len(primitives)}"
        primitives[name] = primitive
        return name

    needs = _Needs(reader=reader, use=use, public=public)
    outputs: dict[str, Output] = {}
    by_value: list[Output] = []
    # sums last: one whose mean is asked too is made of the mean's parts
    for column, measure in sorted(question.measures, key=lambda each: each[1].function == "sum"):
        outputs[column.name] = needs.of(column.name, measure, outputs.values())
        if measure.function in BY_VALUES:
            by_value.append(outputs[column.name])
    return primitives, [outputs[column.name] for column, _ in question.measures], by_value


@dataclass(frozen=True, kw_only=True)
class _Needs:
    """What a measure is made of; `use` makes sure that a primitive is asked for."""

    reader: Reader
    use: Callable[[Primitive], str]
    public: int | None

    def of(self, column: str, measure: Measure, known: Iterable[Output]) -> Output:
        function, argument = measure.function, measure.argument
        if function in ("count", "count_distinct"):
            read = self.reader.count if function == "count" else self.reader.distinct
            return Output(column=column, measure=measure, parts=(self.use(read(measure)),))
        if function == "mode" or argument is None:
            return Output(column=column, measure=measure)
        on = grid(argument)
        if function in BY_VALUES:
            return Output(column=column, measure=measure, on=on)
        if function == "sum":
            parts = _parts_of_mean(measure, known) or (self.use(self.reader.total(measure, on)),)
            return Output(column=column, measure=measure, parts=parts, on=on)
        return self._of_moments(column, measure, on)

    def _of_moments(self, column: str, measure: Measure, on: Grid) -> Output:
        centred = self.use(self.reader.centred(measure, on))
        whole = isinstance(measure.argument, Column) and measure.condition is None
        if measure.function == "avg" and self.public is not None and whole:
            return Output(column=column, measure=measure, parts=(centred,), on=on, known_rows=self.public)
        rows = Measure(function="count", argument=measure.argument, condition=measure.condition)
        parts: tuple[str, ...] = (centred, self.use(self.reader.count(rows)))
        if measure.function != "avg":
            parts = (*parts, self.use(self.reader.squares(measure, on)))
        return Output(column=column, measure=measure, parts=parts, on=on)


def _parts_of_mean(measure: Measure, known: Iterable[Output]) -> tuple[str, ...]:
    """The parts of AVG(x), where it is asked beside SUM(x)."""
    for each in known:
        same = (each.measure.argument, each.measure.condition) == (measure.argument, measure.condition)
        if same and each.measure.function == "avg" and each.known_rows is None:
            return each.parts
    return ()


def _public_rows(question: Question, policy: Policy) -> int | None:
    """The number of rows where it is public: a person is a row, nothing is filtered, joined or grouped."""
    rows = question.rows
    scan = scans(rows)[0]
    table = policy.tables[scan.table]
    whole = rows is scan and not question.keys and table.person == "row"
    nulls = any(column.nulls for column in table.columns.values())
    return table.rows if whole and not nulls else None


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


def least_epsilon(
    text: str, policy: Policy, promise: Promise, *, within: Real, confidence: float
) -> Fraction:
    """The smallest epsilon with which every measure is within ± `within`, for counts and sums."""
    require_positive("ask", "within", within)

    def wide(epsilon: Fraction) -> bool:
        made = plan(text, policy, promise, epsilon=epsilon, confidence=confidence)
        for output in made.outputs:
            if output.measure.function not in ("count", "count_distinct", "sum") or len(output.parts) != 1:
                refuse(
                    f"the error of {output.measure.function.upper()} depends on how many rows there are, so "
                    f"±{within} cannot be promised for it.",
                    "Ask with epsilon, or for COUNT and SUM.",
                )
            vector = made.vectors[output.parts[0]]
            if vector.noise.half_width(confidence) * vector.primitive.unit > within:
                return True
        return False

    low, high = Fraction(1, 10_000), Fraction(1, 10_000)
    while wide(high):
        low, high = high, high * 2
        require(high < 10_000, "ask", "within", within, "wide enough for any epsilon below 10,000")
    while high / low > Fraction(1001, 1000) and high > low:
        middle = (low + high) / 2
        low, high = (middle, high) if wide(middle) else (low, middle)
    return high.limit_denominator(10**6) + Fraction(1, 10**6)

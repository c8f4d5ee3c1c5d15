"""The base class of aggregates: everything that the rest of `sql` asks about COUNT, SUM, AVG and the others.

An aggregate is a class, and one aggregate call of a query, a *measure*, is an instance of it: the `argument`
and the `condition` of FILTER. One class answers

In SQL        the sqlglot nodes that stand for it, the check of its argument, the type of its result
Measurement   the primitives that it is computed from, of known sensitivity; or that it selects a value
Estimate      value and interval from released primitives, the error that follows from the plan alone, and
              the sentence where none does
Reference     documentation, and an example that plans on the policy of the SQL reference
Other roles   `SupportsPersonTotals`: exact totals of one person's rows in a subquery;
              `SupportsAnswerTotals`: free totals over an answer that is already released

`AGGREGATES` in the package lists all of them; nothing else compares names of functions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, NoReturn

from sqlglot import exp

from discreet.sql.expression_tree import Expression
from discreet.sql.expression_types import Family, Type
from discreet.sql.refusal import format_snippet, refuse_query
from discreet.sql.released_schema import LinearMeasure, MeasureForm, OpaqueMeasure
from discreet.sql.scalar_expressions import resolve_scalar

if TYPE_CHECKING:
    from discreet.mechanisms.linear_combinations import LinearCombination
    from discreet.sql.interval_estimates import Estimate, ReleasedPrimitive
    from discreet.sql.primitives import Grid, Primitive, PrimitiveBuilder
    from discreet.sql.row_sources import RowScope

HALF = Fraction(1, 2)


# -- Measurement --------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Decomposition:
    """The primitives that a measure is computed from, by name; none if it selects a value.

    `public_rows` is the number of rows if the policy declares it and the measure needs no count.
    """

    primitive_names: tuple[str, ...] = ()
    grid: Grid | None = None
    public_rows: int | None = None


@dataclass(frozen=True, kw_only=True)
class Decomposer:
    """The primitives of one query while its measures are decomposed.

    `add_primitive` registers a primitive and returns its name, that of an equal one if there is one.
    """

    builder: PrimitiveBuilder
    add_primitive: Callable[[Primitive], str]
    public_rows: int | None
    known: Sequence[tuple[Aggregate, Decomposition]]

    def find_decomposition(self, measure: Aggregate) -> Decomposition | None:
        """Return the decomposition of an equal measure of the query that came before; None without one."""
        return next((parts for each, parts in self.known if each == measure), None)


@dataclass(frozen=True, kw_only=True)
class PlannedNoise:
    """The noise of a measure's primitives, before data is read.

    `half_widths` are those of the primitives' intervals, in steps of `units`, at confidences that hold
    jointly, and `errors` their laws in units of the measure. `is_rounded` says that they are multiples of a
    part of a step. `least_rows` is the analyst's assumption on the size of every group.
    """

    half_widths: tuple[Fraction, ...]
    units: tuple[Fraction, ...]
    errors: tuple[LinearCombination, ...]
    confidence: float
    is_rounded: bool
    least_rows: int | None


@dataclass(frozen=True, kw_only=True)
class RankError:
    """An error in rows, for measures without an interval: `description` says what `rows` are.

    The rank of a selected value is off by at most `rows`; a MODE is at most `rows` rarer; a BOOL_OR is right
    from `rows` rows on, which makes it a decision. `remark` is a sentence for the reader of an answer.
    """

    rows: float
    description: str
    probability: Fraction | None = None
    remark: str = ""
    is_decision: bool = False

    def to_json(self) -> dict[str, object]:
        """Return the JSON object."""
        share = None if self.probability is None else float(self.probability)
        return {"probability": share, "rows": float(self.rows), "why": self.description}


# -- Aggregates ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, repr=False)
class Aggregate(ABC):
    """One aggregate of a query: the class's function of `argument` over the rows that satisfy `condition`."""

    name: ClassVar[str]
    """Identity in stored release keys, and the name in error messages: never change it."""
    sql_names: ClassVar[tuple[str, ...]]
    """Forms in which a query writes it, as the reference lists them."""
    nodes: ClassVar[tuple[type[exp.Expr], ...]] = ()
    """sqlglot's nodes of a call."""
    parts: ClassVar[tuple[str, ...]] = ("this",)
    """The parts of these nodes that `resolve` reads; a call with any other is refused."""
    documentation: ClassVar[str]
    example: ClassVar[str]

    is_linear: ClassVar[bool] = False
    """True if it is linear in rows, so that rows can be weighted (`sql.row_weighting`)."""
    is_whole_count: ClassVar[bool] = False
    """True if it is a count, of which negative values are shown as 0."""
    selects_value: ClassVar[bool] = False
    """True if the exponential mechanism selects its value (`SelectedAggregate`)."""
    is_decomposed_last: ClassVar[bool] = False
    """True if it can reuse the primitives of other measures, which are then decomposed before it."""

    argument: Expression | None = None
    condition: Expression | None = None

    def __repr__(self) -> str:
        """Return the form from which the keys of stored releases are built: it outlives renamed classes."""
        options = {"probability": HALF, "counts_people": False}
        options |= {each.name: getattr(self, each.name) for each in fields(self)[2:]}
        return (
            f"Measure(function={self.name!r}, argument={self.argument!r}, condition={self.condition!r}, "
            + ", ".join(f"{name}={value!r}" for name, value in options.items())
            + ")"
        )

    # -- In SQL ---------------------------------------------------------------------------------------------

    @classmethod
    def resolve(
        cls, node: exp.Expression, written: exp.Expression, scope: RowScope, condition: Expression | None
    ) -> Aggregate:
        """Return the measure of a call, or refuse it; `written` is the call with its FILTER."""
        refuse_distinct(node, written)
        if node.this is None:
            refuse_query(f"«{format_snippet(written)}» aggregates nothing.", "Name a column.")
        argument = cls.check_argument(resolve_scalar(node.this, scope), node.this, written)
        return cls(argument=argument, condition=condition)

    @classmethod
    def resolve_within_group(
        cls,
        node: exp.WithinGroup,
        argument: Expression,
        condition: Expression | None,
        *,
        is_descending: bool,
    ) -> Aggregate | None:
        """Return the measure of `f(…) WITHIN GROUP (ORDER BY argument)`; None if it has no such form."""
        return None

    @classmethod
    def check_argument(
        cls, argument: Expression, argument_node: exp.Expression, written: exp.Expression
    ) -> Expression:
        """Return the argument, or refuse one that the aggregate cannot take."""
        return argument

    @property
    @abstractmethod
    def result_type(self) -> Type:
        """Type of its column in the released table."""

    @property
    def max_row_contribution(self) -> int:
        """The most that one row can add to any of its primitives; asked of linear aggregates."""
        return 1

    # -- Measurement and estimate ---------------------------------------------------------------------------

    @abstractmethod
    def decompose(self, decomposer: Decomposer) -> Decomposition:
        """Return the primitives that it is computed from."""

    def estimate(
        self,
        decomposition: Decomposition,
        released: Sequence[ReleasedPrimitive],
        confidence: float,
        *,
        raw: bool = False,
    ) -> Estimate:
        """Return value and interval in every group from its released primitives."""
        raise NotImplementedError(f"{self.name} is not computed from primitives")

    def describe_form(self, decomposition: Decomposition, primitives: Mapping[str, Primitive]) -> MeasureForm:
        """Return how its value is computed from noisy primitives, as far as an error can be carried on."""
        return OpaqueMeasure(has_interval=True)

    # -- Error ----------------------------------------------------------------------------------------------

    def bound_error(self, decomposition: Decomposition, noise: PlannedNoise) -> Fraction | None:
        """Return the most by which its interval extends from its value; None if that depends on data."""
        return None

    def bound_row_error(self, noise: PlannedNoise) -> RankError | None:
        """Return an error in rows that follows from the plan; None if it has an interval."""
        return None

    def describe_open_error(self, half_width: float) -> str:
        """Describe an error that depends on data; `half_width` is that of its first primitive."""
        return "depends on the rows of a group"

    def describe_error_unit(self, column: str, *, is_in_rows: bool) -> str:
        """Return the label of an axis of errors, in rows or in values of the column."""
        return f"rows of the rank of {column}" if is_in_rows else f"in {column}"

    def refuse_tolerance(self, tolerance: object) -> NoReturn:
        """Refuse `within` as a number, for an error that does not follow from the plan."""
        refuse_query(
            f"the error of {self.name.upper()} depends on the data, so {tolerance} cannot be promised "
            "for it.",
            "Ask with epsilon.",
        )


class NumericAggregate(Aggregate):
    """An aggregate of a number with bounds, declared by the policy or derived from the expression."""

    allows_constant: ClassVar[bool] = False

    @classmethod
    def check_argument(
        cls, argument: Expression, argument_node: exp.Expression, written: exp.Expression
    ) -> Expression:
        kind = argument.type
        if kind.family is not Family.NUMBER:
            refuse_query(
                f"«{format_snippet(written)}» needs a number, not a {kind.family.value}.", "Name a number."
            )
        if not kind.is_bounded:
            refuse_query(
                f"«{format_snippet(written)}» needs bounds, and «{format_snippet(argument_node)}» has none.",
                "Declare low and high in the policy, or write LEAST(GREATEST(x, low), high).",
            )
        if kind.low == kind.high and not cls.allows_constant:
            refuse_query(
                f"«{format_snippet(argument_node)}» in «{format_snippet(written)}» is a constant.",
                "For a share of rows write AVG(CASE WHEN … THEN 1 ELSE 0 END).",
            )
        return argument

    @property
    def number(self) -> Expression:
        """The argument, which a numeric aggregate always has."""
        assert self.argument is not None
        return self.argument


def refuse_distinct(node: exp.Expression, written: exp.Expression) -> None:
    """Refuse DISTINCT in an aggregate other than COUNT(DISTINCT x)."""
    if isinstance(node.this, exp.Distinct):
        refuse_query(
            f"«{format_snippet(written)}» is not answered.", "Use DISTINCT only in COUNT(DISTINCT x)."
        )


# -- Other roles --------------------------------------------------------------------------------------------


class SupportsPersonTotals(Aggregate):
    """An aggregate that also totals one person's rows in a subquery; such totals are exact, not released."""

    keeps_clamping: ClassVar[bool] = False
    """True if a total of clamped values lies within the bounds of its type."""
    keeps_values: ClassVar[bool] = False
    """True if a total is one of the values of its argument."""

    @classmethod
    def has_person_total(cls, node: exp.Expression) -> bool:
        """Return True if a call of it can be a total per person."""
        return not isinstance(node.this, exp.Distinct)

    @classmethod
    def resolve_person_total(
        cls, node: exp.Expression, written: exp.Expression, scope: RowScope, condition: Expression | None
    ) -> SupportsPersonTotals:
        """Return the total of a call, or refuse it; the argument needs no bounds."""
        return cls(argument=resolve_scalar(node.this, scope), condition=condition)

    @abstractmethod
    def infer_person_total_type(self, max_rows: int) -> Type:
        """Return the type of a total over at most `max_rows` rows."""

    @property
    def person_total_may_be_null(self) -> bool:
        """True if a total may be NULL; every person has at least one row."""
        if self.argument is None:
            return False
        return self.condition is not None or self.argument.type.is_nullable

    @abstractmethod
    def compile_person_total(self, max_rows: int) -> str:
        """Return the SQL of the total; its value must not depend on the order of rows."""


class SupportsAnswerTotals(Aggregate):
    """An aggregate that also totals the rows of a released answer, which is post-processing and free."""

    answer_nodes: ClassVar[tuple[type[exp.Expr], ...]]

    @classmethod
    def counts_answer_rows(cls, node: exp.Expression) -> bool:
        """Return True for a call without an argument, such as COUNT(*)."""
        return False

    @classmethod
    @abstractmethod
    def infer_answer_total_type(cls, argument: Expression | None) -> Type:
        """Return the type of a total over an answer."""

    @classmethod
    def check_answer_argument(cls, argument: Expression, node: exp.Expression) -> None:
        """Refuse a column of the answer that the aggregate cannot take."""

    @classmethod
    def compile_answer_total(cls, argument_sql: str, kind: Type) -> str:
        """Return the SQL of a total of that type; `argument_sql` is * for rows."""
        return f"{cls.name}({argument_sql})"


def refuse_non_number(argument: Expression, node: exp.Expression) -> None:
    """Refuse a column of an answer that is no number."""
    if argument.type.family is not Family.NUMBER:
        refuse_query(f"«{format_snippet(node)}» needs a number.", "Name a column that is one.")


def describe_single_primitive(name: str, primitive: Primitive, *, is_whole: bool) -> LinearMeasure:
    """Return the form of a measure that is one primitive; whole numbers in parts are rounded."""
    rounds = is_whole and primitive.weight_denominator > 1
    return LinearMeasure(
        coefficients={name: Fraction(1)}, rounding=HALF if rounds else Fraction(0), is_whole=is_whole
    )

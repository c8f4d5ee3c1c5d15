"""Query planner: what a query would run and cost, from text and policy alone.

    parse → split the statement → plan each of its cores (`core_planning`) → compile its post-processing

A query that is one aggregation with SELECTs around it is also resolved as such: that is how its errors are
tracked, and how answers are found that earlier versions stored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

from sqlglot import exp

from discreet.belief import Promise
from discreet.core.errors import require_parameter
from discreet.core.guarantees import Guarantee, PureDP, ZeroConcentratedDP
from discreet.core.number_checks import (
    DEFAULT_CONFIDENCE,
    Real,
    require_count,
    require_positive,
    require_probability,
)
from discreet.core.policy import Policy
from discreet.mechanisms.partition_selection import GroupSelection
from discreet.sql import sql_compiler as compiled
from discreet.sql.budget_split import GROUPS
from discreet.sql.contribution_bounding import BoundedQuery
from discreet.sql.core_planning import (
    CorePlan,
    NoisyPrimitive,
    combine_shares,
    plan_core,
    prepare_core,
    require_meaningful_shares,
)
from discreet.sql.error_expressions import DERIVED
from discreet.sql.error_plan import FORM_LIMIT, OUTPUT, RESERVED, ErrorPlan, plan_errors
from discreet.sql.error_tracking import ColumnErrors, track_errors
from discreet.sql.expression_tree import Scalar
from discreet.sql.measure_decomposition import DecomposedMeasure
from discreet.sql.measurement_slices import FinerCore, find_finer_core
from discreet.sql.noisy_columns import ColumnNoise, find_column_noise
from discreet.sql.query import Query
from discreet.sql.query_parser import parse_question
from discreet.sql.query_validation import validate_query
from discreet.sql.refusal import Refusal, refuse_query
from discreet.sql.released_constants import ConstantValues, fill_core, find_open_constants
from discreet.sql.released_schema import RELEASED, ReleasedSchema, describe_exact_table
from discreet.sql.resolver import resolve_query
from discreet.sql.sql_names import fold_case
from discreet.sql.statement_splitting import SplitStatement, split_statement
from discreet.sql.value_selection import ValueSelection

__all__ = [
    "CorePlan",
    "DecomposedMeasure",
    "NoisyPrimitive",
    "QueryPlan",
    "combine_guarantees",
    "plan_query",
]

SUREST = 1 - 1e-9


@dataclass(frozen=True, kw_only=True, eq=False)
class QueryPlan:
    """Everything about a query except its answer: its cores, cost and post-processing.

    What follows from a plan is computed once and cached by the plan itself, which is equal to no other.

    `question` is the query as one aggregation with its post-processing, where it is one. `shares` has the
    share of epsilon of everything that is charged, in all cores. `was_shown` says that some of its
    measurements were released, and shown, for an earlier question; `carries_errors` is false where errors
    cannot be carried through its post-processing. `finer_cores` are measured in place of cores, by table.
    `constants` has the values of constants in conditions that are released already.
    """

    split: SplitStatement
    question: Query | None
    promise: Promise
    epsilon: Fraction
    cores: tuple[CorePlan, ...]
    post_processing: str
    confidence: float
    shares: Mapping[str, Fraction]
    least_rows: int | None = None
    raw: bool = False
    was_shown: bool = False
    carries_errors: bool = True
    finer_cores: Mapping[str, FinerCore] = field(default_factory=dict)
    constants: ConstantValues = field(default_factory=dict)

    def fill_constants(self, values: ConstantValues, policy: Policy) -> QueryPlan:
        """Return the plan with the released values of some constants."""
        cores = tuple(fill_core(core, values, policy) for core in self.cores)
        return replace(self, cores=cores, constants={**self.constants, **values})

    @property
    def open_constants(self) -> frozenset[str]:
        """The names of the constants that have no value yet, and that a core compares with."""
        if self.split.constants.keys() <= self.constants.keys():
            return frozenset()
        return frozenset().union(*(find_open_constants(core.question) for core in self.cores))

    @property
    def executed_cores(self) -> tuple[CorePlan, ...]:
        """The cores that are measured: for some a finer one, of which the question reads a part."""
        finer = self.finer_cores
        return tuple(finer[core.table].core if core.table in finer else core for core in self.cores)

    @property
    def core(self) -> CorePlan:
        """The only core of a plan that has one."""
        (core,) = self.cores
        return core

    @property
    def noisy_primitives(self) -> dict[str, NoisyPrimitive]:
        return {name: each for core in self.cores for name, each in core.noisy_primitives.items()}

    @property
    def value_selections(self) -> dict[str, ValueSelection]:
        return {name: each for core in self.cores for name, each in core.value_selections.items()}

    @property
    def outputs(self) -> tuple[DecomposedMeasure, ...]:
        return tuple(output for core in self.cores for output in core.outputs)

    @property
    def statements(self) -> tuple[str, ...]:
        """The statements that the engine runs."""
        return tuple(
            statement
            for core in self.executed_cores
            for statement in (core.statement, *(each.statement for each in core.value_selections.values()))
        )

    @property
    def bounding(self) -> BoundedQuery:
        return self.core.bounding

    @property
    def bounding_rule(self) -> str:
        """The bounding rules of its cores, in a few words."""
        return "; ".join(dict.fromkeys(core.bounding.rule for core in self.cores)) or "none"

    @property
    def bounding_description(self) -> str:
        """The bounding rules of its cores, with the most that one person's rows count for."""
        return "; ".join(dict.fromkeys(core.bounding.description for core in self.cores)) or "none"

    def find_core(self, output: DecomposedMeasure) -> CorePlan:
        """Return the core that a measure is measured in."""
        return next(core for core in self.cores if output in core.outputs)

    def compares_with(self, output: DecomposedMeasure) -> bool:
        """Return True if a constant, which rows are compared with, may be computed of a measure."""
        table = self.find_core(output).table
        return any(table in each.cores for each in self.split.constants.values())

    @property
    def partition_selection(self) -> GroupSelection | None:
        return self.core.partition_selection

    @property
    def group_count(self) -> int | None:
        """The number of groups of all cores, if the policy declares them."""
        counts = [core.group_count for core in self.cores]
        return None if None in counts else sum(count or 0 for count in counts)

    @property
    def statement(self) -> str:
        return self.core.statement

    @property
    def guarantee(self) -> Guarantee:
        """Privacy cost of everything that is released for this query."""
        return combine_guarantees([each for core in self.cores for each in core.guarantees], self.promise)

    def find_confidence(self, output: DecomposedMeasure) -> float:
        """Return the confidence of a measure's intervals: higher than stated where means are combined."""
        return self.find_core(output).find_confidence(output, self.confidence)

    def compute_charge(self, names: Collection[str]) -> tuple[Fraction, Guarantee]:
        """Return the epsilon and the guarantee of some of its measurements."""
        part, guarantees = Fraction(0), list[Guarantee]()
        for core in self.cores:
            own = [name for name in names if name in core.charged_names]
            part += sum((self.shares.get(name, Fraction(0)) for name in own), Fraction(0))
            if own and core.partition_selection is not None:
                part += self.shares[f"{core.prefix}{GROUPS}"]
            guarantees += core.list_guarantees(own)
        return self.epsilon * part, combine_guarantees(guarantees, self.promise)

    @cached_property
    def released_schemas(self) -> tuple[ReleasedSchema, ...]:
        """The tables that post-processing reads: their columns and the laws of their noise."""
        if self.question is not None:
            return (self.core.describe_release(RELEASED),)
        measured = {core.table: core for core in self.cores}
        released = (
            measured[name].describe_release(name)
            if name in measured
            else describe_exact_table(name, [column.name for column, _ in core.keys])
            for name, core in self.split.cores.items()
        )
        public = self.split.public_tables.items()
        return (*released, *(describe_exact_table(name, each.schema.names) for name, each in public))

    @cached_property
    def error_plan(self) -> ErrorPlan:
        """The post-processing query with the columns that intervals are computed from."""
        if not self.cores or not self.carries_errors:
            return ErrorPlan(query=self.post_processing, columns=())
        if self.question is None:
            return self._plan_errors(self.post_processing)
        # relabelled outputs and another limit change no error
        *inner, last = self.question.post_processing
        names = [name for name, _ in last.outputs]
        if RESERVED in self.post_processing or len({*map(fold_case, names)}) < len(names):
            return self._plan_errors(self.post_processing)
        outputs = tuple((f"{OUTPUT}{place}", each) for place, (_, each) in enumerate(last.outputs))
        limit = None if last.limit is None else FORM_LIMIT
        form = replace(last, outputs=outputs, limit=limit)
        followed = self._plan_errors(compiled.compile_post_processing((*inner, form)))
        return followed.fill_form(names, last.limit)

    def _plan_errors(self, query: str) -> ErrorPlan:
        shown = [each.name for each in self.released_schemas] if self.was_shown else []
        chosen = [RELEASED if self.question else core.table for core in self.cores if core.shown_cells]
        return plan_errors(query, self.released_schemas, shown_before=shown, chosen_after=chosen)

    @cached_property
    def column_errors(self) -> ColumnErrors:
        """Columns of the answer that have an error bar, and the reasons why others have none."""
        tracked = track_errors(self.error_plan, {core.table: core.prefix for core in self.cores})
        if self.question is not None:
            return tracked
        followed = {each.name for each in self.error_plan.columns}
        others = {
            name: DERIVED
            for name, noise in self.column_noise.items()
            if noise is not ColumnNoise.EXACT and name not in followed
        }
        return replace(tracked, missing_reasons={**tracked.missing_reasons, **others})

    def list_unnamed_columns(self, names: Iterable[str]) -> list[str]:
        """Return the columns of an answer that its text does not name, as those that PIVOT makes."""
        known = {*(each.name for each in self.error_plan.columns), *self.column_noise}
        folded = {fold_case(each) for each in known}
        return [name for name in names if fold_case(name) not in folded]

    @cached_property
    def column_noise(self) -> dict[str, ColumnNoise]:
        """The noise in each column of the answer, as far as the text tells its columns."""
        return find_column_noise(self.split)

    @cached_property
    def release_key(self) -> str:
        """Identity of the release in ledgers before measurements were stored: equal for the same query,
        epsilon, noise and bounds, however it was written.

        Built from `repr`: renaming a class or field in it would change the keys of stored releases.
        """
        if self.question is None:
            rules = [(core.question, core.bounding.rule) for core in self.cores]
            meaning = (self.split.post_processing, rules, self.epsilon, self.confidence, self.raw)
            if self.split.constants:
                constants = tuple((name, each.sql) for name, each in self.split.constants.items())
                meaning = (*meaning, constants)  # type: ignore[assignment]
        else:
            meaning = (self.question, self.epsilon, self.bounding.rule, self.confidence, self.raw)  # type: ignore[assignment]
        noise = tuple((name, each.noise) for name, each in sorted(self.noisy_primitives.items()))
        return hashlib.sha256(
            repr((meaning, noise, tuple(self.value_selections.items()))).encode()
        ).hexdigest()


def plan_query(
    text: str,
    policy: Policy,
    promise: Promise,
    *,
    epsilon: Real,
    leak: Real = 0,
    confidence: float = DEFAULT_CONFIDENCE,
    split: Mapping[str, Real] | None = None,
    least_rows: int | None = None,
    raw: bool = False,
    values: Sequence[Scalar | float] = (),
) -> QueryPlan:
    """Return the plan of a query, or raise a refusal; reads no data.

    `values` are the values of its parameters $1, $2 …. `leak` is the delta that the ledger allows in total.
    `raw` shows negative counts unchanged. `least_rows` is the analyst's assumption on the size of every
    group: only the stated errors depend on it.
    """
    require_positive("ask", "epsilon", epsilon)
    require_probability("ask", "confidence", confidence)
    require_parameter(confidence <= SUREST, "ask", "confidence", confidence, f"at most {SUREST}")
    if least_rows is not None:
        require_count("ask", "least_rows", least_rows)
    statement = parse_question(text, values)
    parts = split_statement(statement, policy)
    question = _resolve_single_query(statement, parts, policy)
    if question is None and split:
        refuse_query(
            "split weighs the measures of one plain aggregation.", "Leave it out, or ask for that alone."
        )
    measured = parts.measured_cores if question is None else {"r0": question}
    prepared = [
        prepare_core(core, name, policy, promise, split or {}, prefix=f"{name}." if len(measured) > 1 else "")
        for name, core in measured.items()
    ]
    shares = combine_shares(prepared)
    require_meaningful_shares(Fraction(epsilon), shares)
    cores = tuple(
        plan_core(each, shares, policy, promise, Fraction(epsilon), Fraction(leak) / len(prepared))
        for each in prepared
    )
    return QueryPlan(
        split=parts,
        question=None if question is None else cores[0].question,
        promise=promise,
        epsilon=Fraction(epsilon) if cores else Fraction(0),
        cores=cores,
        post_processing=parts.post_processing
        if question is None
        else compiled.compile_post_processing(question.post_processing),
        confidence=confidence,
        shares=shares,
        least_rows=least_rows,
        raw=raw,
    )


def plan_finer_cores(plan: QueryPlan, policy: Policy) -> QueryPlan:
    """Return the plan with finer cores to measure, where these cost the same and are no less precise."""
    found = {
        core.table: find_finer_core(core, policy, plan.promise, plan.epsilon, plan.shares)
        for core in plan.cores
        if not find_open_constants(core.question)
    }
    return replace(plan, finer_cores={name: finer for name, finer in found.items() if finer is not None})


def _resolve_single_query(statement: exp.Expr, parts: SplitStatement, policy: Policy) -> Query | None:
    """Return a statement as one aggregation with its post-processing in stages; None if it has other SQL."""
    if len(parts.cores) != 1 or len(parts.measured_cores) != 1 or not isinstance(statement, exp.Select):
        return None
    try:
        validate_query(statement)
        return resolve_query(statement, policy)
    except Refusal:
        return None


def combine_guarantees(guarantees: list[Guarantee], promise: Promise) -> Guarantee:
    """Return the joint guarantee of several releases: the sum of their epsilons, or of their zCDP costs."""
    if all(isinstance(each, PureDP) for each in guarantees):
        total = sum((Fraction(each.epsilon) for each in guarantees if isinstance(each, PureDP)), Fraction(0))
        return PureDP(epsilon=total, relation=promise.secret)
    costs: list[ZeroConcentratedDP] = [each.zcdp for each in guarantees]  # type: ignore[attr-defined]
    return ZeroConcentratedDP(
        rho=sum((Fraction(each.rho) for each in costs), Fraction(0)),
        delta=sum((Fraction(each.delta) for each in costs), Fraction(0)),
        relation=promise.secret,
    )

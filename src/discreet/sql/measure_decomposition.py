"""Decompose the measures of a query into primitives, each computed and charged once.

Primitives  each aggregate names its own (`sql.aggregates`). A measure that selects a value (MEDIAN, MODE …)
            has none.
Public      a mean needs no count if the policy declares the number of rows and the query does not change it.
Shared      SUM(x) beside AVG(x) is computed from the primitives of the mean. Primitives that mean the same
            are merged, as COUNT(*) and SUM(1): they are one measurement, and its noise is drawn once.
"""

from __future__ import annotations

from dataclasses import dataclass

from discreet.core.policy import Policy
from discreet.sql.aggregates.base import Aggregate, Decomposer, Decomposition
from discreet.sql.measurement_identity import normalize_meaning, read_columns
from discreet.sql.primitives import Primitive, PrimitiveBuilder
from discreet.sql.query import Query
from discreet.sql.relational_algebra import find_scans


@dataclass(frozen=True, kw_only=True)
class DecomposedMeasure(Decomposition):
    """One measure and the primitives that it is computed from."""

    column: str
    measure: Aggregate

    @property
    def selects_value(self) -> bool:
        return self.measure.selects_value

    @property
    def charged_names(self) -> tuple[str, ...]:
        """Names under which its primitives, or its selected value, are charged."""
        return self.primitive_names or (self.column,)


def decompose_measures(
    question: Query, builder: PrimitiveBuilder, policy: Policy, *, prefix: str = ""
) -> tuple[dict[str, Primitive], list[DecomposedMeasure]]:
    """Return the distinct primitives of a query by name, and its measures in terms of them.

    `prefix` begins the names of the primitives.
    """
    primitives: dict[str, Primitive] = {}
    meanings: dict[tuple[object, ...], str] = {}
    columns = read_columns(question.rows)

    def use(primitive: Primitive) -> str:
        meaning = (normalize_meaning(primitive.meaning, columns), primitive.sensitivity, primitive.unit)
        name = meanings.setdefault(meaning, f"{prefix}p{len(primitives)}")
        primitives.setdefault(name, primitive)
        return name

    known: list[tuple[Aggregate, Decomposition]] = []
    decomposer = Decomposer(
        builder=builder, add_primitive=use, public_rows=_find_public_rows(question, policy), known=known
    )
    outputs: dict[str, DecomposedMeasure] = {}
    for column, measure in sorted(question.measures, key=lambda each: each[1].is_decomposed_last):
        parts = measure.decompose(decomposer)
        known.append((measure, parts))
        outputs[column.name] = DecomposedMeasure(
            column=column.name,
            measure=measure,
            primitive_names=parts.primitive_names,
            grid=parts.grid,
            public_rows=parts.public_rows,
        )
    return primitives, [outputs[column.name] for column, _ in question.measures]


def _find_public_rows(question: Query, policy: Policy) -> int | None:
    """Return the declared number of rows if each person is one row and nothing filters, joins or groups."""
    rows = question.rows
    scan = find_scans(rows)[0]
    table = policy.tables[scan.table]
    whole = rows is scan and not question.keys and table.person == "row"
    nulls = any(column.nulls for column in table.columns.values())
    return table.rows if whole and not nulls else None

"""Split a query's epsilon over its primitives, its selected values and its partition selection.

Rule        every primitive, every measure that selects a value, and partition selection if there is one get
            the same share. The noise of a centred sum and of its count then moves a mean by the same part of
            its range when the mean lies at an end of it, which is the worst case; so no other split has a
            smaller worst error relative to the declared ranges.
Weights     the `split` option weights columns of the SELECT around the aggregates. A column's weight is
            divided evenly over the primitives of its measures; a primitive that several columns need gets the
            largest of these weights; one that no weighted column needs gets 1. Shares are proportional to
            weights. Columns that share no primitive get epsilon in the ratio of their weights; a column that
            shares one gets at least as much, because the largest weights add up to no more than all of them.
Groups      partition selection keeps the share that the rule gives it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from discreet.core.errors import require_parameter
from discreet.core.number_checks import Real, is_real
from discreet.sql.expression_tree import find_columns
from discreet.sql.measure_decomposition import DecomposedMeasure
from discreet.sql.query import Query
from discreet.sql.refusal import format_snippet, refuse_query, suggest_names
from discreet.sql.sql_names import fold_case

GROUPS = "groups"


def split_budget(
    question: Query,
    outputs: Sequence[DecomposedMeasure],
    split: Mapping[str, Real],
    *,
    selects_partitions: bool,
) -> dict[str, Fraction]:
    """Return the share of epsilon of each charged name, and of partition selection under GROUPS."""
    weights = _compute_weights(question, outputs, split)
    chosen = Fraction(1, len(weights) + 1) if selects_partitions else Fraction(0)
    total = sum(weights.values())
    found = {name: (1 - chosen) * weight / total for name, weight in weights.items()}
    return {**found, GROUPS: chosen}


def _compute_weights(
    question: Query, outputs: Sequence[DecomposedMeasure], split: Mapping[str, Real]
) -> dict[str, Fraction]:
    paid = {output.column: output.charged_names for output in outputs}
    weighed: dict[str, Fraction] = {}
    for measures, weight in _resolve_split_weights(question, split):
        names = dict.fromkeys(name for column in measures for name in paid[column])
        for name in names:
            weighed[name] = max(weighed.get(name, Fraction(0)), weight / len(names))
    every = dict.fromkeys(name for names in paid.values() for name in names)
    return {name: weighed.get(name, Fraction(1)) for name in every}


def _resolve_split_weights(question: Query, split: Mapping[str, Real]) -> list[tuple[list[str], Fraction]]:
    """Return, for each weighted column, the measures it is computed from and its weight."""
    measures = {column.name for column, _ in question.measures}
    made_of = {
        name: [each.name for each in find_columns(expression) if each.name in measures]
        for stage in question.post_processing[:1]
        for name, expression in stage.outputs
    }
    known = {fold_case(name): names for name, names in made_of.items() if names}
    found = []
    for name, weight in split.items():
        if fold_case(name) not in known:
            refuse_query(
                f"split weighs {format_snippet(name)}, which is no measure of the question.",
                suggest_names(name, [each for each, names in made_of.items() if names]),
            )
        wanted = f"a finite number above 0 for {format_snippet(name)}"
        require_parameter(is_real(weight) and weight > 0, "ask", "split", weight, wanted)
        found.append((known[fold_case(name)], Fraction(str(weight))))
    return found

"""The error of an answer's columns before anything is released, as far as it follows from public laws.

A sum, difference or multiple of values has an error that follows from how many cells it has at most: the
numbers of declared groups, divided by the numbers of values of the keys that a group fixes. A ratio's error
depends on the data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from discreet.sql.error_intervals import ReleasedLaws, share_miss_probability, share_over_totals
from discreet.sql.error_laws import (
    NumberedTerm,
    cut_pieces,
    find_equal_half_widths,
    find_half_widths,
    group_terms,
)
from discreet.sql.error_plan import ColumnError
from discreet.sql.noisy_regions import count_most_cells
from discreet.sql.noisy_values import Linear, Term
from discreet.sql.released_schema import ReleasedSchema

KEEPING_STEPS = frozenset({"shift", "abs"})  # which move ends by no more than their argument moved


def bound_column_error(
    column: ColumnError, schemas: Sequence[ReleasedSchema], confidence: float
) -> float | None:
    """Return the most by which a computed column's interval extends from its value; None if it depends."""
    known = {each.name: each for each in schemas}
    tables = {table for product in column.bound for table in product}
    tables |= {term.source[0] for term in column.list_terms() if not term.is_rounding}
    rows = {name: known[name].row_count for name in tables}
    if not column.parts or any(count is None for count in rows.values()):
        return None
    counts = {name: count for name, count in rows.items() if count is not None}
    laws = ReleasedLaws.from_schemas(schemas, counts)
    beta = laws.share_of_look(column, 1 - confidence)
    share = share_miss_probability(column, laws, beta) / len(column.parts)
    if column.was_shown:
        share = share_over_totals(column, laws, beta)
    total, factor = 0.0, Fraction(1)
    for step in column.steps:
        if step.name == "scale":
            factor *= step.arguments[0]
        elif step.name not in KEEPING_STEPS:
            return None
    for part in column.parts:
        if not isinstance(part, Linear) or any(not isinstance(t.weight, Fraction) for t in part.terms):
            return None
        bound = _bound_shown_error if column.was_shown else _bound_linear_error
        total += bound(part, known, laws, share)
    return float(abs(factor)) * total


def _bound_linear_error(
    part: Linear, schemas: Mapping[str, ReleasedSchema], laws: ReleasedLaws, beta: float
) -> float:
    rounding = 0.0
    numbered = []
    for term in part.terms:
        cells = _count_most(term, schemas)
        assert isinstance(term.weight, Fraction)
        if term.is_rounding:
            rounding += float(abs(term.weight)) * cells
        else:
            weight = np.array([float(term.weight)])
            numbered.append(NumberedTerm(term=term, weights=(weight,), counts=np.array([float(cells)])))
    groups, half = group_terms(numbered), rounding
    for group in groups:
        pieces = cut_pieces(group)
        # a piece has at most all cells of its region: more independent terms never narrow a sum
        most = np.array([each.counts for each in group])
        half += float(find_half_widths(replace(pieces, counts=most), laws.noises, beta / len(groups))[0])
    return half


def _bound_shown_error(
    part: Linear, schemas: Mapping[str, ReleasedSchema], laws: ReleasedLaws, share: float
) -> float:
    half = 0.0
    for term in part.terms:
        assert isinstance(term.weight, Fraction)
        cells, weight = _count_most(term, schemas), float(abs(term.weight))
        width = float(cells)
        if not term.is_rounding:
            counts = np.array([1.0, float(cells)])
            one, total = find_equal_half_widths(laws.noises[term.source], counts, share).tolist()
            is_total = term.region.is_subcube and term.source[0] not in laws.chosen_tables
            width = min(cells * one, total) if is_total else cells * one
        half += weight * width
    return half


def _count_most(term: Term, schemas: Mapping[str, ReleasedSchema]) -> int:
    if isinstance(term.count, Fraction):
        return int(term.count)
    if term.is_rounding:
        return max((each.row_count or 0) for each in schemas.values())
    schema = schemas[term.source[0]]
    assert schema.row_count is not None
    return count_most_cells(term.region, schema.row_count, schema.key_sizes)

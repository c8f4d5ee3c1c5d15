"""Intervals of an answer's columns, from the result of its error plan (`sql.error_plan`).

Share of a miss   per_row: the stated probability beta, for every row. all_rows: so much for each candidate
                  that all hold together with 1 - beta: of independent cells 1 - (1 - beta)**(1/n), else
                  beta / n, for at most n candidates.
Shown before      what is computed from cells that were seen was chosen after they were seen. So totals
                  over all cells that agree in some keys, single cells among them, are bounded at once, each
                  at beta / n of n such totals; anything else has the range of its form over these bounds.
Unbounded         a ratio whose denominator may be 0 has no ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import pyarrow as pa
from sqlglot import exp

from discreet.mechanisms.linear_combinations import LinearCombination
from discreet.mechanisms.noise_laws import Floats
from discreet.mechanisms.simultaneous_bounds import split_miss_probability
from discreet.sql.error_laws import (
    Ends,
    Noises,
    NumberedTerm,
    cut_pieces,
    divide_intervals,
    find_equal_half_widths,
    find_half_widths,
    find_ratio_ends,
    group_terms,
)
from discreet.sql.error_plan import ALL_ROWS, ColumnError, ErrorPlan
from discreet.sql.monotone_functions import apply_function
from discreet.sql.noisy_values import Linear, Number, Part, Ratio, Term
from discreet.sql.released_schema import ReleasedSchema
from discreet.sql.releases import IntervalBounds
from discreet.sql.repeated_looks import share_of_look


@dataclass(frozen=True, kw_only=True)
class ReleasedLaws:
    """The public laws behind released tables: the noise of each primitive, and numbers of rows."""

    noises: Noises
    row_counts: Mapping[str, int]
    """By table, the rows, or the cells among which these may have been chosen."""
    key_counts: Mapping[str, int]
    looks: Mapping[tuple[str, str], frozenset[int]]
    chosen_tables: frozenset[str] = frozenset()
    """The tables whose rows may be any cells of a measurement that was shown."""

    @classmethod
    def from_schemas(cls, schemas: Sequence[ReleasedSchema], row_counts: Mapping[str, int]) -> ReleasedLaws:
        """Return the laws of released tables that have so many rows."""
        noises = {(each.name, name): law for each in schemas for name, law in each.noises.items()}
        candidates = {each.name: max(row_counts.get(each.name, 0), each.shown_cells) for each in schemas}
        return cls(
            noises=noises,
            row_counts={**row_counts, **candidates},
            key_counts={each.name: len(each.keys) for each in schemas},
            looks={(each.name, name): own for each in schemas for name, own in each.looks.items()},
            chosen_tables=frozenset(each.name for each in schemas if each.has_chosen_cells),
        )

    def share_of_look(self, column: ColumnError, beta: float) -> float:
        """Return the miss probability of a column whose values may be computed from means."""
        looks = [self.looks.get(term.source, frozenset()) for term in column.list_terms()]
        return share_of_look(beta, frozenset[int]().union(*looks))

    @property
    def total_counts(self) -> dict[str, int]:
        """By table, the most totals over cells that agree in some keys: those of each choice of keys."""
        return {name: max(1, rows) << self.key_counts[name] for name, rows in self.row_counts.items()}

    def bound_candidates(self, column: ColumnError) -> int:
        """Return the most rows that there can be before any selection."""
        sizes = [prod(self.row_counts[name] for name in tables) for tables in column.bound]
        return max(1, sum(sizes))


def compute_intervals(
    plan: ErrorPlan, table: pa.Table, laws: ReleasedLaws, confidence: float
) -> dict[str, IntervalBounds]:
    """Return the ends of each column's intervals; None where a row has none."""
    found: dict[str, IntervalBounds] = {}
    for column in plan.columns:
        if not column.has_interval:
            continue
        if column.ends is not None:
            low, high = (_to_floats(table[name]) for name in column.ends)
        else:
            low, high = compute_column_ends(column, table, laws, 1 - confidence)
        shown = table[column.name]
        hidden = np.asarray(shown.is_null(nan_is_null=pa.types.is_floating(shown.type)))
        is_known = np.isfinite(low) & np.isfinite(high)
        if column.measure is None:
            is_known &= ~hidden
        found[column.name] = (_to_list(low, is_known), _to_list(high, is_known))
    return found


def hide_companions(plan: ErrorPlan, table: pa.Table) -> pa.Table:
    """Return the answer's own columns."""
    return table.select([name for name in table.column_names if name not in plan.companions])


def _to_list(
    numbers: Floats, is_known: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
) -> list[float | None]:
    listed: list[float | None] = numbers.tolist()
    for place in np.flatnonzero(~is_known).tolist():
        listed[place] = None
    return listed


def _to_floats(column: pa.ChunkedArray) -> Floats:
    return np.asarray(column.cast(pa.float64()).to_numpy(), dtype=np.float64)


def share_miss_probability(column: ColumnError, laws: ReleasedLaws, beta: float) -> float:
    """Return the miss probability of one candidate."""
    if column.interval_kind != ALL_ROWS:
        return beta
    if column.single_table is not None:
        return split_miss_probability(beta, max(1, laws.row_counts[column.single_table]))
    return beta / laws.bound_candidates(column)


def compute_column_ends(column: ColumnError, table: pa.Table, laws: ReleasedLaws, beta: float) -> Ends:
    """Return the ends of a column's intervals, from the parts of its values."""
    low, high = np.zeros(table.num_rows), np.zeros(table.num_rows)
    beta = laws.share_of_look(column, beta)
    share = share_miss_probability(column, laws, beta) / len(column.parts)
    for part in column.parts:
        if column.was_shown:
            ends = _find_box_ends(part, column, table, laws, beta)
        elif isinstance(part, Linear):
            ends = _surround(part, table, _find_linear_widths(part, table, laws, share))
        else:
            ends = _find_ratio_part_ends(part, table, laws, share)
        low, high = low + ends[0], high + ends[1]
    for step in column.steps:
        low, high = apply_function(step.name, step.arguments, (low, high))
    return low, high


def _read(number: Number, table: pa.Table) -> Floats:
    if isinstance(number, exp.Expression):
        return _to_floats(table[number.name])
    return np.full(table.num_rows, float(number))


def _number_terms(terms: Sequence[Term], table: pa.Table, form: int, forms: int) -> list[NumberedTerm]:
    zeros = np.zeros(table.num_rows)
    numbered = []
    for term in terms:
        weight = _read(term.weight, table)
        weights = tuple(weight if place == form else zeros for place in range(forms))
        numbered.append(NumberedTerm(term=term, weights=weights, counts=_read(term.count, table)))
    return numbered


def _surround(part: Linear, table: pa.Table, half: Floats) -> Ends:
    value = _read(part.value, table)
    return value - half, value + half


def _find_linear_widths(part: Linear, table: pa.Table, laws: ReleasedLaws, beta: float) -> Floats:
    half = _add_rounding(part, table)
    groups = group_terms(_number_terms([t for t in part.terms if not t.is_rounding], table, 0, 1))
    for group in groups:
        half = half + find_half_widths(cut_pieces(group), laws.noises, beta / len(groups))
    return half


def _add_rounding(part: Linear, table: pa.Table) -> Floats:
    half = np.zeros(table.num_rows)
    for term in part.terms:
        if term.is_rounding:
            half += np.abs(_read(term.weight, table)) * _read(term.count, table)
    return half


def _find_ratio_part_ends(part: Ratio, table: pa.Table, laws: ReleasedLaws, beta: float) -> Ends:
    tops, bottoms = (_read(each.value, table) for each in (part.top, part.bottom))
    terms = [*_number_terms(part.top.terms, table, 0, 2), *_number_terms(part.bottom.terms, table, 1, 2)]
    ends = None
    if terms and not any(each.term.is_rounding for each in terms):
        groups = group_terms(terms)
        if len(groups) == 1:
            ends = find_ratio_ends(cut_pieces(groups[0]), tops, bottoms, laws.noises, beta, part.limits)
    if ends is None:
        ends = divide_intervals(
            *(
                _surround(each, table, _find_linear_widths(each, table, laws, beta / 2))
                for each in (part.top, part.bottom)
            )
        )
        ends = np.maximum(ends[0], part.limits[0]), np.minimum(ends[1], part.limits[1])
    return _scale_ratio(part, table, ends)


def _scale_ratio(part: Ratio, table: pa.Table, ends: Ends) -> Ends:
    scale, offset = _read(part.scale, table), _read(part.offset, table)
    with np.errstate(invalid="ignore"):
        scaled = [end * scale + offset for end in ends]
    return np.minimum(*scaled), np.maximum(*scaled)


# -- Cells that were shown before ---------------------------------------------------------------------------


def _find_box_ends(part: Part, column: ColumnError, table: pa.Table, laws: ReleasedLaws, beta: float) -> Ends:
    """Return the range of a part over the box that all totals of all its primitives are in."""
    share = share_over_totals(column, laws, beta)
    if isinstance(part, Linear):
        return _surround(part, table, _find_box_widths(part, table, laws, share))
    ends = divide_intervals(
        *(
            _surround(each, table, _find_box_widths(each, table, laws, share))
            for each in (part.top, part.bottom)
        )
    )
    ends = np.maximum(ends[0], part.limits[0]), np.minimum(ends[1], part.limits[1])
    return _scale_ratio(part, table, ends)


def share_over_totals(column: ColumnError, laws: ReleasedLaws, beta: float) -> float:
    """Return the miss probability of each total over cells that agree in some keys."""
    sources = {term.source for term in column.list_terms() if not term.is_rounding}
    return beta / max(1, sum(laws.total_counts[source[0]] for source in sources))


def _find_box_widths(part: Linear, table: pa.Table, laws: ReleasedLaws, share: float) -> Floats:
    """Return Σ |w| h over terms: h of a total over cells that agree in some keys, else of its cells."""
    half = _add_rounding(part, table)
    for term in part.terms:
        if term.is_rounding:
            continue
        weight, count = np.abs(_read(term.weight, table)), _read(term.count, table)
        noise = laws.noises[term.source]
        width = count * find_cell_half_width(noise, share)
        if term.region.is_subcube and term.source[0] not in laws.chosen_tables:
            known = np.where(np.isfinite(count), count, 0.0)
            width = np.minimum(width, find_equal_half_widths(noise, known, share))
        half = half + weight * width
    return half


def find_cell_half_width(noise: LinearCombination, share: float) -> float:
    """Return the half-width of one cell's noise."""
    return float(find_equal_half_widths(noise, np.array([1.0]), share)[0])

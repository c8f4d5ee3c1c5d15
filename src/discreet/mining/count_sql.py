"""Counting SQL over a table of the prepared store, one statement per count.

Rows        where a person is a column, the first `max_rows_per_person` rows of each by the store's rank, as
            for a question.
Bins        of a number or a date: its place between the cuts, by a division where they are equally wide, else
            by halving. NULL and a category stand for themselves, since the store keeps it as one of the
            declared values.
Nodes       nested conditions on the stored values, and so are scores: neither waits for a bin.
Sets        GROUPING SETS, so that all marginals of a level come from one pass over the rows, which nothing
            keeps: ten million rows take no more memory than one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction

from discreet.core.sql_quoting import quote_identifier
from discreet.mechanisms.sampling import Integers
from discreet.mining.additive_model import GRID, MAX_SCORE, SCORE_STEPS, Scores, round_to_grid
from discreet.mining.attributes import Attribute, Cut
from discreet.mining.decision_tree import Level, Splits
from discreet.mining.schema import Schema
from discreet.sql.expression_sql import format_literal
from discreet.sql.relational_algebra import RANK

NODE, SET, COUNT = "node", "which", "n"


@dataclass(frozen=True, kw_only=True)
class RowSelection:
    """The selected rows of a table, with the attributes as `c0`, `c1`, …"""

    table: str
    attributes: tuple[Attribute, ...]
    max_rows_per_person: int | None
    with_target: bool = False
    leaves_out_missing: bool = False

    def write_sql(self, *more: str) -> str:
        """Return the SELECT; `more` are further expressions over the stored columns."""
        bins = [
            f"{_write_bin(each)} AS {get_column_name(place)}" for place, each in enumerate(self.attributes)
        ]
        kept = (
            [f"{quote_identifier(RANK)} <= {self.max_rows_per_person}"]
            if self.max_rows_per_person is not None
            else []
        )
        if self.with_target:
            kept.append(f"{quote_identifier(self.attributes[-1].name)} IS NOT NULL")
        if self.leaves_out_missing:
            complete = [each.name for each in self.attributes if not each.has_missing_bin]
            kept += [f"{quote_identifier(name)} IS NOT NULL" for name in complete]
        where = f" WHERE {' AND '.join(kept)}" if kept else ""
        return f"SELECT {', '.join([*bins, *more])} FROM {quote_identifier(self.table)}{where}"


def get_column_name(place: int) -> str:
    return f"c{place}"


def write_set_counts(rows: RowSelection, sets: Sequence[tuple[int, ...]]) -> str:
    """Return the SQL that counts each combination of bins, for every set of attributes."""
    keys = [get_column_name(place) for place in range(len(rows.attributes))]
    groups = ", ".join(f"({', '.join(keys[place] for place in each)})" for each in sets)
    chosen = ", ".join([*keys, f"GROUPING({', '.join(keys)}) AS {SET}", f"count(*) AS {COUNT}"])
    return f"SELECT {chosen} FROM ({rows.write_sql()}) AS r GROUP BY GROUPING SETS ({groups})"


def write_node_counts(rows: RowSelection, splits: Splits, *, cells: bool) -> str:
    """Return the SQL that counts rows by node and target; with `cells`, by bin of every attribute too."""
    *features, target = (get_column_name(place) for place in range(len(rows.attributes)))
    placed = rows.write_sql(f"{_write_node(splits.levels, rows.attributes, 0, 0)} AS {NODE}")
    if not cells:
        return f"SELECT {NODE}, {target}, count(*) AS {COUNT} FROM ({placed}) AS r GROUP BY {NODE}, {target}"
    groups = ", ".join(f"({NODE}, {target}, {each})" for each in features)
    told = f"GROUPING({', '.join(features)}) AS {SET}, count(*) AS {COUNT}"
    chosen = ", ".join([NODE, target, *features, told])
    return f"SELECT {chosen} FROM ({placed}) AS r GROUP BY GROUPING SETS ({groups})"


def write_residual_sums(rows: RowSelection, schema: Schema, scores: Scores) -> str:
    """Return the SQL that sums the residuals of every output by bin, for every attribute."""
    *features, target = (get_column_name(place) for place in range(len(rows.attributes)))
    wide = len(scores.table)
    totals = [
        " + ".join([str(start), *_write_scores(schema, table)])
        for start, table in zip(
            *(round_to_grid(each) for each in (scores.intercepts, scores.table)), strict=True
        )
    ]
    most = round_to_grid(MAX_SCORE)
    # bounded, so that no sum of scores overflows and exp() stays finite
    bounded = [f"greatest(-{most}, least({most}, {each})) AS s{k}" for k, each in enumerate(totals)]
    wrong = [
        f"{_write_class_indicator(rows.attributes[-1], target, k, wide)} - {_write_probability(k, wide)}"
        for k in range(wide)
    ]
    apart = ", ".join(f"CAST(trunc({GRID} * ({each})) AS BIGINT) AS d{k}" for k, each in enumerate(wrong))
    groups = ", ".join(f"({each})" for each in features)
    sums = [f"CAST(sum(d{k}) AS BIGINT) AS {get_sum_name(k)}" for k in range(wide)]
    chosen = ", ".join([*features, f"GROUPING({', '.join(features)}) AS {SET}", *sums])
    rows_apart = f"SELECT *, {apart} FROM ({rows.write_sql(*bounded)}) AS s"
    return f"SELECT {chosen} FROM ({rows_apart}) AS d GROUP BY GROUPING SETS ({groups})"


def get_sum_name(output: int) -> str:
    return f"sum{output}"


def _write_scores(schema: Schema, table: Integers) -> list[str]:
    """Return the SQL of each attribute's score, leaving out those that are all 0."""
    found = []
    for j, attribute in enumerate(schema.attributes):
        values = table[schema.offsets[j] : schema.offsets[j + 1]].tolist()
        if any(values):
            found.append(_write_lookup(attribute, values))
    return found


def _write_lookup(attribute: Attribute, values: list[int]) -> str:
    name, missing = quote_identifier(attribute.name), values[attribute.missing_bin]
    if not attribute.values:
        starts = [k for k in range(1, attribute.regular_bins) if values[k] != values[k - 1]]
        limits = [_write_cut(attribute, attribute.cuts[k - 1]) for k in starts]
        stepped = _write_binary_search(name, limits, [values[0], *(values[k] for k in starts)])
        return f"CASE WHEN {name} IS NULL THEN {missing} ELSE {stepped} END"
    arms = [
        f"WHEN {_write_value(attribute, place)} THEN {value}"
        for place, value in enumerate(values[: attribute.regular_bins])
    ]
    return f"CASE {name} {' '.join(arms)} ELSE {missing} END"


def _write_class_indicator(target: Attribute, name: str, output: int, outputs: int) -> str:
    place = 1 if outputs == 1 else output
    return f"CASE WHEN {name} = {_write_value(target, place)} THEN 1 ELSE 0 END"


def _write_probability(output: int, outputs: int) -> str:
    if outputs == 1:
        return f"1 / (1 + {_write_exponential('-s0')})"
    return f"1 / ({' + '.join(_write_exponential(f's{k} - s{output}') for k in range(outputs))})"


def _write_exponential(steps: str) -> str:
    return f"exp(CAST({steps} AS DOUBLE) / {SCORE_STEPS})"


def compute_grouping_mask(places: Sequence[int], column_count: int) -> int:
    """Return the GROUPING value of a set: a bit for every key that is absent, the first key's highest."""
    return sum(1 << (column_count - 1 - place) for place in range(column_count) if place not in places)


def _write_bin(attribute: Attribute) -> str:
    name = quote_identifier(attribute.name)
    if attribute.values:
        return name
    wide = _find_equal_width(attribute)
    if wide is not None:
        low, reach = wide
        return f"({name} - {low}) * {attribute.regular_bins} // {reach}"
    # uneven bins: a search, whose depth is the logarithm of their number
    limits = [_write_cut(attribute, cut) for cut in attribute.cuts]
    found = _write_binary_search(name, limits, range(attribute.regular_bins))
    return f"CASE WHEN {name} IS NOT NULL THEN {found} END"


def _find_equal_width(attribute: Attribute) -> tuple[int, int] | None:
    """Return the lowest step and the number of steps, if bins follow by division without overflow."""
    if attribute.step is None or attribute.bounds is None:
        return None
    low, high = (int(end / attribute.step) for end in attribute.bounds if isinstance(end, Fraction))
    reach, bins = high - low + 1, attribute.regular_bins
    even = tuple(attribute.step * (low + -(-reach * k // bins)) for k in range(1, bins))
    return (low, reach) if even == attribute.cuts and reach * bins < 2**62 else None


def _write_cut(attribute: Attribute, cut: Cut) -> str:
    """Return a cut as the store keeps the column: in steps, or as a date."""
    if isinstance(cut, date):
        return format_literal(cut)
    steps = cut / (attribute.step or Fraction(1))
    return str(steps.numerator) if steps.denominator == 1 else repr(float(steps))


def _write_binary_search(name: str, limits: Sequence[str], values: Sequence[int]) -> str:
    """Return a binary search in SQL: the first value below the first limit, and so on."""
    if not limits:
        return str(values[0])
    middle = len(limits) // 2
    below = _write_binary_search(name, limits[:middle], values[: middle + 1])
    above = _write_binary_search(name, limits[middle + 1 :], values[middle + 1 :])
    return f"CASE WHEN {name} < {limits[middle]} THEN {below} ELSE {above} END"


def _write_node(levels: Sequence[Level], attributes: Sequence[Attribute], depth: int, node: int) -> str:
    if depth == len(levels):
        return str(node)
    split = levels[depth][node]
    attribute = attributes[split.attribute]
    first, second = (_write_node(levels, attributes, depth + 1, 2 * node + side) for side in (0, 1))
    if len(split.first) == attribute.bins:
        return first
    return f"CASE WHEN {_write_split_condition(attribute, split.first)} THEN {first} ELSE {second} END"


def _write_split_condition(attribute: Attribute, bins: frozenset[int]) -> str:
    """Return the condition that a stored value is in one of these bins; NULL counts as false."""
    name = quote_identifier(attribute.name)
    if attribute.values:
        words = [_write_value(attribute, place) for place in sorted(bins) if place < attribute.regular_bins]
        parts = [f"{name} IN ({', '.join(words)})"] if words else []
    else:
        assert bins == frozenset(range(len(bins))), "an ordered attribute is divided at a cut"
        whole = len(bins) == attribute.regular_bins
        limit = "IS NOT NULL" if whole else f"< {_write_cut(attribute, attribute.cuts[len(bins) - 1])}"
        parts = [f"{name} {limit}"]
    return " OR ".join([*parts, *([f"{name} IS NULL"] if attribute.missing_bin in bins else [])])


def _write_value(attribute: Attribute, place: int) -> str:
    text = attribute.values[place]
    return text if attribute.kind == "boolean" else format_literal(text)

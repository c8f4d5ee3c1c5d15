"""Counting as SQL over a table of the prepared store: one statement, whatever is counted.

Rows        where a person is a column, the first `most` rows of each by the store's rank, as for a question.
Bins        of a number or a date: its place between the cuts, by halving. A category stands for itself, since
            the store keeps it as one of the declared values or NULL.
Nodes       nested conditions on bins.
Sets        GROUPING SETS, so that all marginals of a level come from one pass over the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction

from discreet.mechanisms.sampling import Floats
from discreet.mining.schema import Attribute, Cut, Schema
from discreet.mining.scores import FURTHEST, GRID, Scores
from discreet.mining.splits import Level, Splits
from discreet.sql.emit import literal, quoted
from discreet.sql.tree import RANK

NODE, SET, COUNT = "node", "which", "n"


@dataclass(frozen=True, kw_only=True)
class Rows:
    """The rows of a table that are counted, each attribute as `c0`, `c1`, …"""

    table: str
    attributes: tuple[Attribute, ...]
    most: int | None
    with_target: bool = False

    def sql(self) -> str:
        columns = ", ".join(f"{_bin(each)} AS {key(place)}" for place, each in enumerate(self.attributes))
        kept = [f"{quoted(RANK)} <= {self.most}"] if self.most is not None else []
        if self.with_target:
            kept.append(f"{quoted(self.attributes[-1].name)} IS NOT NULL")
        where = f" WHERE {' AND '.join(kept)}" if kept else ""
        return f"SELECT {columns} FROM {quoted(self.table)}{where}"


def key(place: int) -> str:
    return f"c{place}"


def count_sets(rows: Rows, sets: Sequence[tuple[int, ...]]) -> str:
    """How many rows have each combination of bins, for every set of attributes."""
    keys = [key(place) for place in range(len(rows.attributes))]
    groups = ", ".join(f"({', '.join(keys[place] for place in each)})" for each in sets)
    chosen = ", ".join([*keys, f"GROUPING({', '.join(keys)}) AS {SET}", f"count(*) AS {COUNT}"])
    return f"SELECT {chosen} FROM ({rows.sql()}) AS r GROUP BY GROUPING SETS ({groups})"


def count_nodes(rows: Rows, splits: Splits, *, cells: bool) -> str:
    """How many rows each node has, by target; with `cells`, by bin as well, for every attribute."""
    *features, target = (key(place) for place in range(len(rows.attributes)))
    node = _node(splits.levels, rows.attributes, 0, 0)
    placed = f"SELECT *, {node} AS {NODE} FROM ({rows.sql()}) AS r"
    if not cells:
        return f"SELECT {NODE}, {target}, count(*) AS {COUNT} FROM ({placed}) AS p GROUP BY {NODE}, {target}"
    groups = ", ".join(f"({NODE}, {target}, {each})" for each in features)
    told = f"GROUPING({', '.join(features)}) AS {SET}, count(*) AS {COUNT}"
    chosen = ", ".join([NODE, target, *features, told])
    return f"SELECT {chosen} FROM ({placed}) AS p GROUP BY GROUPING SETS ({groups})"


def sum_residuals(rows: Rows, schema: Schema, scores: Scores) -> str:
    """The residuals of every output, summed by bin, for every attribute."""
    *features, target = (key(place) for place in range(len(rows.attributes)))
    wide = len(scores.table)
    totals = [
        " + ".join([repr(float(scores.beforehand[k])), *_scores(schema, scores.table[k])])
        for k in range(wide)
    ]
    bounded = [f"greatest({-FURTHEST}, least({FURTHEST}, {each})) AS s{k}" for k, each in enumerate(totals)]
    scored = f"SELECT *, {', '.join(bounded)} FROM ({rows.sql()}) AS r"
    apart = ", ".join(
        f"CAST(trunc({GRID} * ({_own(rows.attributes[-1], target, k, wide)} - {_probability(k, wide)})) "
        f"AS BIGINT) AS d{k}"
        for k in range(wide)
    )
    groups = ", ".join(f"({each})" for each in features)
    sums = [f"CAST(sum(d{k}) AS BIGINT) AS {sum_of(k)}" for k in range(wide)]
    chosen = ", ".join([*features, f"GROUPING({', '.join(features)}) AS {SET}", *sums])
    rows_apart = f"SELECT *, {apart} FROM ({scored}) AS s"
    return f"SELECT {chosen} FROM ({rows_apart}) AS d GROUP BY GROUPING SETS ({groups})"


def sum_of(output: int) -> str:
    return f"sum{output}"


def _scores(schema: Schema, table: Floats) -> list[str]:
    """The score of each attribute's bin, those without any left out."""
    found = []
    for j, attribute in enumerate(schema.attributes):
        values = table[schema.offsets[j] : schema.offsets[j + 1]].tolist()
        if any(values):
            found.append(_looked_up(key(j), attribute, values))
    return found


def _looked_up(name: str, attribute: Attribute, values: list[float]) -> str:
    if attribute.ordered:
        starts = [k for k in range(1, len(values)) if values[k] != values[k - 1]]
        return _stepped(name, starts, [values[0], *(values[k] for k in starts)])
    arms = [
        f"WHEN {_value(attribute, place)} THEN {value!r}"
        for place, value in enumerate(values[: attribute.regular])
    ]
    return f"CASE {name} {' '.join(arms)} ELSE {values[attribute.nowhere]!r} END"


def _stepped(name: str, starts: list[int], values: list[float]) -> str:
    if not starts:
        return repr(values[0])
    middle = len(starts) // 2
    below = _stepped(name, starts[:middle], values[: middle + 1])
    above = _stepped(name, starts[middle + 1 :], values[middle + 1 :])
    return f"CASE WHEN {name} < {starts[middle]} THEN {below} ELSE {above} END"


def _own(target: Attribute, name: str, output: int, wide: int) -> str:
    place = 1 if wide == 1 else output
    return f"CASE WHEN {name} = {_value(target, place)} THEN 1 ELSE 0 END"


def _probability(output: int, wide: int) -> str:
    if wide == 1:
        return "1 / (1 + exp(-s0))"
    return f"1 / ({' + '.join(f'exp(s{k} - s{output})' for k in range(wide))})"


def mask(places: Sequence[int], number: int) -> int:
    """What GROUPING says of a set: a bit for every key that is not in it, the first key's the highest."""
    return sum(1 << (number - 1 - place) for place in range(number) if place not in places)


def _bin(attribute: Attribute) -> str:
    name = quoted(attribute.name)
    if attribute.values:
        return name
    limits = [_limit(attribute, cut) for cut in attribute.cuts]
    return f"CASE WHEN {name} IS NULL THEN {attribute.nowhere} ELSE {_halved(name, limits, 0)} END"


def _limit(attribute: Attribute, cut: Cut) -> str:
    """A cut as the store keeps the column: in steps, or as a date."""
    if isinstance(cut, date):
        return literal(cut)
    steps = cut / (attribute.step or Fraction(1))
    return str(steps.numerator) if steps.denominator == 1 else repr(float(steps))


def _halved(name: str, limits: list[str], first: int) -> str:
    if not limits:
        return str(first)
    middle = len(limits) // 2
    below, above = limits[:middle], limits[middle + 1 :]
    return (
        f"CASE WHEN {name} < {limits[middle]} THEN {_halved(name, below, first)} "
        f"ELSE {_halved(name, above, first + middle + 1)} END"
    )


def _node(levels: Sequence[Level], attributes: Sequence[Attribute], depth: int, node: int) -> str:
    if depth == len(levels):
        return str(node)
    split = levels[depth][node]
    condition = in_bins(key(split.attribute), attributes[split.attribute], split.first)
    first, second = (_node(levels, attributes, depth + 1, 2 * node + side) for side in (0, 1))
    return f"CASE WHEN {condition} THEN {first} ELSE {second} END"


def in_bins(name: str, attribute: Attribute, bins: frozenset[int]) -> str:
    """Whether a row's bin is one of these; NULL counts as no."""
    if not attribute.values:
        return f"{name} IN ({', '.join(map(str, sorted(bins)))})"
    words = [_value(attribute, place) for place in sorted(bins) if place < attribute.regular]
    parts = [f"{name} IN ({', '.join(words)})"] if words else []
    return " OR ".join([*parts, *([f"{name} IS NULL"] if attribute.nowhere in bins else [])])


def _value(attribute: Attribute, place: int) -> str:
    text = attribute.values[place]
    return text if attribute.kind == "boolean" else literal(text)

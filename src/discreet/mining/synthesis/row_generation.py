"""Row generation: rows from a model, with rounded instead of independently drawn counts.

Columns     one after the other, clique by clique. Rows that agree on the columns of the clique so far are
            a group; the model says how a group of k rows divides among the bins of the next column.
Rounding    with c_0, c_1, ... the cumulated expected counts of a group and u uniform in [0, 1), bin j gets
            floor(c_j + u) - floor(c_(j-1) + u) rows: the expected count on average, never one or more off,
            and so for every run of bins. Independent draws would be off by the square root of the count.
            Which rows of the group get which bin is drawn uniformly.
Impossible  a bin that the model excludes gets no row.
Values      are declared ones, or lie within declared bounds: a number or a date is drawn uniformly among the
            steps of its bin (days, for a date), a category is its bin's value, and the bin of
            missing values shows nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date

import numpy as np
import pyarrow as pa

from discreet.core.column_entry import Column, ColumnType
from discreet.core.randomness import Randomness
from discreet.mechanisms.sampling import UNIT, Booleans, Floats, Integers
from discreet.mining.attributes import Attribute
from discreet.mining.schema import Schema
from discreet.mining.synthesis.graphical_model import GraphicalModel
from discreet.mining.synthesis.junction_tree import contract_tables
from discreet.mining.tabulation.cells import Columns

EPOCH = date(1970, 1, 1)


def decode_rows(
    schema: Schema, columns: Mapping[str, Column], codes: Integers, random: Randomness
) -> pa.Table:
    """Return rows of bins as a table of values."""
    arrays = [
        _decode_column(each, columns[each.name], codes[:, place], random)
        for place, each in enumerate(schema.attributes)
    ]
    return pa.table(arrays, names=[each.name for each in schema.attributes])


def _decode_column(attribute: Attribute, column: Column, bins: Integers, random: Randomness) -> pa.Array:
    missing = bins >= attribute.regular_bins
    known = np.where(missing, 0, bins)
    if attribute.kind is ColumnType.BOOLEAN:
        return pa.array(known == 1, pa.bool_(), mask=missing)
    if attribute.values:
        places = pa.array(known.astype(np.int32), mask=missing)
        return pa.DictionaryArray.from_arrays(places, pa.array(attribute.values, pa.string()))
    return _build_number_array(column, _draw_steps(attribute, column, known, random), missing)


def _build_number_array(column: Column, steps: Integers, missing: Booleans) -> pa.Array:
    if column.type is ColumnType.DATE:
        return pa.array(steps.astype(np.int32), pa.int32(), mask=missing).cast(pa.date32())
    if column.type is ColumnType.INTEGER:
        return pa.array(steps, pa.int64(), mask=missing)
    numbers = steps * column.grid_step.numerator / column.grid_step.denominator
    return pa.array(numbers, pa.float64(), mask=missing)


def _draw_steps(attribute: Attribute, column: Column, bins: Integers, random: Randomness) -> Integers:
    """Return a uniform step of each row's bin."""
    low, high = (
        (_count_days(column.low), _count_days(column.high))
        if column.grid_bounds is None
        else column.grid_bounds
    )
    begins = np.array(
        [low, *(_get_first_step(attribute, place) for place in range(len(attribute.cuts)))], np.int64
    )
    widths = np.append(begins[1:], high + 1) - begins
    width = widths[bins]
    offset = (random.draw_words(len(bins)) * UNIT * width).astype(np.int64)
    return np.asarray(begins[bins] + np.minimum(offset, width - 1))


def _get_first_step(attribute: Attribute, place: int) -> int:
    """Return the first step of the bin above a cut."""
    cut = attribute.cuts[place]
    return _count_days(cut) if isinstance(cut, date) else math.ceil(cut / (attribute.step or 1))


def _count_days(day: object) -> int:
    assert isinstance(day, date)
    return (day - EPOCH).days


def generate_rows(model: GraphicalModel, rows: int, random: Randomness) -> Integers:
    """Return `rows` rows: the bin of every column."""
    codes = np.zeros((rows, len(model.tree.shape)), np.int64)
    done: list[int] = []
    for place in [0, *(joint.child for joint in model.tree.edges)]:
        clique = model.tree.cliques[place]
        for column in clique:
            if column not in done:
                given = tuple(each for each in clique if each in done)
                table = contract_tables([(model.beliefs[place], clique)], (*given, column))
                codes[:, column] = _generate_column(codes, given, model.tree.shape, table, random)
                done.append(column)
    return codes


def _generate_column(
    codes: Integers, given: Columns, shape: tuple[int, ...], table: Floats, random: Randomness
) -> Integers:
    """Return the bins of one more column, given those of the columns in `given`."""
    size = table.shape[-1]
    at = np.zeros(len(codes), np.int64)
    for each in given:
        at = at * shape[each] + codes[:, each]
    groups, counts = np.unique(at, return_counts=True)
    divided = _round_counts(table.reshape(-1, size)[groups], counts, random)
    order = np.lexsort((random.draw_words(len(codes)), at))
    drawn = np.empty(len(codes), np.int64)
    drawn[order] = np.repeat(np.tile(np.arange(size), len(groups)), divided.reshape(-1))
    return drawn


def _round_counts(weights: Floats, counts: Integers, random: Randomness) -> Integers:
    """Return each group's count divided by the weights, in whole rows."""
    cumulated = np.cumsum(weights, axis=1)
    totals = cumulated[:, -1:]
    reached = cumulated / totals * counts[:, None]
    # from the last bin that is possible on, everything is reached, whatever was rounded
    reached[cumulated >= totals] = np.broadcast_to(counts[:, None], reached.shape)[cumulated >= totals]
    offset = (random.draw_words(len(counts)) * UNIT * (1 - 2.0**-30))[:, None]
    ends = np.floor(reached + offset).astype(np.int64)
    return np.diff(ends, axis=1, prepend=0)

"""From bins to values: a synthetic value is a declared one, or lies within declared bounds.

A number or a date is drawn uniformly among the steps of its bin (days, for a date), a category is its bin's
value, and the bin of missing values shows nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date

import numpy as np
import pyarrow as pa

from discreet.core.policy import Column, ColumnType
from discreet.core.randomness import Randomness
from discreet.mechanisms.sampling import UNIT, Booleans, Integers
from discreet.mining.attributes import Attribute
from discreet.mining.schema import Schema

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

"""SQL expressions that read an engine's columns as texts, numbers and days, for attacks on rows.

Portable    every expression has a value for any column content, the same on every engine: text that is read
            as a number must match the numeral pattern (`core.numeral_patterns`), and times are in UTC.
            Unreadable cells are NULL.
Days        since 1970, of dates and times of the years 1 to 9999; or integers that count days.
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from sqlglot import exp

from discreet.core.numeral_patterns import extract_numeral_sql

DAY, DAYS = "day", "days"
WHOLE = re.compile(r"U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER")
NUMBER = re.compile(rf"{WHOLE.pattern}|FLOAT|DOUBLE|DECIMAL\(.*\)|BOOLEAN")
FIRST, LAST = "0001-01-01", "9999-12-31"


def build_text_expression(name: str) -> exp.Expr:
    """Return a column as text; empty text becomes NULL."""
    return exp.func("nullif", _cast_to_text(name), exp.Literal.string(""))


def build_number_expression(name: str, kind: str) -> exp.Expr:
    """Return a column as a number, given its type in DuckDB's notation."""
    column = exp.column(name, quoted=True)
    return _try_cast(column if NUMBER.fullmatch(kind) else _trim_numeral(name), "double")


def build_day_expressions(name: str, kind: str) -> dict[str, exp.Expr]:
    """Return a column as dates, as day numbers, or as both; `combine_days` merges them."""
    column = exp.column(name, quoted=True)
    if WHOLE.fullmatch(kind):
        return {DAYS: _try_cast(column, "bigint")}
    if kind == "DATE" or kind.startswith("TIMESTAMP"):
        return {DAY: _calendar_date(column)}
    # a text may carry a UTC offset
    return {
        DAY: _calendar_date(_try_cast(_cast_to_text(name), "timestamptz")),
        DAYS: _try_cast(_trim_numeral(name), "bigint"),
    }


def combine_days(rows: pa.Table) -> NDArray[np.int64]:
    """Return the day of each row, from whichever of the two columns holds it."""
    parts = [
        rows[name].cast(pa.int32()).cast(pa.int64()) if name == DAY else rows[name]
        for name in (DAY, DAYS)
        if name in rows.column_names
    ]
    return np.asarray(pc.coalesce(*parts).to_numpy(), np.int64)


def _calendar_date(moment: exp.Expr) -> exp.Expr:
    """Return the date of a timestamp, or NULL outside the years 1 to 9999."""
    date = exp.cast(_try_cast(moment, "timestamp"), "date")
    first, last = (exp.cast(exp.Literal.string(each), "date") for each in (FIRST, LAST))
    return exp.case().when(date.between(first, last), date.copy())


def _cast_to_text(name: str) -> exp.Expr:
    return exp.cast(exp.column(name, quoted=True), "text")


def _trim_numeral(name: str) -> exp.Expr:
    return exp.maybe_parse(extract_numeral_sql(_cast_to_text(name).sql(dialect="duckdb")), dialect="duckdb")


def _try_cast(value: exp.Expr, kind: str) -> exp.Expr:
    return exp.TryCast(this=value, to=exp.DataType.build(kind))

"""Columns of an engine's tables as texts, numbers and days: what attacks on rows compare, in SQL.

Alike       every expression has a value for whatever a column holds, the same on every engine: text that is
            read as a number is a numeral (`core.numerals`), and times are UTC's. What cannot be read is NULL.
Days        since 1970, of dates and times of the years 1 to 9999; or whole numbers that count days.
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


def text_in(name: str) -> exp.Expr:
    """A column as text; an empty one says nothing."""
    return exp.func("nullif", _text(name), exp.Literal.string(""))


def number_in(name: str, kind: str) -> exp.Expr:
    """A column as a number, by the type that it has as DuckDB calls it."""
    column = exp.column(name, quoted=True)
    return _tried(column if NUMBER.fullmatch(kind) else _numeral(name), "double")


def days_in(name: str, kind: str) -> dict[str, exp.Expr]:
    """A column as dates, as numbers of days, or as either; `days_of` puts them together."""
    column = exp.column(name, quoted=True)
    if WHOLE.fullmatch(kind):
        return {DAYS: _tried(column, "bigint")}
    if kind == "DATE" or kind.startswith("TIMESTAMP"):
        return {DAY: _of_calendar(column)}
    # a text may tell how far from UTC its time is
    return {
        DAY: _of_calendar(_tried(_text(name), "timestamptz")),
        DAYS: _tried(_numeral(name), "bigint"),
    }


def days_of(rows: pa.Table) -> NDArray[np.int64]:
    """The days of rows that each have one."""
    parts = [
        rows[name].cast(pa.int32()).cast(pa.int64()) if name == DAY else rows[name]
        for name in (DAY, DAYS)
        if name in rows.column_names
    ]
    return np.asarray(pc.coalesce(*parts).to_numpy(), np.int64)


def _of_calendar(moment: exp.Expr) -> exp.Expr:
    """The date of a moment, unless that is beyond all calendars."""
    date = exp.cast(_tried(moment, "timestamp"), "date")
    first, last = (exp.cast(exp.Literal.string(each), "date") for each in (FIRST, LAST))
    return exp.case().when(date.between(first, last), date.copy())


def _text(name: str) -> exp.Expr:
    return exp.cast(exp.column(name, quoted=True), "text")


def _numeral(name: str) -> exp.Expr:
    return exp.maybe_parse(extract_numeral_sql(_text(name).sql(dialect="duckdb")), dialect="duckdb")


def _tried(value: exp.Expr, kind: str) -> exp.Expr:
    return exp.TryCast(this=value, to=exp.DataType.build(kind))

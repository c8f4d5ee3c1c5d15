"""The types that a policy declares for its columns, as types of expressions."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from discreet.core.column_entry import Column, ColumnType
from discreet.sql.expression_types import Family, Numeric, Type, make_number_type

FAMILIES = {
    ColumnType.INTEGER: Family.NUMBER,
    ColumnType.DECIMAL: Family.NUMBER,
    ColumnType.CATEGORY: Family.TEXT,
    ColumnType.TEXT: Family.TEXT,
    ColumnType.BOOLEAN: Family.BOOLEAN,
    ColumnType.DATE: Family.DATE,
    ColumnType.TIMESTAMP: Family.TIMESTAMP,
}


def type_from_column(column: Column) -> Type:
    """Return the type that the policy declares for a column."""
    return replace(_type_from_kind(column), is_nullable=column.nulls is not False)


def _type_from_kind(column: Column) -> Type:
    family = FAMILIES[column.type]
    if column.grid_bounds is not None:
        low, high = column.grid_bounds
        numeric = Numeric.INTEGER if column.type is ColumnType.INTEGER else Numeric.DECIMAL
        return make_number_type(
            low * column.grid_step, high * column.grid_step, column.grid_step, numeric=numeric
        )
    if column.type is ColumnType.INTEGER:
        return make_number_type(step=Fraction(1))
    if family in (Family.DATE, Family.TIMESTAMP):
        return Type(family=family, first=column.low, last=column.high)  # type: ignore[arg-type]
    return Type(family=family)

"""Hierarchies in SQL: the expression for a column's label at a level."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sqlglot import exp

from discreet.anonymity.hierarchies.generalization_hierarchy import Hierarchy
from discreet.anonymity.hierarchies.hierarchy_spec import MISSING
from discreet.core.errors import require_parameter


def hierarchy_to_sql(hierarchy: Hierarchy, level: int, column: str, dialect: str = "duckdb") -> str:
    """Return an expression for the column's label at a level; NULL for a value that is not covered."""
    holds = 0 <= level <= hierarchy.height
    require_parameter(holds, "hierarchy_to_sql", "level", level, f"from 0 to {hierarchy.height}")
    text = exp.cast(exp.column(column, quoted=True), exp.DataType.Type.TEXT)
    case = exp.Case()
    for label, values in _group_by_label(hierarchy, level):
        shown = exp.Literal.string(label) if label != MISSING else exp.null()
        case.append("ifs", exp.If(this=_build_membership_test(text, values), true=shown))
    return case.sql(dialect=dialect)


def _group_by_label(hierarchy: Hierarchy, level: int) -> Iterator[tuple[str, list[str]]]:
    """Yield each label that some value has, with those values."""
    codes = hierarchy.maps[level]
    order = np.argsort(codes, kind="stable")
    for part in np.split(order, np.flatnonzero(np.diff(codes[order])) + 1):
        if len(part):
            yield hierarchy.labels[level][codes[part[0]]], [hierarchy.values[each] for each in part.tolist()]


def _build_membership_test(text: exp.Expression, values: list[str]) -> exp.Condition:
    present = [exp.Literal.string(value) for value in values if value != MISSING]
    tests: list[exp.Expression] = [exp.In(this=text.copy(), expressions=present)] if present else []
    if MISSING in values:
        tests.append(exp.Is(this=text.copy(), expression=exp.null()))
        tests.append(exp.EQ(this=text.copy(), expression=exp.Literal.string(MISSING)))
    return exp.or_(*tests)

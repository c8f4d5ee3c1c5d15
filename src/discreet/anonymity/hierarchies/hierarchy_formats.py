"""Hierarchies in other formats: CSV files as ARX reads and writes them, Arrow tables and SQL.

In ARX's format a line is one value, then its label at level 1, level 2, …

    13053;1305*;130**;*

There is no header. The separator is the character that gives every line the same number of fields; line ends
and a byte order mark do not matter. A share is a fraction of the file's lines, including values that the data
lacks; a line that occurs twice counts twice.

In SQL a hierarchy is the expression for a column's label at a level.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from sqlglot import exp

from discreet.anonymity.hierarchies.generalization_hierarchy import MISSING, Hierarchy, build_listed_hierarchy
from discreet.core.errors import RequestError, require_parameter

SEPARATORS = ";,\t|"
PARTS_OF_LABELS = "*[]()<>=-.\"' "  # characters of labels, never taken for a separator
LARGEST_FILE = 256 * 2**20  # bytes; the file is read whole


@dataclass(frozen=True, kw_only=True)
class ListedHierarchy:
    """Rows of a value and its labels."""

    name: str
    rows: tuple[tuple[str, ...], ...]

    def build_hierarchy(self, values: Iterable[str]) -> Hierarchy:
        return build_listed_hierarchy(self, self.rows, values)

    def find_uncovered(self, values: Iterable[str]) -> tuple[str, ...]:
        return tuple(value for value in values if value not in self._covered_values)

    def list_example_values(self) -> tuple[str, ...]:
        return tuple(row[0] for row in self.rows)

    @cached_property
    def _covered_values(self) -> frozenset[str]:
        return frozenset(row[0] for row in self.rows)


def read_hierarchy_csv(name: str, path: Path) -> ListedHierarchy:
    """Read the hierarchy of a CSV file."""
    lines = _split_lines(_read_text(name, path))
    if not lines:
        raise RequestError(
            f"The hierarchy {name} is the file {path}, which is empty.",
            hint="Write one line per value: value;level 1;level 2;…",
        )
    _check_lengths(path, lines)
    _check_repeated(path, lines)
    _check_nested(path, lines)
    return ListedHierarchy(name=name, rows=tuple(row for _, row in lines))


Line = tuple[int, tuple[str, ...]]


def _read_text(name: str, path: Path) -> str:
    try:
        if path.is_file() and path.stat().st_size > LARGEST_FILE:
            raise RequestError(f"{path} is too large to be a hierarchy.", hint="Name another file.")
        return path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeError) as problem:
        reason = getattr(problem, "strerror", None) or "it is not text in UTF-8"
        raise RequestError(
            f"The hierarchy {name} is the file {path}, which cannot be read ({reason}).",
            hint="Correct its path under hierarchies in the policy.",
        ) from None


def _split_lines(text: str) -> list[Line]:
    """Return the fields of each line, split by the separator that fits all lines.

    Without such a separator, the commonest one of the first line is used.
    """
    first = text.lstrip("\r\n").partition("\n")[0].rstrip("\r")
    usual = [mark for mark in SEPARATORS if mark in first]
    others = [mark for mark in first if not mark.isalnum() and mark not in PARTS_OF_LABELS]
    for mark in usual or dict.fromkeys(others):
        lines = _split_fields(text, mark)
        if len(lines[0][1]) > 1 and len({len(row) for _, row in lines}) == 1:
            return lines
    return _split_fields(text, max(usual or list(SEPARATORS), key=first.count))


def _split_fields(text: str, separator: str) -> list[Line]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    if " " not in text:
        return [(reader.line_num, tuple(row)) for row in reader if row]
    return [(reader.line_num, tuple(map(str.strip, row))) for row in reader if row]


def _check_lengths(path: Path, lines: list[Line]) -> None:
    wanted = len(lines[0][1])
    for line, row in lines:
        if len(row) != wanted:
            raise RequestError(
                f"{path}, line {line}: it has {len(row)} fields where line {lines[0][0]} has {wanted}.",
                hint="Give every value a label at every level.",
            )


def _check_repeated(path: Path, lines: list[Line]) -> None:
    """Raise if a value is repeated with different labels."""
    if len({row for _, row in lines}) == len({row[0] for _, row in lines}):
        return
    seen: dict[str, Line] = {}
    for line, row in lines:
        first, known = seen.setdefault(row[0], (line, row))
        if known != row:
            raise RequestError(
                f"{path}, line {line}: its value is also in line {first}, with other labels.",
                hint="Keep one of the two lines.",
            )


def _check_nested(path: Path, lines: list[Line]) -> None:
    levels = list(zip(*(row for _, row in lines), strict=True))
    for level in range(1, len(levels) - 1):
        fine, coarse = levels[level], levels[level + 1]
        if len(set(zip(fine, coarse, strict=True))) == len(set(fine)):
            continue
        above: dict[str, tuple[str, int]] = {}
        for (line, _), label, over in zip(lines, fine, coarse, strict=True):
            known, first = above.setdefault(label, (over, line))
            if known != over:
                raise RequestError(
                    f"{path}, line {line}: {label!r} becomes {over!r} at level {level + 1}, and {known!r} in "
                    f"line {first}.",
                    hint="Give each label a single label above it, so that levels are nested.",
                )


def hierarchy_to_csv(hierarchy: Hierarchy) -> str:
    """Return the hierarchy in ARX's format: value;level 1;level 2;…"""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=";", lineterminator="\n")
    writer.writerows(list_rows(hierarchy))
    return text.getvalue()


def list_rows(hierarchy: Hierarchy) -> list[tuple[str, ...]]:
    """Return each value followed by its labels."""
    levels = [
        [labels[code] for code in codes.tolist()]
        for labels, codes in zip(hierarchy.labels, hierarchy.maps, strict=True)
    ]
    return list(zip(*levels, strict=True))


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

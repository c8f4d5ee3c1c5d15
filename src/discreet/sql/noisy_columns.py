"""The noisy columns of a query over released tables: those that measures of a core may have part in.

A column is noisy if a measure is read anywhere on the way to it. Where that cannot be told, it is. One that
shows a whole count unchanged is told from the others: negative counts are shown as 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.sql.sql_names import fold_case

if TYPE_CHECKING:
    from discreet.sql.statement_splitting import SplitStatement


class ColumnNoise(Enum):
    """The noise in a column: none, that of a count as released, or any other."""

    EXACT = "exact"
    COUNT = "count"
    OTHER = "other"


Columns = dict[str, ColumnNoise]
"""The noise in each column of a source, by its name."""


def find_column_noise(split: SplitStatement) -> Columns:
    """Return the noise in each column of an answer, as far as the text tells its columns."""
    return _NoiseFinder(split).find_columns(split.query, {})


class _NoiseFinder:
    """Finds the columns of queries in one statement."""

    def __init__(self, split: SplitStatement) -> None:
        self._tables: dict[str, Columns] = {}
        for name, core in split.cores.items():
            self._tables[name] = {column.name: ColumnNoise.EXACT for column, _ in core.keys}
            for column, measure in core.measures:
                counts = measure.is_whole_count
                self._tables[name][column.name] = ColumnNoise.COUNT if counts else ColumnNoise.OTHER
        for name, public in split.public_tables.items():
            self._tables[fold_case(name)] = dict.fromkeys(public.schema.names, ColumnNoise.EXACT)

    def find_columns(self, query: exp.Expr, visible: Mapping[str, Columns]) -> Columns:
        """Return the columns of a query; `visible` are those of common tables."""
        written = query.args.get("with_")
        for each in written.expressions if written is not None else []:
            visible = {**visible, fold_case(each.alias): self.find_columns(each.this, visible)}
        if isinstance(query, exp.Subquery):
            found = self.find_columns(query.this, visible)
            return dict.fromkeys(found, ColumnNoise.OTHER) if query.args.get("pivots") else found
        if isinstance(query, exp.SetOperation):
            left, right = (self.find_columns(each, visible) for each in (query.left, query.right))
            other = [*right.values()]
            return {
                name: noise if place < len(other) and noise is other[place] else ColumnNoise.OTHER
                for place, (name, noise) in enumerate(left.items())
            }
        return self._find_select_columns(query, visible) if isinstance(query, exp.Select) else {}

    def _find_select_columns(self, select: exp.Select, visible: Mapping[str, Columns]) -> Columns:
        first = select.args.get("from_")
        sources = [] if first is None else [first.this]
        sources += [join.this for join in select.args.get("joins") or []]
        known: Columns = {}
        for source in sources:
            for name, noise in self._find_source_columns(source, visible).items():
                known[name] = noise if known.get(name, noise) is noise else ColumnNoise.OTHER
        folded = {fold_case(name): noise for name, noise in known.items()}
        outputs: Columns = {}
        for projection in select.expressions:
            inner = projection.unalias()
            if projection.find(exp.Star, exp.Columns) is not None and not projection.alias:
                outputs |= known
            elif isinstance(inner, exp.Column):
                outputs[projection.alias_or_name] = folded.get(fold_case(inner.name), ColumnNoise.OTHER)
            else:
                reads = self._reads_noise(inner, folded, visible)
                outputs[projection.alias_or_name] = ColumnNoise.OTHER if reads else ColumnNoise.EXACT
        return outputs

    def _find_source_columns(self, source: exp.Expr, visible: Mapping[str, Columns]) -> Columns:
        if not isinstance(source, exp.Table):
            return self.find_columns(source.this if isinstance(source, exp.Lateral) else source, visible)
        name = fold_case(source.name)
        found = visible.get(name) or self._tables.get(name, {})
        return dict.fromkeys(found, ColumnNoise.OTHER) if source.args.get("pivots") else found

    def _reads_noise(
        self, expression: exp.Expr, known: Mapping[str, ColumnNoise], visible: Mapping[str, Columns]
    ) -> bool:
        exact = ColumnNoise.EXACT
        for query in expression.find_all(exp.Query):
            if any(noise is not exact for noise in self.find_columns(query, visible).values()):
                return True
        has_noise = any(noise is not exact for noise in known.values())
        if expression.find(exp.AggFunc, exp.Window) is not None and has_noise:
            return True
        return any(
            known.get(fold_case(column.name), ColumnNoise.OTHER) is not exact
            for column in expression.find_all(exp.Column)
        )

"""Scope: resolves a name in a statement to a column and its type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from discreet.core.errors import RequestError
from discreet.engines.dialects.sql_types import SqlType, TypedSql

Columns = Mapping[str, SqlType]


@dataclass(frozen=True, kw_only=True)
class Scope:
    """The sources of one SELECT by alias, its named windows as text, and the bindings of a lambda."""

    sources: Mapping[str, Columns]
    windows: Mapping[str, str] = field(default_factory=dict)
    bindings: Mapping[str, TypedSql] = field(default_factory=dict)

    def find_column(self, name: str, alias: str) -> tuple[str, str, SqlType]:
        """Return alias, name and type of a column; as in DuckDB, case is ignored unless it decides."""
        sources = {alias: self._find_source(alias)} if alias else self.sources
        for same in (str, str.lower):
            hits = [
                (place, own, kind)
                for place, columns in sources.items()
                for own, kind in columns.items()
                if same(own) == same(name)
            ]
            if len(hits) == 1:
                return hits[0]
        raise RequestError(
            f"the column {name} of a statement matches no column of its sources, or several.",
            hint="Check the names of the policy's columns.",
        )

    def _find_source(self, alias: str) -> Columns:
        for place, columns in self.sources.items():
            if place.lower() == alias.lower():
                return columns
        raise RequestError(f"a statement names a source {alias} that it does not have.", hint="Report it.")

    def list_columns(self, alias: str = "") -> list[tuple[str, str, SqlType]]:
        """Return all columns, or those of one source, in order."""
        return [
            (place, name, kind)
            for place, columns in self.sources.items()
            if not alias or place.lower() == alias.lower()
            for name, kind in columns.items()
        ]

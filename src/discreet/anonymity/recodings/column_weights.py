"""Weights of quasi-identifiers by name; 1 where none is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from discreet.anonymity.hierarchies.generalization_hierarchy import Hierarchy
from discreet.core.errors import require_parameter
from discreet.core.number_checks import require_positive

Weights = Mapping[str, float]


def list_column_weights(weights: Weights | None, hierarchies: Sequence[Hierarchy]) -> list[float]:
    """Return the weight of every column."""
    given = weights or {}
    for name, weight in given.items():
        require_positive("weights", name, weight)
    require_columns("weights", "columns", given, hierarchies)
    return [float(given.get(hierarchy.name, 1.0)) for hierarchy in hierarchies]


def require_columns(
    owner: str, name: str, columns: Mapping[str, object] | frozenset[str], hierarchies: Sequence[Hierarchy]
) -> None:
    """Raise if a name is not that of a quasi-identifier."""
    unknown = sorted(set(columns) - {hierarchy.name for hierarchy in hierarchies})
    require_parameter(not unknown, owner, name, ", ".join(unknown), "quasi-identifiers of the table")

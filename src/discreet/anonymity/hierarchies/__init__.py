"""Generalization hierarchies: how the values of a quasi-identifier are made coarser, level by level.

An entry of the policy becomes a `HierarchySpec` of one of the kinds below (`hierarchy_specs`); a spec applied
to the values of a column gives a `Hierarchy`.
"""

from discreet.anonymity.hierarchies.date_periods import Dates
from discreet.anonymity.hierarchies.generalization_hierarchy import (
    MISSING,
    Hierarchy,
    HierarchySpec,
    add_missing_value,
    build_column_hierarchy,
    hierarchy_from_rows,
)
from discreet.anonymity.hierarchies.hierarchy_formats import (
    ListedHierarchy,
    hierarchy_to_csv,
    read_hierarchy_csv,
)
from discreet.anonymity.hierarchies.hierarchy_specs import (
    KINDS,
    build_column_spec,
    build_spec,
    draft_hierarchy,
)
from discreet.anonymity.hierarchies.interval_hierarchy import Intervals
from discreet.anonymity.hierarchies.listed_hierarchies import Flat, Order, Tree
from discreet.anonymity.hierarchies.mask_hierarchy import Mask

__all__ = [
    "KINDS",
    "MISSING",
    "Dates",
    "Flat",
    "Hierarchy",
    "HierarchySpec",
    "Intervals",
    "ListedHierarchy",
    "Mask",
    "Order",
    "Tree",
    "add_missing_value",
    "build_column_hierarchy",
    "build_column_spec",
    "build_spec",
    "draft_hierarchy",
    "hierarchy_from_rows",
    "hierarchy_to_csv",
    "read_hierarchy_csv",
]

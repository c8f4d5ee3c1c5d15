"""Export of hierarchies: as an Arrow table, and as text in ARX's format."""

from __future__ import annotations

import csv
import io

import pyarrow as pa

from discreet.anonymity.hierarchies.generalization_hierarchy import Hierarchy


def hierarchy_to_table(hierarchy: Hierarchy) -> pa.Table:
    """Return the columns value, level_1, level_2, …; a missing value is NULL."""
    names = ["value", *(f"level_{level}" for level in range(1, hierarchy.height + 1))]
    columns = [
        pa.array([label or None for label in labels], pa.string()).take(pa.array(codes))
        for labels, codes in zip(hierarchy.labels, hierarchy.maps, strict=True)
    ]
    return pa.table(dict(zip(names, columns, strict=True)))


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

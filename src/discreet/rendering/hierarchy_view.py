"""A hierarchy on the terminal, as JSON and as SQL.

The terminal shows a tree from the top to the values, with long branches shortened.
"""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from discreet.anonymity.hierarchies.generalization_hierarchy import Hierarchy
from discreet.anonymity.hierarchies.hierarchy_formats import hierarchy_to_sql, list_rows
from discreet.belief.wording import format_percent
from discreet.core.sql_quoting import quote_identifier
from discreet.services.hierarchy_preview import HierarchyPreview

MAX_LINES = 60
MAX_BRANCHES = 6
MAX_VALUES = 5
KINDS = {
    "listing": "from a file",
    "intervals": "intervals",
    "mask": "masked codes",
    "tree": "a tree",
    "dates": "periods",
    "order": "runs of ordered values",
    "flat": "no levels between the values and the top",
}


def show_hierarchy(console: Console, preview: HierarchyPreview) -> None:
    """Print the hierarchy's kind, levels and tree."""

    def print_line(text: str) -> None:
        console.print(text, markup=False, highlight=False, soft_wrap=True)

    where = "" if preview.column is None else f" of {preview.table}.{preview.column}"
    print_line(
        f"The hierarchy {preview.spec.name}{where}: {KINDS[preview.kind]}"
        f"{', a draft' if preview.is_draft else ''}."
    )
    levels = "1 level" if preview.hierarchy.height == 1 else f"{preview.hierarchy.height} levels"
    if preview.is_complete:
        counts = " → ".join(f"{len(labels):,}" for labels in preview.hierarchy.labels)
        print_line(f"{levels} above the values; labels by level: {counts}.")
    else:
        print_line(f"{levels} above the values. {_format_caution(preview)}")
    if preview.hierarchy.values:
        console.print(build_tree(preview.hierarchy))


def preview_to_json(preview: HierarchyPreview) -> dict[str, object]:
    """Return the JSON object; `rows` is None if the domain is too large to list."""
    return {
        "hierarchy": preview.spec.name,
        "table": preview.table,
        "column": preview.column,
        "kind": preview.kind,
        "drafted": preview.is_draft,
        "height": preview.hierarchy.height,
        "labels": [len(labels) for labels in preview.hierarchy.labels] if preview.is_complete else None,
        "rows": list_rows(preview.hierarchy) if preview.is_complete else None,
    }


def format_sql_expressions(preview: HierarchyPreview) -> str:
    """Return SQL expressions for the column's label at each level above its values, for a SELECT list."""
    name = preview.column or preview.spec.name
    levels = range(1, preview.hierarchy.height + 1)
    aliases = [quote_identifier(f"{name}_{level}") for level in levels]
    made = [hierarchy_to_sql(preview.hierarchy, level, name) for level in levels]
    return ",\n".join(f"{case} AS {alias}" for case, alias in zip(made, aliases, strict=True))


def build_tree(hierarchy: Hierarchy) -> Tree:
    """Return the labels from the top down, with values beside their level-1 labels.

    A long tree follows its first branch only. A label that repeats the one above it is shown once.
    """
    whole = sum(map(len, hierarchy.labels[1:])) <= MAX_LINES
    root = Tree(_format_label(hierarchy, hierarchy.height, 0), guide_style="dim")
    _add_branches(root, hierarchy, hierarchy.height, 0, whole=whole)
    return root


def _format_caution(preview: HierarchyPreview) -> str:
    if preview.kind == "flat":
        return "The policy lists no values."
    return "The codes below are examples." if preview.kind == "mask" else "Only some of its values are shown."


def _add_branches(branch: Tree, hierarchy: Hierarchy, level: int, place: int, *, whole: bool) -> None:
    below = _list_children(hierarchy, level, place)
    if not below or (level == 1 and hierarchy.height > 1):
        return
    if len(below) == 1 and hierarchy.labels[level - 1][below[0]] == hierarchy.labels[level][place]:
        _add_branches(branch, hierarchy, level - 1, below[0], whole=whole)
        return
    shown = below if (whole and level > 1) or len(below) <= MAX_BRANCHES else below[: MAX_BRANCHES - 2]
    for number, each in enumerate(shown):
        node = branch.add(_format_label(hierarchy, level - 1, each))
        if whole or number == 0:
            _add_branches(node, hierarchy, level - 1, each, whole=whole)
    if len(shown) < len(below):
        branch.add(Text(f"… {len(below) - len(shown) - 1:,} more", style="dim"))
        branch.add(_format_label(hierarchy, level - 1, below[-1]))


def _list_children(hierarchy: Hierarchy, level: int, place: int) -> list[int]:
    if level == 0:
        return []
    members = hierarchy.maps[level] == place
    found: list[int] = np.unique(hierarchy.maps[level - 1][members]).tolist()
    return found


def _format_label(hierarchy: Hierarchy, level: int, place: int) -> Text:
    label = _format_name(hierarchy.labels[level][place])
    if level in (0, hierarchy.height):
        return Text(label)
    share = f"  {format_percent(float(hierarchy.shares[level][place]))}"
    return Text.assemble(
        label, (share, "dim"), (_format_values(hierarchy, place) if level == 1 else "", "dim")
    )


def _format_values(hierarchy: Hierarchy, place: int) -> str:
    """Return the values under a label of level 1, shortened if there are many."""
    names = [_format_name(hierarchy.values[each]) for each in _list_children(hierarchy, 1, place)]
    if names == [hierarchy.labels[1][place]]:
        return ""
    shown = names if len(names) <= MAX_VALUES else [*names[: MAX_VALUES - 2], "…", names[-1]]
    return f"  {', '.join(shown)}".replace("…,", "…")


def _format_name(label: str) -> str:
    return label or "(missing)"

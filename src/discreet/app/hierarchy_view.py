"""A hierarchy on the terminal: a tree from the top to the values, with long branches shortened."""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from discreet.anonymity.hierarchies.generalization_hierarchy import Hierarchy
from discreet.app.shown_hierarchy import Shown
from discreet.belief.wording import format_percent

MOST_LINES = 60
MOST_BRANCHES = 6
MOST_VALUES = 5
KINDS = {
    "listing": "from a file",
    "intervals": "intervals",
    "mask": "masked codes",
    "tree": "a tree",
    "dates": "periods",
    "order": "runs of ordered values",
    "flat": "no levels between the values and the top",
}


def show(console: Console, shown: Shown) -> None:
    """Print the hierarchy's kind, levels and tree."""

    def say(text: str) -> None:
        console.print(text, markup=False, highlight=False, soft_wrap=True)

    where = "" if shown.column is None else f" of {shown.table}.{shown.column}"
    say(f"The hierarchy {shown.spec.name}{where}: {KINDS[shown.kind]}{', a draft' if shown.drafted else ''}.")
    levels = "1 level" if shown.hierarchy.height == 1 else f"{shown.hierarchy.height} levels"
    if shown.listed:
        counts = " → ".join(f"{len(labels):,}" for labels in shown.hierarchy.labels)
        say(f"{levels} above the values; labels by level: {counts}.")
    else:
        say(f"{levels} above the values. {_caution(shown)}")
    if shown.hierarchy.values:
        console.print(tree(shown.hierarchy))


def tree(hierarchy: Hierarchy) -> Tree:
    """Return the labels from the top down, with values beside their level-1 labels.

    A long tree follows its first branch only. A label that repeats the one above it is shown once.
    """
    whole = sum(map(len, hierarchy.labels[1:])) <= MOST_LINES
    root = Tree(_text(hierarchy, hierarchy.height, 0), guide_style="dim")
    _grow(root, hierarchy, hierarchy.height, 0, whole=whole)
    return root


def _caution(shown: Shown) -> str:
    if shown.kind == "flat":
        return "The policy lists no values."
    return "The codes below are examples." if shown.kind == "mask" else "Only some of its values are shown."


def _grow(branch: Tree, hierarchy: Hierarchy, level: int, place: int, *, whole: bool) -> None:
    below = _below(hierarchy, level, place)
    if not below or (level == 1 and hierarchy.height > 1):
        return
    if len(below) == 1 and hierarchy.labels[level - 1][below[0]] == hierarchy.labels[level][place]:
        _grow(branch, hierarchy, level - 1, below[0], whole=whole)
        return
    shown = below if (whole and level > 1) or len(below) <= MOST_BRANCHES else below[: MOST_BRANCHES - 2]
    for number, each in enumerate(shown):
        node = branch.add(_text(hierarchy, level - 1, each))
        if whole or number == 0:
            _grow(node, hierarchy, level - 1, each, whole=whole)
    if len(shown) < len(below):
        branch.add(Text(f"… {len(below) - len(shown) - 1:,} more", style="dim"))
        branch.add(_text(hierarchy, level - 1, below[-1]))


def _below(hierarchy: Hierarchy, level: int, place: int) -> list[int]:
    if level == 0:
        return []
    members = hierarchy.maps[level] == place
    found: list[int] = np.unique(hierarchy.maps[level - 1][members]).tolist()
    return found


def _text(hierarchy: Hierarchy, level: int, place: int) -> Text:
    label = _named(hierarchy.labels[level][place])
    if level in (0, hierarchy.height):
        return Text(label)
    share = f"  {format_percent(float(hierarchy.shares[level][place]))}"
    return Text.assemble(label, (share, "dim"), (_values(hierarchy, place) if level == 1 else "", "dim"))


def _values(hierarchy: Hierarchy, place: int) -> str:
    """Return the values under a label of level 1, shortened if there are many."""
    names = [_named(hierarchy.values[each]) for each in _below(hierarchy, 1, place)]
    if names == [hierarchy.labels[1][place]]:
        return ""
    shown = names if len(names) <= MOST_VALUES else [*names[: MOST_VALUES - 2], "…", names[-1]]
    return f"  {', '.join(shown)}".replace("…,", "…")


def _named(label: str) -> str:
    return label or "(missing)"

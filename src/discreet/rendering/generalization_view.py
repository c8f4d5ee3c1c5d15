"""Console and JSON output of a list of generalizations to choose from."""

from __future__ import annotations

import json

from rich.console import Console, Group
from rich.text import Text

from discreet.anonymity.search import SearchResult
from discreet.rendering.release_view import build_plain_table


def print_minimal(console: Console, listed: tuple[SearchResult, tuple[str, ...]], *, as_json: bool) -> None:
    """Print every minimal generalization, best first."""
    found, columns = listed
    if as_json:
        extra = {"valid": found.valid, "nodes": found.nodes, "all": found.proven}
        print(json.dumps({"minimal": _nodes_to_json(found, columns)} | extra))
        return
    console.print(_render_listing(found, columns))
    all_of = "all" if found.proven else "those found in time"
    valid = "" if found.valid is None else f"; {found.valid:,} of {found.nodes:,} generalizations are valid"
    console.print(f"\n{len(found.solutions):,} minimal generalizations, {all_of}{valid}", highlight=False)


def print_best(console: Console, listed: tuple[SearchResult, tuple[str, ...]], *, as_json: bool) -> None:
    """Print the generalizations with least loss, best first."""
    found, columns = listed
    if as_json:
        print(
            json.dumps({"top": _nodes_to_json(found, columns), "nodes": found.nodes, "proven": found.proven})
        )
        return
    console.print(_render_listing(found, columns))
    proof = "none of the others loses less" if found.proven else "not proven best: too many for the time"
    console.print(f"\n{len(found.solutions):,} of {found.nodes:,} generalizations; {proof}", highlight=False)
    levels = zip(columns, found.solutions[0].levels, strict=True)
    options = " ".join(f"--level {name}={level}" for name, level in levels if level)
    console.print(f"To publish one, name its levels: {options or '--level COLUMN=0'}", highlight=False)


def _nodes_to_json(found: SearchResult, columns: tuple[str, ...]) -> list[dict[str, object]]:
    return [
        {
            "levels": dict(zip(columns, each.levels, strict=True)),
            "loss": each.loss,
            "suppressed": each.suppressed,
            "classes": each.classes,
        }
        for each in found.solutions
    ]


def _render_listing(found: SearchResult, columns: tuple[str, ...]) -> Group:
    """Return a table with levels as one word, so that no figure is cut on a narrow console."""
    table = build_plain_table()
    for heading in ("loss", "left out", "classes"):
        table.add_column(heading, no_wrap=True)
    table.add_column("levels", overflow="fold")
    for each in found.solutions:
        figures = (f"{each.loss:.4f}", f"{each.suppressed:,}", f"{each.classes:,}")
        table.add_row(*figures, ",".join(map(str, each.levels)))
    return Group(table, Text(f"\nlevels of {', '.join(columns)}"))

"""Console and JSON output of a list of generalizations to choose from."""

from __future__ import annotations

from rich.console import Console, Group
from rich.text import Text

from discreet.rendering.release_view import build_plain_table
from discreet.services.anonymize.anonymize import GeneralizationList


def minimal_to_json(listed: GeneralizationList) -> dict[str, object]:
    """Return every minimal generalization as a JSON object."""
    search = listed.search
    return {
        "minimal": _nodes_to_json(listed),
        "valid": search.valid,
        "nodes": search.nodes,
        "all": search.proven,
    }


def best_to_json(listed: GeneralizationList) -> dict[str, object]:
    """Return the generalizations with least loss as a JSON object."""
    search = listed.search
    return {"top": _nodes_to_json(listed), "nodes": search.nodes, "proven": search.proven}


def print_minimal(console: Console, listed: GeneralizationList) -> None:
    """Print every minimal generalization, best first."""
    found = listed.search
    console.print(_render_listing(listed))
    all_of = "all" if found.proven else "those found in time"
    valid = "" if found.valid is None else f"; {found.valid:,} of {found.nodes:,} generalizations are valid"
    console.print(f"\n{len(found.solutions):,} minimal generalizations, {all_of}{valid}", highlight=False)


def print_best(console: Console, listed: GeneralizationList) -> None:
    """Print the generalizations with least loss, best first."""
    found = listed.search
    console.print(_render_listing(listed))
    proof = "none of the others loses less" if found.proven else "not proven best: too many for the time"
    console.print(f"\n{len(found.solutions):,} of {found.nodes:,} generalizations; {proof}", highlight=False)
    levels = zip(listed.columns, found.solutions[0].levels, strict=True)
    options = " ".join(f"--level {name}={level}" for name, level in levels if level)
    console.print(f"To publish one, name its levels: {options or '--level COLUMN=0'}", highlight=False)


def _nodes_to_json(listed: GeneralizationList) -> list[dict[str, object]]:
    return [
        {
            "levels": dict(zip(listed.columns, each.levels, strict=True)),
            "loss": each.loss,
            "suppressed": each.suppressed,
            "classes": each.classes,
        }
        for each in listed.search.solutions
    ]


def _render_listing(listed: GeneralizationList) -> Group:
    """Return a table with levels as one word, so that no figure is cut on a narrow console."""
    table = build_plain_table()
    for heading in ("loss", "left out", "classes"):
        table.add_column(heading, no_wrap=True)
    table.add_column("levels", overflow="fold")
    for each in listed.search.solutions:
        figures = (f"{each.loss:.4f}", f"{each.suppressed:,}", f"{each.classes:,}")
        table.add_row(*figures, ",".join(map(str, each.levels)))
    return Group(table, Text(f"\nlevels of {', '.join(listed.columns)}"))

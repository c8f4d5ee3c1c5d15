"""Console output of a check of a table: verdicts, worst classes, and the strongest parameters."""

from __future__ import annotations

import math

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from discreet.belief.wording import format_count, format_number
from discreet.services.anonymize.model_check import ModelCheck


def print_check(console: Console, checked: ModelCheck) -> None:
    """Print the verdicts, then the strongest parameters."""
    console.print(
        f"{checked.rows:,} in {format_count(len(checked.classes), 'class', 'classes')}\n", highlight=False
    )
    if checked.verdicts:
        table = Grid(box=None, header_style="bold", padding=(0, 3, 0, 0))
        for heading in ("model", "holds", "margin"):
            table.add_column(heading)
        for model, each in checked.verdicts:
            holds = Text("yes", "green") if each.holds else Text("no", "red")
            table.add_row(Text(model.name), holds, format_number(each.margin))
        console.print(table)
        console.print()
        _print_worst_classes(console, checked)
    table = Grid(box=None, header_style="bold", padding=(0, 3, 0, 0))
    for heading in ("the strongest that holds", "column", "value"):
        table.add_column(heading)
    for told in checked.strongest:
        value = format_number(told.value) if math.isfinite(told.value) else "none"
        table.add_row(told.meaning, Text(told.column or ""), value)
    console.print(table)


def _print_worst_classes(console: Console, checked: ModelCheck) -> None:
    """Print the worst class of each model, with its labels."""
    console.print("worst classes, for the custodian alone:", style="bold")
    for (model, each), labels in zip(checked.verdicts, checked.labels, strict=True):
        size = int(checked.classes.sizes[each.place])
        shared = ", ".join(f"{name} {label or '(missing)'}" for name, label in labels.items())
        text = f"  {model.name}: {size:,} with {shared}"
        console.print(text, highlight=False, markup=False, soft_wrap=True)
    console.print()

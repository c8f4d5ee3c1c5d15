"""Judging a table as it is: which models hold, which class is worst, and how strong a model would still hold.

For the custodian: a class is told by its size and margin, its rows are not printed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.table import Table as Grid

from discreet.anonymity.classes import Classes, Tuples
from discreet.anonymity.compression import combine, compress
from discreet.anonymity.grouping import grouped
from discreet.anonymity.hierarchies import Flat
from discreet.anonymity.models import Measured, Worst, strongest, worst
from discreet.app.publishing.counted import subject_of
from discreet.app.publishing.subjects import Named
from discreet.belief.wording import number
from discreet.engines.publishing import DuckDBPublisher

PER_COLUMN = ("distinct", "probabilistic", "entropy", "equal", "ordered", "alpha", "disclosure", "likeness")
MEANING = {
    "k": "k-anonymity, largest k",
    "k-map": "k-map, largest k",
    "distinct": "distinct l-diversity, largest l",
    "probabilistic": "probabilistic l-diversity, largest l",
    "entropy": "entropy l-diversity, largest l",
    "equal": "t-closeness, equal distance, least t",
    "ordered": "t-closeness, ordered distance, least t",
    "alpha": "(α, k)-anonymity, least α",
    "disclosure": "δ-disclosure, least δ",
    "likeness": "β-likeness, least β",
}


@dataclass(frozen=True, kw_only=True)
class Checked:
    """What was found of a table."""

    rows: int
    classes: Classes
    verdicts: tuple[tuple[Measured, Worst], ...]
    strongest: tuple[tuple[str, str | None, float], ...]

    @property
    def holds(self) -> bool:
        return all(each.holds for _, each in self.verdicts)

    def as_object(self) -> dict[str, object]:
        return {
            "rows": self.rows,
            "classes": len(self.classes),
            "holds": self.holds,
            "models": [
                {
                    "name": model.name,
                    "holds": each.holds,
                    "margin": each.margin if math.isfinite(each.margin) else None,
                    "worst_class": {"place": each.place, "size": int(self.classes.sizes[each.place])},
                }
                for model, each in self.verdicts
            ],
            "strongest": [
                {"family": family, "column": column, "value": value if math.isfinite(value) else None}
                for family, column, value in self.strongest
            ],
        }


def check(named: Named, models: Sequence[Measured], *, unit: str | None = None) -> Checked:
    """Judge a table by its own values; nothing is generalized."""
    table = named.policy.tables[named.name]
    subject = subject_of(named.name, table, models, unit=unit, population=named.population)
    tables = {name: named.policy.tables[name] for name in (named.name, named.population) if name}
    with DuckDBPublisher(tables) as engine:
        combinations = combine(engine, subject)
        flat = [Flat(name=name, values=()).over(each) for name, each in combinations.values().items()]
        tuples = compress(engine, combinations, flat)
    classes = _as_classes(tuples)
    found = [(model, worst(classes, model)) for model in models]
    families: list[tuple[str, str | None]] = [
        ("k", None),
        *([("k-map", None)] if classes.population is not None else []),
    ]
    families += [(family, column) for column in subject.sensitive for family in PER_COLUMN]
    return Checked(
        rows=tuples.rows,
        classes=classes,
        verdicts=tuple((model, each) for model, each in found if each is not None),
        strongest=tuple(
            (family, column, float(strongest(classes, family, column))) for family, column in families
        ),
    )


def show(console: Console, checked: Checked) -> None:
    """Verdicts, then the strongest parameters."""
    console.print(f"{checked.rows:,} in {len(checked.classes):,} classes\n", highlight=False)
    if checked.verdicts:
        table = Grid(box=None, header_style="bold", padding=(0, 3, 0, 0))
        for heading in ("model", "holds", "margin", "worst class"):
            table.add_column(heading)
        for model, each in checked.verdicts:
            size = int(checked.classes.sizes[each.place])
            holds = "[green]yes[/green]" if each.holds else "[red]no[/red]"
            table.add_row(model.name, holds, number(each.margin), f"{size:,} of one class")
        console.print(table)
        console.print()
    table = Grid(box=None, header_style="bold", padding=(0, 3, 0, 0))
    for heading in ("the strongest that holds", "column", "value"):
        table.add_column(heading)
    for family, column, value in checked.strongest:
        table.add_row(MEANING[family], column or "", number(value) if math.isfinite(value) else "none")
    console.print(table)


def _as_classes(tuples: Tuples) -> Classes:
    """Tuples without rows are no classes, so only those with rows are judged."""
    return grouped(tuples, np.arange(len(tuples)), len(tuples))[0]

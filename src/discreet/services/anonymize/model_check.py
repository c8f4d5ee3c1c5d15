"""Checking a table without recoding: which models hold, the worst class, and the strongest parameters.

The result is for the custodian only: it shows a class's quasi-identifiers, size and margin, not its rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.anonymity.equivalence_classes import EquivalenceClasses, Tuples
from discreet.anonymity.hierarchies import MISSING, Flat, Hierarchy, build_column_spec
from discreet.anonymity.models import MeasuredModel, WorstClass, find_strongest, find_worst_class
from discreet.anonymity.recoding import group_tuples
from discreet.anonymity.tuple_counts import count_combinations, count_tuples
from discreet.services.anonymize.table_resolution import ResolvedTable
from discreet.services.publishers import open_publisher
from discreet.services.release_sources import build_release_source

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
    "recursive": "recursive (c, {l})-diversity, every c above",
    "hierarchical": "t-closeness, hierarchical distance, least t",
}
RANKS = (2, 3)
"""The l of recursive diversity for which the least c is reported."""
CUSTODIAN = "custodian"


@dataclass(frozen=True, kw_only=True)
class StrongestParameter:
    """The strongest parameter of a family that holds; `l` is that of recursive diversity."""

    family: str
    column: str | None
    value: float
    l: int | None = None

    @property
    def meaning(self) -> str:
        return MEANING[self.family].format(l=self.l)

    def to_json(self) -> dict[str, object]:
        value = self.value if math.isfinite(self.value) else None
        ranked = {} if self.l is None else {"l": self.l}
        return {"family": self.family, "column": self.column, **ranked, "value": value}


@dataclass(frozen=True, kw_only=True)
class ModelCheck:
    """The result of checking a table."""

    rows: int
    classes: EquivalenceClasses
    verdicts: tuple[tuple[MeasuredModel, WorstClass], ...]
    strongest: tuple[StrongestParameter, ...]
    labels: tuple[dict[str, str], ...]
    """The quasi-identifiers of the worst class of each verdict."""

    columns_with_missing: tuple[str, ...] = ()
    """The sensitive columns with missing values, which are judged as a value of their own."""

    @property
    def holds(self) -> bool:
        return all(each.holds for _, each in self.verdicts)

    def to_json(self) -> dict[str, object]:
        return {
            "rows": self.rows,
            "classes": len(self.classes),
            "holds": self.holds,
            "models": [
                {
                    "name": model.name,
                    "holds": each.holds,
                    "margin": each.margin if math.isfinite(each.margin) else None,
                    "worst_class": {
                        "for": CUSTODIAN,
                        "place": each.place,
                        "size": int(self.classes.sizes[each.place]),
                        "labels": labels,
                    },
                }
                for (model, each), labels in zip(self.verdicts, self.labels, strict=True)
            ],
            "strongest": [each.to_json() for each in self.strongest],
        }


def check_models(
    resolved: ResolvedTable, models: Sequence[MeasuredModel], *, unit: str | None = None
) -> ModelCheck:
    """Judge a table by its own values; nothing is generalized."""
    table = resolved.policy.tables[resolved.name]
    subject = build_release_source(resolved.name, table, models, unit=unit, population=resolved.population)
    tables = {name: resolved.policy.tables[name] for name in (resolved.name, resolved.population) if name}
    with open_publisher(resolved.policy.engine, tables) as engine:
        combinations = count_combinations(engine, subject)
        flat = [
            Flat(name=name, values=()).build_hierarchy(each)
            for name, each in combinations.collect_values().items()
        ]
        tuples = count_tuples(engine, combinations, flat)
    # tuples without rows form no class, so only those with rows are judged
    classes, ids = group_tuples(tuples, np.arange(len(tuples)), len(tuples))
    found = [(model, each) for model in models if (each := find_worst_class(classes, model)) is not None]
    places = [int(np.flatnonzero(ids == each.place)[0]) for _, each in found]
    return ModelCheck(
        rows=tuples.rows,
        classes=classes,
        verdicts=tuple(found),
        columns_with_missing=tuple(name for name, each in tuples.sensitive.items() if MISSING in each.names),
        labels=tuple(_get_labels(tuples, flat, place) for place in places),
        strongest=tuple(_list_strongest(classes, resolved)),
    )


def _get_labels(tuples: Tuples, flat: Sequence[Hierarchy], place: int) -> dict[str, str]:
    codes = tuples.codes[place].tolist()
    return {each.name: each.values[code] for each, code in zip(flat, codes, strict=True)}


def _list_strongest(classes: EquivalenceClasses, resolved: ResolvedTable) -> Iterator[StrongestParameter]:
    def find_parameter(
        family: str, column: str | None = None, l: int = 2, hierarchy: Hierarchy | None = None
    ) -> StrongestParameter:
        value = float(find_strongest(classes, family, column, l=l, hierarchy=hierarchy))
        return StrongestParameter(
            family=family, column=column, value=value, l=l if family == "recursive" else None
        )

    yield find_parameter("k")
    if classes.population is not None:
        yield find_parameter("k-map")
    for column, sensitive in classes.sensitive.items():
        yield from (find_parameter(family, column) for family in PER_COLUMN)
        yield from (find_parameter("recursive", column, l) for l in RANKS)
        hierarchy = _build_declared_hierarchy(resolved, column, sensitive.names)
        if hierarchy is not None:
            yield find_parameter("hierarchical", column, hierarchy=hierarchy)


def _build_declared_hierarchy(resolved: ResolvedTable, name: str, values: Sequence[str]) -> Hierarchy | None:
    """Return the declared hierarchy of a sensitive column if it covers all its values, else None."""
    column = resolved.policy.tables[resolved.name].columns[name]
    if (column.hierarchy or name) not in resolved.policy.hierarchies:
        return None
    spec = build_column_spec(name, column, resolved.policy)
    return None if spec.find_uncovered(values) else spec.build_hierarchy(values)

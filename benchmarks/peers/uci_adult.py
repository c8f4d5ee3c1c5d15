"""UCI Adult as every peer gets it: the declared columns, and rows as numbers and words.

Bounds, categories and classes are those of the data's own documentation (adult.names), not of its rows. NumPy
alone: this is imported inside every peer's environment.
"""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

EPSILONS = (0.1, 0.5, 1.0, 2.0, 5.0)
RUNS = 10
DELTA = 1e-6
ROWS = 32_561
CLASSES = ("<=50K", ">50K")
BOUNDS = {
    "age": (17, 90),
    "fnlwgt": (10_000, 1_500_000),
    "education_num": (1, 16),
    "capital_gain": (0, 99_999),
    "capital_loss": (0, 4_356),
    "hours_per_week": (1, 99),
}
LOGARITHMIC = ("fnlwgt", "capital_gain", "capital_loss")
COLUMNS = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education_num",
    "marital_status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital_gain",
    "capital_loss",
    "hours_per_week",
    "native_country",
)


def values(folder: str) -> dict[str, list[str]]:
    """The categories that adult.names lists, by column."""
    found = {}
    for line in (Path(folder) / "adult.names").read_text().splitlines():
        name, _, listed = line.partition(":")
        column = name.replace("-", "_")
        if column in COLUMNS and column not in BOUNDS:
            found[column] = [each.strip() for each in listed.rstrip(".").split(",")]
    return found


@cache
def rows(folder: str, file: str) -> tuple[dict[str, Any], Any]:
    """The columns of a file, and whether each income is above 50K."""
    with open(Path(folder) / file, newline="") as lines:
        found = [row for row in csv.reader(lines, skipinitialspace=True) if len(row) == 15]
    columns: dict[str, Any] = {name: [row[j] for row in found] for j, name in enumerate(COLUMNS)}
    for name in BOUNDS:
        columns[name] = np.array(columns[name], float)
    return columns, np.array([row[-1].startswith(">") for row in found], int)


def numbers(
    columns: dict[str, Any], folder: str, *, logarithms: bool = True
) -> tuple[Any, list[tuple[float, float]]]:
    """All columns as numbers, categories by their place in the list, and the bounds of each."""
    listed, made, bounds = values(folder), [], []
    for name in COLUMNS:
        if name in BOUNDS:
            low, high = BOUNDS[name]
            column = columns[name]
            if logarithms and name in LOGARITHMIC:
                column, low, high = np.log1p(column - low), 0, np.log1p(high - low)
            made.append(np.clip(column, low, high))
            bounds.append((float(low), float(high)))
        else:
            places = {word: place for place, word in enumerate(listed[name])}
            made.append(np.array([places.get(word, len(places)) for word in columns[name]], float))
            bounds.append((0.0, float(len(places))))
    return np.stack(made, axis=1), bounds


def indicators(columns: dict[str, Any], folder: str) -> Any:
    """Numbers scaled to [0, 1] and a 0 or 1 for every category; a row's norm is at most sqrt(14)."""
    listed, (made, bounds) = values(folder), numbers(columns, folder)
    parts = []
    for j, name in enumerate(COLUMNS):
        if name in BOUNDS:
            low, high = bounds[j]
            parts.append(((made[:, j] - low) / (high - low))[:, None])
        else:
            parts.append(np.eye(len(listed[name]) + 1)[made[:, j].astype(int)])
    return np.hstack(parts)

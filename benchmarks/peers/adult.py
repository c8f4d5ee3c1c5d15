"""ARX's Adult with its hierarchies, as the peers that anonymize take it: text in a data frame of pandas."""

from __future__ import annotations

import csv
from pathlib import Path

import pandas as pd

JOB = "occupation"
K, MOST_SUPPRESSED = 5, 2  # percent


def table(folder: str) -> pd.DataFrame:
    return pd.read_csv(Path(folder) / "adult.csv", sep=";", dtype=str)


def levels(folder: str, column: str) -> list[list[str]]:
    """The labels of every value at level 0, at level 1 and so on."""
    with (Path(folder) / f"adult_hierarchy_{column}.csv").open(newline="") as file:
        return [list(labels) for labels in zip(*csv.reader(file, delimiter=";"), strict=True)]

"""Estimating from a file of reports: the engine counts them, and only counts come back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import cast

from discreet.app.collect.operators import load_operator
from discreet.app.collect.report_files import Description, read_description
from discreet.app.survey.report_store import SUFFIX, ReportStore, view
from discreet.core.engine import Engine
from discreet.core.errors import DataError, EngineFault, RequestError
from discreet.engines.duckdb import DuckDB
from discreet.local.collecting import tallied
from discreet.local.estimates import Estimate, MeanEstimate
from discreet.local.notation import write
from discreet.local.operator import Frequencies, Means

TABLE = "reports"


@dataclass(frozen=True, kw_only=True)
class Estimated:
    """What reports tell, with what they are of."""

    description: Description
    estimate: Estimate | MeanEstimate
    confidence: float


def estimate_path(path: Path, operator: Path | None, confidence: float) -> list[Estimated]:
    """From a file of reports, or for every question of a survey's store."""
    if path.suffix.lower() != SUFFIX:
        return [_estimate_file(path, operator, confidence)]
    if operator is not None:
        raise RequestError("The store of a survey carries its operators.", hint="Leave --operator out.")
    with ReportStore.open(path) as store:
        return estimate_store(store, confidence)


def estimate_store(store: ReportStore, confidence: float) -> list[Estimated]:
    """Every question of a survey."""
    return [
        estimate_table(each, store, view(place), confidence) for place, each in enumerate(store.descriptions)
    ]


def of_question(found: list[Estimated], name: str | None) -> list[Estimated]:
    """All that was found, or what was found of one question."""
    chosen = [each for each in found if name is None or each.description.column == name]
    if not chosen:
        known = ", ".join(each.description.column for each in found)
        raise RequestError(f"There is no question {name}.", hint=f"There is {known}.")
    return chosen


def _estimate_file(path: Path, operator: Path | None, confidence: float) -> Estimated:
    """A file that describes itself, or with an operator that is told."""
    if operator is None:
        description = read_description(path)
    else:
        given, promise = load_operator(operator)
        codes = tuple(str(code) for code in range(given.values))
        description = Description(operator=given, values=codes, column="value", promise=promise)
    with DuckDB({TABLE: path}) as engine:
        return estimate_table(description, engine, TABLE, confidence)


def estimate_table(description: Description, engine: Engine, table: str, confidence: float) -> Estimated:
    """From a table of reports, wherever it is."""
    operator = description.operator
    try:
        counts = tallied(operator, engine, table)
    except EngineFault:
        raise DataError(
            "The reports are not laid out as this operator's are.",
            hint="Estimate with the operator that they were made by.",
        ) from None
    if counts.clients == 0:
        raise DataError("There are no reports yet.", hint="Collect some first.")
    kind = cast("Frequencies | Means", operator)  # an operator is one of the two
    return Estimated(description=description, estimate=kind.estimate(counts), confidence=confidence)


def as_object(found: Estimated) -> dict[str, object]:
    """The machine-readable form."""
    description, (prior, posterior) = found.description, found.description.belief
    return {
        "column": description.column,
        "clients": found.estimate.clients,
        "confidence": found.confidence,
        **figures(found),
        "operator": write(description.operator),
        "gamma": description.operator.gamma,
        "epsilon": description.operator.epsilon,
        "belief": {"prior": prior, "posterior": posterior},
    }


def figures(found: Estimated) -> dict[str, object]:
    """The estimated numbers alone."""
    if isinstance(found.estimate, MeanEstimate):
        low, high = found.estimate.interval(found.confidence)
        return {"mean": found.estimate.mean, "low": low, "high": high}
    intervals = found.estimate.intervals(found.confidence)
    columns = (found.description.values, found.estimate.shares, found.estimate.raw, *intervals)
    return {
        "estimates": [
            {"value": value, "share": float(share), "raw": float(raw), "low": float(low), "high": float(high)}
            for value, share, raw, low, high in zip(*columns, strict=True)
        ]
    }

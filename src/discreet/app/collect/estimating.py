"""Estimation from reports in a file or an engine's table: the engine counts, only counts come back.

For baskets, the engine counts the items in the reports. Itemsets are counted in memory over transposed bits
if these are few enough, and otherwise by the engine.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from discreet.app.addresses import engine_of
from discreet.app.collect.operators import load_operator
from discreet.app.collect.report_files import Description, named_codes, read_description
from discreet.app.engines import opened_over
from discreet.app.survey.report_store import SUFFIX, ReportStore, view
from discreet.belief import highest_posterior
from discreet.core.engine import Engine, ValidatesStatements
from discreet.core.errors import DataError, EngineFault, RequestError
from discreet.engines.duckdb import DuckDB
from discreet.local import BASKETS, LINEAR, Baskets
from discreet.local.baskets import Supports
from discreet.local.collecting import tallied
from discreet.local.estimates import Estimate, MeanEstimate
from discreet.local.forms import Counts
from discreet.local.notation import write
from discreet.local.operator import Frequencies, Means, Operator

TABLE = "reports"
NORMAL_FROM = 100
"""The least number of reports for which a normal approximation can show that a figure is impossible."""
MOST_WORDS = 1 << 27  # a gigabyte of reports


@dataclass(frozen=True, kw_only=True)
class Estimated:
    """An estimate with the description of its reports; `total_epsilon` covers all reports of one client.

    Answers of one person may be correlated, so that each report reveals something about all of them.
    """

    description: Description
    estimate: Estimate | MeanEstimate | Supports
    confidence: float
    together: float

    @property
    def nearly(self) -> bool:
        """True if intervals are a normal approximation, which is rough for few reports."""
        return isinstance(self.estimate, Estimate) and isinstance(self.description.operator, LINEAR)

    @property
    def warnings(self) -> tuple[str, ...]:
        """A sentence for each figure that honest reports do not explain, at odds of a million to one."""
        names, few = self.description.values, self.estimate.clients < NORMAL_FROM
        if isinstance(self.estimate, MeanEstimate):
            mean = f"The mean of {self.description.column}"
            return (_impossible(mean),) if not few and self.estimate.is_impossible else ()
        told = "support" if isinstance(self.estimate, Supports) else "share"
        codes = () if few and self.nearly else self.estimate.impossible
        said = [_impossible(f"The {told} of {names[code]}") for code in codes]
        if isinstance(self.estimate, Estimate) and not few and self.estimate.is_sum_impossible:
            said.append(_impossible("The sum of all shares"))
        return tuple(said)

    @property
    def reached(self) -> tuple[float, float]:
        """A prior, and the highest posterior after all reports of one client."""
        prior, group = self.description.prior
        return prior, highest_posterior(prior, self.together * group)


def estimate_path(path: Path, operator: Path | None, confidence: float) -> list[Estimated]:
    """Return the estimate from a file of reports, or one for every question of a survey's store."""
    if path.suffix.lower() != SUFFIX:
        return [_estimate_file(path, operator, confidence)]
    if operator is not None:
        raise RequestError("The store of a survey carries its operators.", hint="Leave --operator out.")
    with ReportStore.open(path) as store:
        return estimate_store(store, confidence)


def estimate_in(address: str, table: str, operator: Path | None, confidence: float) -> list[Estimated]:
    """Return the estimate from an engine's table or path."""
    description = describe_in(address, table, operator)
    with opened_over(address, TABLE, table) as engine:
        return [estimate_table(description, engine, TABLE, confidence)]


def describe_in(address: str, table: str, operator: Path | None) -> Description:
    """Return the description of a table's reports, from the operator or from the file's own metadata."""
    path = Path(table)
    if operator is None and engine_of(address).reads_files and path.is_file():
        return describe(path, None)
    if operator is None:
        raise RequestError(
            f"{table} does not say which operator made its reports.",
            hint="Give it with --operator OPERATOR.yaml.",
        )
    return describe(path, operator)


def estimate_store(store: ReportStore, confidence: float) -> list[Estimated]:
    """Return the estimates of every question of a survey."""
    described = store.descriptions
    together = sum(each.operator.epsilon for each in described)
    return [
        replace(estimate_table(each, store, view(place), confidence), together=together)
        for place, each in enumerate(described)
    ]


def of_question(found: list[Estimated], name: str | None) -> list[Estimated]:
    """Return the estimates of one question, or all without a name."""
    chosen = [each for each in found if name is None or each.description.column == name]
    if not chosen:
        known = ", ".join(each.description.column for each in found)
        raise RequestError(f"There is no question {name}.", hint=f"There is {known}.")
    return chosen


def _estimate_file(path: Path, operator: Path | None, confidence: float) -> Estimated:
    description = describe(path, operator)
    with DuckDB({TABLE: path}) as engine:
        return estimate_table(description, engine, TABLE, confidence)


def describe(path: Path, operator: Path | None) -> Description:
    """Return the description of a file's reports, from the operator or from its own metadata."""
    if operator is None:
        return read_description(path)
    given, promise = load_operator(operator)
    codes = tuple(str(code) for code in range(named_codes(given)))
    return Description(operator=given, values=codes, column="value", promise=promise)


def estimate_table(description: Description, engine: Engine, table: str, confidence: float) -> Estimated:
    """Return the estimate from a table of reports in any engine."""
    operator = description.operator
    counts = _tallied(operator, engine, table)
    if counts.clients == 0:
        raise _none()
    if isinstance(operator, BASKETS):
        supports = operator.stored(engine, table, counts)
        return Estimated(
            description=description, estimate=supports, confidence=confidence, together=operator.epsilon
        )
    return estimate_counts(description, counts, confidence)


def estimate_counts(description: Description, counts: Counts, confidence: float) -> Estimated:
    """Return the estimate from counted reports of values or numbers."""
    operator = description.operator
    found = cast("Frequencies | Means", operator).estimate(counts)  # it is one of the two
    return Estimated(
        description=description, estimate=found, confidence=confidence, together=operator.epsilon
    )


def _impossible(what: str) -> str:
    return (
        f"{what} is estimated outside the possible range, and chance does not explain it: some reports were "
        "made up, or made by another operator. Do not rely on these figures."
    )


def _tallied(operator: Operator, engine: Engine, table: str) -> Counts:
    """Return the counts of reports; raise if the table's columns are not those of this operator."""
    if isinstance(engine, ValidatesStatements):
        try:
            for sql in operator.form.tally(table):
                engine.validate(sql)
        except RequestError:
            raise _misfit() from None
        return tallied(operator, engine, table)
    try:
        return tallied(operator, engine, table)
    except EngineFault:
        raise _misfit() from None


def supports_of(description: Description, engine: Engine) -> Supports:
    """Return the supports of itemsets in a table of baskets, usable while the engine is open."""
    operator = cast("Baskets", description.operator)
    counts = _tallied(operator, engine, TABLE)
    if counts.clients == 0:
        raise _none()
    if counts.clients * operator.form.words > MOST_WORDS:
        return operator.stored(engine, TABLE, counts)
    names = ", ".join(f"w{word}" for word in range(operator.form.words))
    table = engine.count(f"SELECT {names} FROM {TABLE}").secret
    return operator.estimate(operator.form.from_arrow(table))


def _misfit() -> DataError:
    return DataError(
        "The columns of the reports are not those of this operator.",
        hint="Estimate with the operator that made the reports.",
    )


def _none() -> DataError:
    return DataError("There are no reports yet.", hint="Collect some first.")


def as_object(found: Estimated) -> dict[str, object]:
    """Return an estimate as a JSON object."""
    description, (prior, posterior) = found.description, found.reached
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
    """Return only the estimated numbers and warnings, as a JSON object."""
    if isinstance(found.estimate, MeanEstimate):
        low, high = found.estimate.interval(found.confidence)
        return {"mean": found.estimate.mean, "low": low, "high": high, "warnings": list(found.warnings)}
    if isinstance(found.estimate, Supports):
        return {"items": _items(found, found.estimate), "warnings": list(found.warnings)}
    return {"estimates": _shares(found, found.estimate), "warnings": list(found.warnings)}


def rows_of(found: Estimated) -> list[dict[str, Any]]:
    """Return the shares of values or the supports of items, one row each."""
    assert not isinstance(found.estimate, MeanEstimate)
    if isinstance(found.estimate, Supports):
        return _items(found, found.estimate)
    return _shares(found, found.estimate)


def _shares(found: Estimated, estimate: Estimate) -> list[dict[str, Any]]:
    columns = (
        found.description.values,
        estimate.shares,
        estimate.raw,
        *estimate.intervals(found.confidence),
    )
    return [
        {"value": value, "share": float(share), "raw": float(raw), "low": float(low), "high": float(high)}
        for value, share, raw, low, high in zip(*columns, strict=True)
    ]


def _items(found: Estimated, supports: Supports) -> list[dict[str, Any]]:
    every = np.arange(supports.operator.items)[:, None]
    columns = (found.description.values, supports.each(every).supports, *supports.intervals(found.confidence))
    return [
        {
            "item": item,
            "support": min(max(float(raw), 0.0), 1.0),
            "raw": float(raw),
            "low": float(low),
            "high": float(high),
        }
        for item, raw, low, high in zip(*columns, strict=True)
    ]

"""Estimating from reports, in a file or in an engine's table: the engine counts them, only counts come back.

Of baskets, the engine counts which items are shown. Itemsets are counted over bits that are turned about in
memory, where these are few enough, and else by the engine too.
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
"""From how many reports on an interval that rests on a normal law shows a figure to be impossible."""
MOST_WORDS = 1 << 27  # a gigabyte of reports


@dataclass(frozen=True, kw_only=True)
class Estimated:
    """What reports tell, with what they are of; `together` is the epsilon of all that one client reported.

    Answers of one person may have much to do with each other, so that each report tells of all of them.
    """

    description: Description
    estimate: Estimate | MeanEstimate | Supports
    confidence: float
    together: float

    @property
    def nearly(self) -> bool:
        """Whether intervals rest on a normal law, which few reports follow only roughly."""
        return isinstance(self.estimate, Estimate) and isinstance(self.description.operator, LINEAR)

    @property
    def warnings(self) -> tuple[str, ...]:
        """A sentence for each figure that no honest reports explain, at odds of a million to one."""
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
        """A prior, and the most that it can become after all reports of one client."""
        prior, group = self.description.prior
        return prior, highest_posterior(prior, self.together * group)


def estimate_path(path: Path, operator: Path | None, confidence: float) -> list[Estimated]:
    """From a file of reports, or for every question of a survey's store."""
    if path.suffix.lower() != SUFFIX:
        return [_estimate_file(path, operator, confidence)]
    if operator is not None:
        raise RequestError("The store of a survey carries its operators.", hint="Leave --operator out.")
    with ReportStore.open(path) as store:
        return estimate_store(store, confidence)


def estimate_in(address: str, table: str, operator: Path | None, confidence: float) -> list[Estimated]:
    """From a table, or a path, of an engine."""
    description = describe_in(address, table, operator)
    with opened_over(address, TABLE, table) as engine:
        return [estimate_table(description, engine, TABLE, confidence)]


def describe_in(address: str, table: str, operator: Path | None) -> Description:
    """What is told of a table; a file that the engine reads may tell it by itself."""
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
    """Every question of a survey."""
    described = store.descriptions
    together = sum(each.operator.epsilon for each in described)
    return [
        replace(estimate_table(each, store, view(place), confidence), together=together)
        for place, each in enumerate(described)
    ]


def of_question(found: list[Estimated], name: str | None) -> list[Estimated]:
    """All that was found, or what was found of one question."""
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
    """What a file says of itself, or what an operator that is told says of it."""
    if operator is None:
        return read_description(path)
    given, promise = load_operator(operator)
    codes = tuple(str(code) for code in range(named_codes(given)))
    return Description(operator=given, values=codes, column="value", promise=promise)


def estimate_table(description: Description, engine: Engine, table: str, confidence: float) -> Estimated:
    """From a table of reports, wherever it is."""
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
    """From reports of values or numbers that were counted."""
    operator = description.operator
    found = cast("Frequencies | Means", operator).estimate(counts)  # it is one of the two
    return Estimated(
        description=description, estimate=found, confidence=confidence, together=operator.epsilon
    )


def _impossible(what: str) -> str:
    return (
        f"{what} is estimated beyond what is possible, and chance does not explain it: some reports were "
        "made up, or made by another operator. Do not rely on these figures."
    )


def _tallied(operator: Operator, engine: Engine, table: str) -> Counts:
    """Counts; a table that lacks the columns, or has them of other types, is not of this operator."""
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
    """What the baskets of a table tell of itemsets, for as long as the engine is open."""
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
        "The reports are not laid out as this operator's are.",
        hint="Estimate with the operator that they were made by.",
    )


def _none() -> DataError:
    return DataError("There are no reports yet.", hint="Collect some first.")


def as_object(found: Estimated) -> dict[str, object]:
    """The machine-readable form."""
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
    """The estimated numbers alone."""
    if isinstance(found.estimate, MeanEstimate):
        low, high = found.estimate.interval(found.confidence)
        return {"mean": found.estimate.mean, "low": low, "high": high, "warnings": list(found.warnings)}
    if isinstance(found.estimate, Supports):
        return {"items": _items(found, found.estimate), "warnings": list(found.warnings)}
    return {"estimates": _shares(found, found.estimate), "warnings": list(found.warnings)}


def rows_of(found: Estimated) -> list[dict[str, Any]]:
    """The shares of values, or the supports of items, a row each."""
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

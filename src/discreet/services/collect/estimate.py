"""Estimates from reports in a file or an engine's table, and the frequent itemsets and rules of baskets.

The engine counts, and only counts come back. For baskets it counts the items in the reports; itemsets are
counted in memory over transposed bits if these are few enough, and otherwise by the engine.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from discreet.belief import highest_posterior
from discreet.core.engine import Engine, ValidatesStatements
from discreet.core.errors import DataError, EngineFault, RequestError
from discreet.engines.duckdb import DuckDB
from discreet.local import BASKET_OPERATORS, LINEAR_OPERATORS
from discreet.local.baskets import (
    AssociationRule,
    FrequentItemsets,
    ItemsetSupports,
    find_frequent_itemsets,
    find_rules,
)
from discreet.local.baskets.basket_operator import BasketOperator
from discreet.local.estimates import FrequencyEstimate, FrequencyOracle, MeanEstimate, MeanOperator
from discreet.local.operator import Operator
from discreet.local.report_formats import ReportCounts, count_stored_reports
from discreet.mechanisms import get_mechanism_name
from discreet.services.addresses import parse_engine_address
from discreet.services.collect.collect_requests import EstimateRequest, MineRequest, ReportsRequest
from discreet.services.collect.operators import load_operator
from discreet.services.collect.report_files import ReportDescription, count_names, read_description
from discreet.services.collect.report_store import STORE_SUFFIX, ReportStore, get_view_name
from discreet.services.policy_engines import open_table_engine

TABLE = "reports"
MIN_NORMAL_REPORTS = 100
"""The least number of reports for which a normal approximation can show that a figure is impossible."""
MAX_WORDS_IN_MEMORY = 1 << 27  # a gigabyte of reports


@dataclass(frozen=True, kw_only=True)
class EstimateResult:
    """An estimate with the description of its reports; `total_epsilon` covers all reports of one client.

    Answers of one person may be correlated, so that each report reveals something about all of them.
    """

    description: ReportDescription
    estimate: FrequencyEstimate | MeanEstimate | ItemsetSupports
    confidence: float
    total_epsilon: float

    @property
    def is_approximate(self) -> bool:
        """True if intervals are a normal approximation, which is rough for few reports."""
        return isinstance(self.estimate, FrequencyEstimate) and isinstance(
            self.description.operator, LINEAR_OPERATORS
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """A sentence for each figure that honest reports do not explain, at odds of a million to one."""
        names, few = self.description.values, self.estimate.clients < MIN_NORMAL_REPORTS
        if isinstance(self.estimate, MeanEstimate):
            mean = f"The mean of {self.description.column}"
            return (_impossible_figure_warning(mean),) if not few and self.estimate.is_impossible else ()
        _, share = self.row_names
        codes = () if few and self.is_approximate else self.estimate.impossible_codes
        said = [_impossible_figure_warning(f"The {share} of {names[code]}") for code in codes]
        if isinstance(self.estimate, FrequencyEstimate) and not few and self.estimate.is_sum_impossible:
            said.append(_impossible_figure_warning("The sum of all shares"))
        return tuple(said)

    @property
    def row_names(self) -> tuple[str, str]:
        """The names of a value and its share: of an item and its support, for baskets."""
        return ("item", "support") if isinstance(self.estimate, ItemsetSupports) else ("value", "share")

    def list_rows(self) -> list[dict[str, Any]]:
        """Return the shares of values or the supports of items with their intervals, one row each."""
        assert not isinstance(self.estimate, MeanEstimate)
        low, high = self.estimate.intervals(self.confidence)
        if isinstance(self.estimate, ItemsetSupports):
            raw = self.estimate.estimate_each(np.arange(self.estimate.operator.items)[:, None]).supports
            shares = raw.clip(0.0, 1.0)
        else:
            raw, shares = self.estimate.raw, self.estimate.shares
        columns = (shares.tolist(), raw.tolist(), low.tolist(), high.tolist())
        return [
            dict(zip((*self.row_names, "raw", "low", "high"), row, strict=True))
            for row in zip(self.description.values, *columns, strict=True)
        ]

    @property
    def belief_bound(self) -> tuple[float, float]:
        """A prior, and the highest posterior after all reports of one client."""
        prior, group = self.description.prior_and_group
        return prior, highest_posterior(prior, self.total_epsilon * group)


def estimate_reports(request: EstimateRequest) -> list[EstimateResult]:
    """Return the estimate from a table of reports, or one for every question of a survey's store."""
    if request.engine is None and Path(request.reports).suffix.lower() == STORE_SUFFIX:
        return _select_question(_estimate_store_file(request), request.question)
    description = describe_reports(request)
    with open_reports(request) as engine:
        found = estimate_table(description, engine, TABLE, request.confidence)
    return _select_question([found], request.question)


def _estimate_store_file(request: EstimateRequest) -> list[EstimateResult]:
    if request.operator is not None:
        raise RequestError("A survey's store records its operators.", hint="Leave `operator=` out.")
    with ReportStore.open_readonly(Path(request.reports)) as store:
        return estimate_store(store, request.confidence)


def open_reports(request: ReportsRequest) -> Engine:
    """Open the engine that counts the reports, as its table `TABLE`."""
    if request.engine is None:
        return DuckDB({TABLE: Path(request.reports)})
    return open_table_engine(request.engine, TABLE, request.reports)


def describe_reports(request: ReportsRequest) -> ReportDescription:
    """Return the description of reports, from the operator that was given or from the file's own metadata."""
    path, address = Path(request.reports), request.engine
    if request.operator is not None:
        operator, promise = load_operator(request.operator)
        codes = tuple(str(code) for code in range(count_names(operator)))
        return ReportDescription(operator=operator, values=codes, column="value", promise=promise)
    if address is None or (parse_engine_address(address).reads_files and path.is_file()):
        return read_description(path)
    raise RequestError(
        f"{request.reports} does not say which operator made its reports.",
        hint="Give it with `operator=OPERATOR.yaml`.",
    )


def estimate_store(store: ReportStore, confidence: float) -> list[EstimateResult]:
    """Return the estimates of every question of a survey."""
    described = store.descriptions
    together = sum(each.operator.epsilon for each in described)
    return [
        replace(estimate_table(each, store, get_view_name(place), confidence), total_epsilon=together)
        for place, each in enumerate(described)
    ]


def _select_question(found: list[EstimateResult], name: str | None) -> list[EstimateResult]:
    chosen = [each for each in found if name is None or each.description.column == name]
    if not chosen:
        known = ", ".join(each.description.column for each in found)
        raise RequestError(f"There is no question {name}.", hint=f"There is {known}.")
    return chosen


def estimate_table(
    description: ReportDescription, engine: Engine, table: str, confidence: float
) -> EstimateResult:
    """Return the estimate from a table of reports in any engine."""
    operator = description.operator
    counts = _count_reports(operator, engine, table)
    if counts.clients == 0:
        raise _no_reports_error()
    if isinstance(operator, BASKET_OPERATORS):
        supports = operator.estimate_stored(engine, table, counts)
        return EstimateResult(
            description=description, estimate=supports, confidence=confidence, total_epsilon=operator.epsilon
        )
    return estimate_counts(description, counts, confidence)


def estimate_counts(
    description: ReportDescription, counts: ReportCounts, confidence: float
) -> EstimateResult:
    """Return the estimate from counted reports of values or numbers."""
    operator = description.operator
    found = cast("FrequencyOracle | MeanOperator", operator).estimate(counts)  # it is one of the two
    return EstimateResult(
        description=description, estimate=found, confidence=confidence, total_epsilon=operator.epsilon
    )


def _impossible_figure_warning(what: str) -> str:
    return (
        f"{what} is estimated outside the possible range, and chance does not explain it: some reports were "
        "made up, or made by another operator. Do not rely on these figures."
    )


def _count_reports(operator: Operator, engine: Engine, table: str) -> ReportCounts:
    """Return the counts of reports; raise if the table's columns are not those of this operator."""
    if isinstance(engine, ValidatesStatements):
        try:
            for sql in operator.report_format.build_count_queries(table):
                engine.validate(sql)
        except RequestError:
            raise _wrong_columns_error() from None
        return count_stored_reports(operator.report_format, engine, table)
    try:
        return count_stored_reports(operator.report_format, engine, table)
    except EngineFault:
        raise _wrong_columns_error() from None


def _estimate_supports(description: ReportDescription, engine: Engine) -> ItemsetSupports:
    """Return the supports of itemsets in a table of baskets, usable while the engine is open."""
    operator = cast("BasketOperator", description.operator)
    counts = _count_reports(operator, engine, TABLE)
    if counts.clients == 0:
        raise _no_reports_error()
    if counts.clients * operator.report_format.word_count > MAX_WORDS_IN_MEMORY:
        return operator.estimate_stored(engine, TABLE, counts)
    names = ", ".join(f"w{word}" for word in range(operator.report_format.word_count))
    table = engine.count(f"SELECT {names} FROM {TABLE}").secret
    return operator.estimate(operator.report_format.from_arrow(table))


def _wrong_columns_error() -> DataError:
    return DataError(
        "The columns of the reports are not those of this operator.",
        hint="Estimate with the operator that made the reports.",
    )


def _no_reports_error() -> DataError:
    return DataError("There are no reports yet.", hint="Collect some first.")


@dataclass(frozen=True, kw_only=True)
class MiningResult:
    """Itemsets and rules, and the number of baskets that they were mined from."""

    description: ReportDescription
    request: MineRequest
    clients: int
    frequent: FrequentItemsets
    rules: tuple[AssociationRule, ...]

    def name_items(self, itemset: tuple[int, ...]) -> list[str]:
        """Return the names of an itemset's items."""
        return [self.description.values[item] for item in itemset]


def mine_reports(request: MineRequest) -> MiningResult:
    """Return the itemsets and rules that chance does not explain, from reports in a file or an engine."""
    description = describe_reports(request)
    if not isinstance(description.operator, BASKET_OPERATORS):
        raise RequestError(
            "Itemsets are mined from baskets; these are reports of "
            f"{get_mechanism_name(type(description.operator))}.",
            hint="Use discreet collect estimate.",
        )
    with open_reports(request) as engine:
        supports = _estimate_supports(description, engine)
        frequent = find_frequent_itemsets(
            supports, request.min_support, max_size=request.max_size, confidence=request.confidence
        )
        rules = find_rules(supports, frequent, request.min_strength)
        return MiningResult(
            description=description,
            request=request,
            clients=supports.clients,
            frequent=frequent,
            rules=rules,
        )

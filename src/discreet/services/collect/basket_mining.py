"""Mining of frequent itemsets and association rules from randomized baskets, in a file or an engine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from discreet.core.engine import Engine
from discreet.core.errors import RequestError
from discreet.engines.duckdb import DuckDB
from discreet.local import BASKET_OPERATORS
from discreet.local.baskets import AssociationRule, FrequentItemsets, find_frequent_itemsets, find_rules
from discreet.mechanisms import get_mechanism_name
from discreet.services.collect.estimate import (
    TABLE,
    describe_engine_reports,
    describe_file_reports,
    estimate_supports,
)
from discreet.services.collect.report_files import ReportDescription
from discreet.services.policy_engines import open_table_engine


@dataclass(frozen=True, kw_only=True)
class MiningRequest:
    """The least support and strength, the longest itemset, and the confidence of the result."""

    min_support: float
    min_strength: float
    max_size: int
    confidence: float


@dataclass(frozen=True, kw_only=True)
class MiningResult:
    """Itemsets and rules, and the number of baskets that they were mined from."""

    description: ReportDescription
    request: MiningRequest
    clients: int
    frequent: FrequentItemsets
    rules: tuple[AssociationRule, ...]

    def name_items(self, itemset: tuple[int, ...]) -> list[str]:
        """Return the names of an itemset's items."""
        return [self.description.values[item] for item in itemset]


def mine_file(path: Path, operator: Path | None, request: MiningRequest) -> MiningResult:
    """Return the itemsets and rules of a file of reports."""
    description = _require_baskets(describe_file_reports(path, operator))
    with DuckDB({TABLE: path}) as engine:
        return _mine_reports(description, engine, request)


def mine_in_engine(address: str, table: str, operator: Path | None, request: MiningRequest) -> MiningResult:
    """Return the itemsets and rules of an engine's table or path."""
    description = _require_baskets(describe_engine_reports(address, table, operator))
    with open_table_engine(address, TABLE, table) as engine:
        return _mine_reports(description, engine, request)


def _require_baskets(description: ReportDescription) -> ReportDescription:
    if not isinstance(description.operator, BASKET_OPERATORS):
        raise RequestError(
            "Itemsets are mined from baskets; these are reports of "
            f"{get_mechanism_name(type(description.operator))}.",
            hint="Use discreet collect estimate.",
        )
    return description


def _mine_reports(description: ReportDescription, engine: Engine, request: MiningRequest) -> MiningResult:
    supports = estimate_supports(description, engine)
    mined = find_frequent_itemsets(
        supports, request.min_support, max_size=request.max_size, confidence=request.confidence
    )
    found = find_rules(supports, mined, request.min_strength)
    return MiningResult(
        description=description, request=request, clients=supports.clients, frequent=mined, rules=found
    )

"""Mining of frequent itemsets and association rules from randomized baskets, in a file or an engine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from discreet.app.collect.estimating import TABLE, describe, describe_in, supports_of
from discreet.app.collect.report_files import Description
from discreet.app.engines import opened_over
from discreet.core.engine import Engine
from discreet.core.errors import RequestError
from discreet.engines.duckdb import DuckDB
from discreet.local import BASKETS
from discreet.local.baskets import Mined, Rule, frequent, rules
from discreet.mechanisms import get_mechanism_name


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """The least support and strength, the longest itemset, and the confidence of the result."""

    support: float
    strength: float
    longest: int
    confidence: float


@dataclass(frozen=True, kw_only=True)
class Found:
    """Itemsets and rules, and the number of baskets that they were mined from."""

    description: Description
    wanted: Wanted
    clients: int
    mined: Mined
    rules: tuple[Rule, ...]

    def names(self, itemset: tuple[int, ...]) -> list[str]:
        """Return the names of an itemset's items."""
        return [self.description.values[item] for item in itemset]


def mine_file(path: Path, operator: Path | None, wanted: Wanted) -> Found:
    """Return the itemsets and rules of a file of reports."""
    description = _of_baskets(describe(path, operator))
    with DuckDB({TABLE: path}) as engine:
        return _mined(description, engine, wanted)


def mine_in(address: str, table: str, operator: Path | None, wanted: Wanted) -> Found:
    """Return the itemsets and rules of an engine's table or path."""
    description = _of_baskets(describe_in(address, table, operator))
    with opened_over(address, TABLE, table) as engine:
        return _mined(description, engine, wanted)


def _of_baskets(description: Description) -> Description:
    if not isinstance(description.operator, BASKETS):
        raise RequestError(
            "Itemsets are mined from baskets; these are reports of "
            f"{get_mechanism_name(type(description.operator))}.",
            hint="Use discreet collect estimate.",
        )
    return description


def _mined(description: Description, engine: Engine, wanted: Wanted) -> Found:
    supports = supports_of(description, engine)
    mined = frequent(supports, wanted.support, longest=wanted.longest, confidence=wanted.confidence)
    found = rules(supports, mined, wanted.strength)
    return Found(description=description, wanted=wanted, clients=supports.clients, mined=mined, rules=found)

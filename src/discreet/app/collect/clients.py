"""The clients whose values are to be randomized: where these are, and what they can be.

Domain      from the policy's column or from --values, never from the data: a domain that were read off the
            data would tell which values occur.
One each    Every row is one person's one answer. A table whose people may have several rows is refused: each
            of them would cost the promise once more.
Counted     The engine looks values up and counts codes; what is outside of the domain comes back as a number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from discreet.app.policies import load
from discreet.core.errors import DataError, RequestError
from discreet.core.policy import Column, Kind, Policy, Table
from discreet.engines.connection import quoted
from discreet.engines.publishing import DuckDBPublisher
from discreet.local.thresholds import LARGEST_DOMAIN
from discreet.mechanisms.sampling import Integers

ANSWERS, DOMAIN = "answers", "_discreet_domain"
POLICY = Path("privacy.yaml")
READ_AS = {Kind.INTEGER: "BIGINT", Kind.BOOLEAN: "BOOLEAN"}


@dataclass(frozen=True, kw_only=True)
class Clients:
    """A row each: the column, its values in the order of their codes, the policy if one declares them."""

    source: Table
    column: str
    values: tuple[str, ...]
    other: str | None = None
    policy: Policy | None = None
    name: str = ANSWERS

    def count(self) -> Integers:
        """How many answers each value has; refused where one is outside of the domain."""
        codes = pa.table({"value": list(self.values), "code": np.arange(len(self.values))})
        facts = {self.column: self.source.columns[self.column]}
        table = self.source.model_copy(update={"columns": facts, "links": {}, "person": "row"})
        with DuckDBPublisher({ANSWERS: table}) as publisher:
            found = publisher.count(self._sql(), {DOMAIN: codes}).secret
        counts, outside = np.zeros(len(self.values), np.int64), 0
        for code, people in zip(found["code"].to_pylist(), found["people"].to_pylist(), strict=True):
            if code is None:
                outside = people
            else:
                counts[code] = people
        return self._complete(counts, outside)

    def _sql(self) -> str:
        text = f"CAST(a.{quoted(self.column)} AS VARCHAR)"
        kind = READ_AS.get(self.source.columns[self.column].type)
        if kind is not None:  # as numbers, 07 and 7 are one
            text = f"CAST(TRY_CAST(trim({text}) AS {kind}) AS VARCHAR)"
        return (
            f"SELECT d.code, COUNT(*) AS people FROM {quoted(ANSWERS)} AS a "
            f"LEFT JOIN {quoted(DOMAIN)} AS d ON d.value = {text} GROUP BY d.code"
        )

    def _complete(self, counts: Integers, outside: int) -> Integers:
        if outside and self.other is None:
            raise DataError(
                f"{outside:,} of {outside + int(counts.sum()):,} answers in {self.column} are outside of the "
                f"domain of {len(self.values):,} values.",
                hint="Declare what is missing, or name a value that stands for the rest: --other VALUE.",
            )
        if self.other is not None:
            counts[self.values.index(self.other)] += outside
        if not counts.any():
            raise DataError(f"There is no answer in {self.column}.", hint="Name a file that has some.")
        return counts


def find_clients(
    table: str, column: str, values: str | None, policy: Path | None, other: str | None
) -> Clients:
    """The clients that a command line names."""
    declared = load(policy) if policy is not None else load(POLICY) if POLICY.is_file() else None
    name = _in_policy(table, declared)
    if name is not None and declared is not None:
        found = _of_policy(declared, name, column, values)
    else:
        found = _of_file(Path(table), column, values)
    if other is not None and other not in found.values:
        raise RequestError(f"--other must be one of the values; got {other}.", hint="Add it to the values.")
    return replace(found, other=other)


def parse_values(text: str) -> tuple[str, ...]:
    """Values as typed: a,b,c or 0..100.

    >>> parse_values("yes, no"), parse_values("1..3")
    (('yes', 'no'), ('1', '2', '3'))
    """
    span = re.fullmatch(r"\s*(-?\d{1,18})\s*\.\.\s*(-?\d{1,18})\s*", text)
    if span is not None:
        return _span("--values", int(span[1]), int(span[2]))
    values = tuple(value.strip() for value in text.split(","))
    if len(values) < 2 or not all(values) or len(set(values)) < len(values):
        raise RequestError(
            "--values must be at least two different values.", hint="Write them as a,b,c or as 0..100."
        )
    return values


def _in_policy(table: str, policy: Policy | None) -> str | None:
    """The policy's table of this name, or the one whose rows are in this file."""
    if policy is None:
        return None
    if table in policy.tables:
        return table
    here = str(Path(table).absolute())
    return next((name for name, entry in policy.tables.items() if entry.source == here), None)


def _of_policy(policy: Policy, name: str, column: str, values: str | None) -> Clients:
    source = policy.tables[name]
    if column not in source.columns:
        raise RequestError(
            f"Table {name} of the policy has no column {column}.", hint=f"It has {', '.join(source.columns)}."
        )
    if source.knows_people:
        raise RequestError(
            f"People of {name} may have several rows, and each report would cost the promise once more.",
            hint="Collect from a table in which every row is another person.",
        )
    if values is not None:
        raise RequestError(f"The policy says which values {column} has; --values is for files.")
    domain = _declared(name, column, source.columns[column])
    return Clients(source=source, column=column, values=domain, policy=policy, name=name)


def _of_file(path: Path, column: str, values: str | None) -> Clients:
    if not path.is_file():
        raise RequestError(
            f"There is no table {path} in a policy and no such file.", hint="Name a CSV or Parquet file."
        )
    if values is None:
        raise RequestError(
            f"Nothing says which values {column} can have, and they are not taken from the data.",
            hint="Give --values a,b,c, or a --policy that declares them.",
        )
    facts = {column: Column(type=Kind.TEXT)}
    source = Table(source=str(path.absolute()), columns=facts)
    return Clients(source=source, column=column, values=parse_values(values))


def _declared(table: str, name: str, column: Column) -> tuple[str, ...]:
    """What a policy says that a column can be."""
    if column.values is not None:
        return column.values
    if column.type is Kind.BOOLEAN:
        return ("false", "true")
    if column.type is Kind.INTEGER and column.grid is not None:
        return _span(f"{table}.{name}", *column.grid)
    raise RequestError(
        f"The policy does not list the values of {table}.{name}.",
        hint="Declare it as a category with values, or as an integer with low and high.",
    )


def _span(name: str, low: int, high: int) -> tuple[str, ...]:
    if not 0 < high - low < LARGEST_DOMAIN:
        raise RequestError(f"{name} must span from 2 to {LARGEST_DOMAIN:,} values; got {low} to {high}.")
    return tuple(str(each) for each in range(low, high + 1))

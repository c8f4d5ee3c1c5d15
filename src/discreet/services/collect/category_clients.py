"""Clients with one value of a list each. The engine looks up the values and counts their codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
import pyarrow as pa

from discreet.belief import Promise
from discreet.core.engine import Publisher
from discreet.core.errors import DataError, RequestError
from discreet.core.sql_quoting import quote_identifier
from discreet.local.design import design_frequencies
from discreet.local.operator import FrequencyOracle, Operator
from discreet.mechanisms.sampling import Integers
from discreet.services.collect.clients import ANSWERS, DOMAIN, MISSING, AnswerColumn

MAX_ERROR_RATIO = 1.05


@dataclass(frozen=True, kw_only=True)
class CategoryClients:
    """Clients with one row each; `other` stands for answers outside the list, if any value does."""

    answers: AnswerColumn
    values: tuple[str, ...]
    other: str | None = None
    extra_columns: tuple[str, ...] = ()

    def choose_operator(self, promise: Promise) -> Operator:
        """Return the operator with the shortest reports among those with almost the least error."""
        designs = design_frequencies(promise, len(self.values), 1)
        near = [each for each in designs if each.error <= MAX_ERROR_RATIO * designs[0].error]
        return min(near, key=lambda each: each.bits).operator

    def require_fit(self, operator: Operator) -> None:
        if operator.values != len(self.values):
            raise RequestError(
                f"The operator is for {operator.values:,} values; {self.answers.column} has "
                f"{len(self.values):,}{self._missing_value_note}."
            )
        cast("FrequencyOracle", operator).variance(1 / 2, 1)  # raises where nothing can be learned

    @property
    def _missing_value_note(self) -> str:
        return ", the missing one among them" if self.answers.policy and self.other == MISSING else ""

    def read_values(self, operator: Operator, publisher: Publisher) -> Integers:
        """Return the code of every answer, sorted by code, so that the order of rows is not revealed."""
        codes = pa.table({"value": list(self.values), "code": np.arange(len(self.values))})
        found = publisher.count(
            f"SELECT d.code, COUNT(*) AS people FROM {quote_identifier(ANSWERS)} AS a "
            f"LEFT JOIN {quote_identifier(DOMAIN)} AS d ON d.value = {self.answers.text_sql} GROUP BY d.code",
            {DOMAIN: codes},
        ).secret
        counts, outside = np.zeros(len(self.values), np.int64), 0
        for code, people in zip(found["code"].to_pylist(), found["people"].to_pylist(), strict=True):
            if code is None:
                outside = people
            else:
                counts[code] = people
        return np.repeat(np.arange(counts.size), self._complete_counts(counts, outside))

    def _complete_counts(self, counts: Integers, outside: int) -> Integers:
        column = self.answers.column
        if outside and self.other is None:
            raise DataError(
                f"Some answers in {column} are not among the {len(self.values):,} values.",
                hint="Add the missing values, or name a value that stands for the rest: --other VALUE.",
            )
        if self.other is not None:
            counts[self.values.index(self.other)] += outside
        if not counts.any() and self.answers.policy is None:
            raise DataError(f"There is no answer in {column}.", hint="Name a file that has some.")
        return counts

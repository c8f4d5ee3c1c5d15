"""Released rows that a user converts to a frame: shared by answers, counts and synthetic tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from discreet.belief.wording import format_number
from discreet.core.errors import RequestError
from discreet.core.html_summary import MAX_ROWS, build_facts, build_summary, build_table
from discreet.core.number_checks import Real

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


class ReleasedTable(ABC):
    """A result whose rows may be published."""

    @abstractmethod
    def to_arrow(self) -> pa.Table:
        """Return the released rows as an Arrow table."""

    def to_pandas(self) -> pd.DataFrame:
        """Return the released rows as a pandas frame."""
        try:
            return self.to_arrow().to_pandas()
        except ImportError:
            raise RequestError("pandas is not installed.", hint="Run pip install pandas.") from None

    def to_polars(self) -> pl.DataFrame:
        """Return the released rows as a polars frame."""
        try:
            import polars as pl
        except ImportError:
            raise RequestError("polars is not installed.", hint="Run pip install polars.") from None
        frame = pl.from_arrow(self.to_arrow())
        assert isinstance(frame, pl.DataFrame)
        return frame

    def _summarize_rows(self, caption: str, facts: Sequence[tuple[str, str]]) -> str:
        """Return the first rows and the facts as HTML."""
        rows = self.to_arrow()
        numbers = [field.name for field in rows.schema if _is_number(field.type)]
        cells = [
            [_format_cell(value) for value in row.values()] for row in rows.slice(0, MAX_ROWS).to_pylist()
        ]
        table = build_table(rows.column_names, cells, caption=caption, right=numbers, row_count=rows.num_rows)
        return build_summary(table, build_facts(facts))


def name_entries(entries: Sequence[int]) -> str:
    """Return ledger entries by their numbers.

    >>> name_entries([3]), name_entries([1, 3])
    ('entry 3', 'entries 1, 3')
    """
    return f"{'entry' if len(entries) == 1 else 'entries'} {', '.join(map(str, entries))}"


def describe_cost(epsilon: Real, delta: Real, entry: int, *, repeated: bool) -> str:
    """Return a charge and its ledger entry in words.

    >>> describe_cost(0.5, 0, 3, repeated=False), describe_cost(0.5, 0, 3, repeated=True)
    ('epsilon 0.5 (entry 3)', 'nothing: asked before (entry 3)')
    """
    cost = f"epsilon {format_number(float(epsilon))}" + (f", delta {float(delta):g}" if delta else "")
    return f"{'nothing: asked before' if repeated else cost} (entry {entry})"


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _format_cell(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, float):
        text = f"{value:,.3f}"
        return text.rstrip("0").rstrip(".")
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)

"""Results of `synthesize`: synthetic rows and their cost; published, with the custodian's evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from discreet.accounting.entries import Entry
from discreet.belief.wording import format_count
from discreet.core.number_checks import Real
from discreet.core.release_target import ReleaseTarget
from discreet.mechanisms.sampling import Integers
from discreet.mining.synthesis import SynthesisPlan
from discreet.mining.synthesis.marginal_comparison import Comparison
from discreet.services.attack.evaluation import AttackEvaluation
from discreet.services.released_tables import ReleasedTable, describe_cost

LIMITS = (
    "Rows are generated from noisy counts and are as private as those counts. Relations between columns that "
    "were measured together are approximated; relations between other columns are lost."
)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SyntheticTable(ReleasedTable):
    """Synthetic rows that may be published, and their cost."""

    plan: SynthesisPlan
    table: pa.Table = field(repr=False)
    epsilon: Real
    delta: Real
    entry: int
    repeated: bool
    sentence: str
    earlier: tuple[Entry, ...] = ()

    def __repr__(self) -> str:
        rows, columns = format_count(self.table.num_rows, "row", "rows"), ", ".join(self.table.column_names)
        return f"<SyntheticTable of {self.plan.table}, {rows} ({columns}): {self._describe_cost()}>"

    def _repr_html_(self) -> str:
        facts = [("cost", self._describe_cost()), ("belief", self.sentence)]
        return self._summarize_rows(f"Synthetic table of {self.plan.table}", facts)

    def to_arrow(self) -> pa.Table:
        """Return the synthetic rows as an Arrow table."""
        return self.table

    def _describe_cost(self) -> str:
        return describe_cost(self.epsilon, self.delta, self.entry, repeated=self.repeated)

    @property
    def codes(self) -> Integers:
        """The rows as codes of bins."""
        columns = [self.table.column(each.name) for each in self.plan.schema.attributes]
        return np.asarray(
            self.plan.schema.encode([_column_to_values(column) for column in columns]), np.int64
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class SyntheticPublication:
    """A published synthetic table, with the custodian's comparison and attack evaluation.

    `useful` is a learner's accuracy by predicted column, trained on synthetic and on real rows. `files` are
    the rows and their certificate; the frontend writes the custodian's report beside them.
    """

    synthetic: SyntheticTable
    comparison: Comparison
    trial: AttackEvaluation
    useful: Mapping[str, tuple[float, float]]
    place: ReleaseTarget
    files: tuple[Path, ...]


def _column_to_values(column: pa.ChunkedArray) -> object:
    """Return a column in a form that `Attribute.encode` accepts."""
    if pa.types.is_dictionary(column.type):
        return column.combine_chunks().dictionary_decode().to_pylist()
    if pa.types.is_boolean(column.type):
        return column.to_pylist()
    return column.to_numpy(zero_copy_only=False) if column.null_count == 0 else column.to_pylist()

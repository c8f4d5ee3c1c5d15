"""Binned schema: the attributes that a model may use, and the target that it predicts.

All attributes' bins, one after the other, are the cells of the schema. It follows from the policy alone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.core.column_entry import BinScale, Column, ColumnType, Role
from discreet.core.errors import InvalidParameterError, RequestError, require_parameter
from discreet.core.table_entry import Table
from discreet.mechanisms.sampling import Integers
from discreet.mining.attributes import DEFAULT_BINS, Attribute, Codes


@dataclass(frozen=True, kw_only=True)
class Schema:
    """The columns that a model may use, and the one that it predicts, if any.

    *Cells* are the bins of all attributes, one attribute after the other.
    """

    attributes: tuple[Attribute, ...]
    target: Attribute | None = None

    def __post_init__(self) -> None:
        names = [each.name for each in (*self.attributes, *([self.target] if self.target else []))]
        require_parameter(
            bool(self.attributes), self, "attributes", "none", "at least one column to learn from"
        )
        for name in names:
            require_parameter(
                names.count(name) == 1, self, "attributes", name, "different columns, without the target"
            )

    @classmethod
    def from_table(
        cls,
        table: Table,
        target: str | None = None,
        *,
        features: Collection[str] | None = None,
        bins: int | Mapping[str, int] = DEFAULT_BINS,
        logarithmic: Collection[str] = (),
        is_classification: bool = True,
    ) -> Schema:
        """Return the schema that the policy declares: all columns with bins, or the named `features`.

        Columns of `logarithmic` are cut on a log scale, whatever scale the policy says. The target is a
        category, or with `is_classification` false a number.
        """
        for name in [*(features or ()), *logarithmic, *([target] if target is not None else [])]:
            if name not in table.columns or table.columns[name].role is Role.IDENTIFIER:
                raise RequestError(
                    f"The table has no column {name} that may be used.",
                    hint="Name columns that the policy declares and that are no identifiers.",
                )
        if features is not None:
            given = "columns" if target is None else "features"
            kept = [name for name in features if name != target]
            require_parameter(bool(kept), "", given, "none", "at least one column, beside the target")
            require_parameter(len(set(kept)) == len(kept), "", given, ", ".join(kept), "different columns")
        usable = [name for name, column in table.columns.items() if _is_usable(table, name, column)]
        chosen = [name for name in (features if features is not None else usable) if name != target]

        def make_attribute(name: str) -> Attribute:
            number = bins if isinstance(bins, int) else bins.get(name, DEFAULT_BINS)
            scale = BinScale.LOG if name in logarithmic else None
            return Attribute.from_column(name, table.columns[name], bins=number, scale=scale)

        goal = None if target is None else make_attribute(target)
        if goal is not None and goal.is_ordered == is_classification:
            wanted = (
                "a category with declared values" if is_classification else "a number with declared bounds"
            )
            raise RequestError(
                f"train: the target {target} must be {wanted}.", hint="Predict another column."
            )
        if goal is not None and goal.regular_bins < 2:
            raise RequestError(
                f"train: the target {target} has one declared value, so there is nothing to predict.",
                hint="Predict another column.",
            )
        made = cls(attributes=tuple(map(make_attribute, chosen)), target=goal)
        made._require_scalable(logarithmic)
        return made

    def _require_scalable(self, logarithmic: Collection[str]) -> None:
        """Refuse a log scale for columns that it cannot apply to."""
        every = (*self.attributes, *([self.target] if self.target else []))
        numbers = {each.name for each in every if each.is_ordered and each.kind is not ColumnType.DATE}
        for name in logarithmic:
            if name not in numbers:
                raise RequestError(
                    f"A log scale does not apply to {name}, which is not a numeric column of the model.",
                    hint="Leave it out of `logarithmic=`.",
                )

    @property
    def classes(self) -> int:
        """The number of values of the target; rows without a target are not used."""
        return self.target.regular_bins if self.target else 1

    @cached_property
    def offsets(self) -> Integers:
        """The first cell of each attribute, and finally the number of cells."""
        return np.concatenate([[0], np.cumsum([each.bins for each in self.attributes])]).astype(np.int64)

    @property
    def cells(self) -> int:
        return int(self.offsets[-1])

    def encode(self, columns: Sequence[Any]) -> Codes:
        """Return the bins of rows, one column of codes per attribute."""
        if len(columns) != len(self.attributes):
            raise InvalidParameterError(
                f"There are {len(columns)} columns where {len(self.attributes)} attributes are declared."
            )
        coded = [each.encode(column) for each, column in zip(self.attributes, columns, strict=True)]
        return np.stack(coded, axis=1)


def _is_usable(table: Table, name: str, column: Column) -> bool:
    bounded = column.low is not None and column.low != column.high and column.type is not ColumnType.TIMESTAMP
    declared = bounded or column.values is not None or column.type is ColumnType.BOOLEAN
    return declared and column.role is not Role.IDENTIFIER and name != table.person_column

"""Column entries of a policy: type, public bounds or values, and role for an attacker.

Numbers lie on a grid: the integers, or the multiples of a resolution. Bounds become whole grid steps, so that
clamping, sums and sensitivities are exact.
"""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any

from pydantic import AliasChoices, Field, field_validator, model_validator

from discreet.core.hierarchy_entry import MissingValues, StrictModel, is_moderate

WIDEST = 2**53  # below it, doubles hold every integer, and engines may convert to them
LONGEST_TEXT = 1_000  # characters of a text that are kept, so that one person's text takes bounded time


class ColumnType(StrEnum):
    """The type of a column's values."""

    INTEGER = "integer"
    DECIMAL = "decimal"
    CATEGORY = "category"
    TEXT = "text"
    DATE = "date"
    TIMESTAMP = "timestamp"
    BOOLEAN = "boolean"


class Role(StrEnum):
    """The role of a column for an attacker."""

    IDENTIFIER = "identifier"
    QUASI = "quasi"
    SENSITIVE = "sensitive"
    OTHER = "other"


BOUNDS: dict[ColumnType, tuple[tuple[type, ...], str]] = {
    ColumnType.INTEGER: ((int, Decimal), "numbers"),
    ColumnType.DECIMAL: ((int, Decimal), "numbers"),
    ColumnType.DATE: ((date,), "dates"),
    ColumnType.TIMESTAMP: ((date,), "times without a zone"),
}
BOOLEANS = {ColumnType.BOOLEAN: ("false", "true")}


def is_bound(kind: ColumnType, bound: object) -> bool:
    """Return whether a value can be a bound of a column of this type."""
    if kind not in BOUNDS or not isinstance(bound, BOUNDS[kind][0]):
        return False
    if isinstance(bound, datetime):
        return kind is ColumnType.TIMESTAMP and bound.tzinfo is None
    return not isinstance(bound, Decimal) or is_moderate(bound)


def is_ordered(low: Any, high: Any) -> bool:
    """Return whether two bounds of one type are in order."""
    # a date and a datetime do not compare with each other, but their ISO texts do
    if isinstance(low, date) and isinstance(high, date):
        return low.isoformat() <= high.isoformat()
    return bool(low <= high)


class BinScale(StrEnum):
    """The scale on which a number is divided into bins of equal width."""

    LINEAR = "linear"
    LOG = "log"


class LearnedFrom(StrictModel):
    """The charged release that a column's bounds or values were learned from, by `discreet bounds`.

    `entry` is its number in the ledger, of the `analyst` where the policy names several. `identity` tells the
    ledger from others: one that answers questions with these bounds later names it.
    """

    entry: int = Field(ge=1, description="The number of the entry in the ledger.", examples=[3])
    ledger: str = Field(description="The name of the ledger.", examples=["ledger.db"])
    identity: str = Field(description="What tells the ledger from others.", examples=["9e64cd"])
    epsilon: float = Field(gt=0, allow_inf_nan=False, description="What it was charged.", examples=[0.05])
    analyst: str | None = Field(
        default=None,
        description="The analyst whose entry it is, where there are several.",
        examples=["alice"],
    )


class Column(StrictModel):
    """One column: its type, its public bounds or values, its role.

    `from` is the column's name in the source, where it is another: any header, such as "Gewicht/kg".
    `nulls`: true, values may be missing, and NULL is a group key like others; false, no value is missing, so
    that counting its values is counting rows; unset, values may be missing, and NULL is not a group key. No
    sensitivity depends on it. `missing` is the treatment of rows without a value when the table is published.
    `scale` is how a number is binned where a model is trained: into bins of equal width, or of equal width of
    its logarithm. `learned` says where bounds or values come from that were learned from the data.
    """

    type: ColumnType = Field(
        default=ColumnType.TEXT,
        description="The type of its values; a value that cannot be read as it is missing.",
        examples=["decimal"],
    )
    role: Role = Field(
        default=Role.OTHER,
        description="What it tells an attacker: identifier (never released), quasi (known to others), "
        "sensitive, other.",
        examples=["quasi"],
    )
    low: int | Decimal | date | datetime | None = Field(
        default=None,
        description="A public lower bound; smaller values are raised to it. Sums and averages need bounds.",
        examples=[0],
    )
    high: int | Decimal | date | datetime | None = Field(
        default=None, description="A public upper bound; larger values are lowered to it.", examples=[120]
    )
    resolution: Decimal | None = Field(
        default=None,
        description="The step to which decimals are rounded; a decimal with bounds needs one.",
        examples=["0.01"],
    )
    values: tuple[str, ...] | None = Field(
        default=None,
        description="The public list of a category's values; others become missing.",
        examples=[["Private", "State-gov"]],
    )
    nulls: bool | None = Field(
        default=None,
        description="Whether NULL is a group of its own (true), or no value is missing (false); unset, "
        "NULL is no group.",
        examples=[False],
    )
    hierarchy: str | None = Field(
        default=None,
        description="The entry of hierarchies by which it is generalized; by default the one of its own "
        "name.",
        examples=["ages"],
    )
    missing: MissingValues | None = Field(
        default=None,
        description="What becomes of rows without a value when the table is published.",
        examples=["suppress"],
    )
    scale: BinScale | None = Field(
        default=None,
        description="How a number is divided into bins for models: of equal width, or of equal width of "
        "its logarithm.",
        examples=["log"],
    )
    source_name: str | None = Field(
        default=None,
        # `from` is a keyword of Python: programs write source_name
        validation_alias=AliasChoices("from", "source_name"),
        serialization_alias="from",
        min_length=1,
        max_length=10_000,
        description="Its name in the source, where that is another: any header.",
        examples=["Gewicht/kg"],
    )
    learned: LearnedFrom | None = Field(
        default=None,
        description="The ledger entry of its bounds or values, as `discreet bounds --write` writes it.",
        examples=[{"entry": 3, "ledger": "ledger.db", "identity": "9e64cd", "epsilon": 0.05}],
    )

    @field_validator("values", mode="before")
    @classmethod
    def _stringify_values(cls, value: Any) -> Any:
        return [str(each) for each in value] if isinstance(value, list) else value

    @model_validator(mode="after")
    def _check_consistency(self) -> Column:
        if (self.low is None) != (self.high is None):
            raise ValueError("low and high go together: declare both")
        if self.low is not None and self.type not in BOUNDS:
            raise ValueError(f"low and high have no meaning for type {self.type.value}")
        if not all(bound is None or is_bound(self.type, bound) for bound in (self.low, self.high)):
            raise ValueError(f"low and high must be {BOUNDS[self.type][1]} for type {self.type.value}")
        if self.low is not None and self.high is not None and not is_ordered(self.low, self.high):
            raise ValueError("low must not be above high")
        if self.values is not None and self.type is not ColumnType.CATEGORY:
            raise ValueError("values go with type category")
        if self.values is not None and (not self.values or len(set(self.values)) < len(self.values)):
            raise ValueError("values must be a list of different values")
        if self.resolution is not None and self.type is not ColumnType.DECIMAL:
            raise ValueError("resolution goes with type decimal")
        if self.resolution is not None and not (self.resolution > 0 and is_moderate(self.resolution)):
            raise ValueError("resolution must be above 0, such as 0.01")
        if self.type is ColumnType.DECIMAL and self.low is not None and self.resolution is None:
            raise ValueError("a decimal with bounds needs a resolution, such as 0.01")
        if max(map(abs, self.grid_bounds or (0, 0))) >= WIDEST:
            raise ValueError("bounds must stay below 2**53 steps of the resolution")
        if self.scale is not None and (self.grid_bounds is None or self.low == self.high):
            raise ValueError("scale goes with low and high of a number")
        if self.grid_bounds is not None and self.grid_bounds[0] > self.grid_bounds[1]:
            raise ValueError("no multiple of the resolution lies between low and high")
        return self

    @model_validator(mode="after")
    def _check_learned(self) -> Column:
        if self.learned is not None and self.low is None and self.values is None:
            raise ValueError("learned goes with low and high, or with values")
        return self

    @property
    def grid_step(self) -> Fraction:
        """One step of the grid on which the column's numbers lie."""
        return Fraction(self.resolution) if self.resolution is not None else Fraction(1)

    @property
    def max_text_length(self) -> int:
        """The length of the longest text that is kept; longer values are cut."""
        return max(map(len, self.values)) if self.values else LONGEST_TEXT

    @property
    def grid_bounds(self) -> tuple[int, int] | None:
        """The bounds of a number in grid steps, or None where it has none."""
        if self.type not in (ColumnType.INTEGER, ColumnType.DECIMAL) or self.low is None or self.high is None:
            return None
        low, high = (Fraction(bound) for bound in (self.low, self.high))  # type: ignore[arg-type]
        return -((-low) // self.grid_step), high // self.grid_step

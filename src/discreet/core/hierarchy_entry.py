"""Hierarchy entries of a policy: the generalization of a column, by one of these kinds.

    csv      {csv: occupation.csv}                     ARX's format: value;level 1;…;*
    numbers  {widths: [5, 10, 20]}                     intervals from `low` on; each width a multiple
             {cuts: [[18, 30, 65], [18, 65]]}          or where intervals begin, level by level
    mask     {mask: right}                             13053 → 1305* → 130**
    tree     {tree: {"*": {Asian: [Japanese, Indian], American: [US, Canadian]}}}
    dates    {dates: [month, year, decade]}
    order    {order: [low, middle, high], widths: [2]} ordered values by consecutive runs; or with `cuts`

`low` and `high` are the domain of numbers and dates; without them the domain is the one that the column
declares. `discreet.anonymity.hierarchies` applies an entry to values.

The base class of all policy entries.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from enum import StrEnum
from itertools import pairwise
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator


class StrictModel(BaseModel):
    """A frozen model that refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)


def is_moderate(number: Decimal) -> bool:
    """Return whether a decimal is small and short enough to be turned into a fraction."""
    # the fraction of 1e999999999 would write out all its zeros
    return number.is_finite() and abs(number.adjusted()) <= 30 and len(number.as_tuple().digits) <= 60


Number = Decimal | int
LONGEST_CODE = 64


class MaskSide(StrEnum):
    """The end of a code that is masked first."""

    RIGHT = "right"
    LEFT = "left"


class MaskAlphabet(StrEnum):
    """The characters that a masked code consists of."""

    DIGITS = "digits"
    LETTERS = "letters"
    ALPHANUMERIC = "alphanumeric"


class Period(StrEnum):
    """A span of time, from short to long; each lies within one of the next."""

    DAY = "day"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"
    DECADE = "decade"


class MissingValues(StrEnum):
    """The treatment of rows without a value in a column when a table is published."""

    CATEGORY = "category"
    SUPPRESS = "suppress"


PERIODS = tuple(Period)
MAIN = ("csv", "mask", "tree", "dates", "order", "widths", "cuts")
BESIDE = {
    "csv": (),
    "mask": ("alphabet", "length"),
    "tree": (),
    "dates": ("low", "high"),
    "order": ("widths", "cuts"),
    "widths": ("low", "high"),
    "cuts": ("low", "high"),
}


class HierarchyEntry(StrictModel):
    """One hierarchy of the policy, of exactly one kind."""

    csv: str | None = Field(
        default=None, description="A file in ARX's format: value;level 1;…;*.", examples=["occupation.csv"]
    )
    widths: tuple[Number, ...] | None = Field(
        default=None,
        description="Widths of intervals, level by level, each a multiple of the one before.",
        examples=[[5, 10, 20]],
    )
    cuts: tuple[tuple[str, ...], ...] | None = Field(
        default=None,
        description="Where intervals begin, level by level.",
        examples=[[["18", "30", "65"], ["18", "65"]]],
    )
    low: int | Decimal | date | None = Field(
        default=None, description="The first value of the domain; by default the column's.", examples=[0]
    )
    high: int | Decimal | date | None = Field(
        default=None, description="The last value of the domain; by default the column's.", examples=[120]
    )
    mask: MaskSide | None = Field(
        default=None,
        description="The end of a code that is masked first: 13053, 1305*, 130**.",
        examples=["right"],
    )
    alphabet: MaskAlphabet | None = Field(
        default=None, description="The characters of a masked code.", examples=["digits"]
    )
    length: int | None = Field(
        default=None, ge=1, le=LONGEST_CODE, description="The length of a masked code.", examples=[5]
    )
    tree: Any = Field(
        default=None,
        description="Values in groups of groups.",
        examples=[{"*": {"Asian": ["Japanese"], "American": ["US"]}}],
    )
    dates: tuple[Period, ...] | None = Field(
        default=None,
        description="The periods to which a date is generalized, level by level.",
        examples=[["month", "year", "decade"]],
    )
    order: tuple[str, ...] | None = Field(
        default=None,
        description="Values in their order, generalized to runs of them.",
        examples=[["low", "middle", "high"]],
    )

    @field_validator("cuts", mode="before")
    @classmethod
    def _normalize_cuts(cls, value: Any) -> Any:
        """Wrap a single list as one level."""
        if not isinstance(value, list | tuple):
            return value
        levels = value if value and all(isinstance(each, list | tuple) for each in value) else [value]
        return [[str(cut) for cut in level] for level in levels]

    @model_validator(mode="after")
    def _check_consistency(self) -> HierarchyEntry:
        self._require_one_kind()
        empty = [name for name in ("widths", "cuts", "dates", "order") if getattr(self, name) == ()]
        if empty:
            raise ValueError(f"{empty[0]} must be a list of at least one")
        if self.widths is not None:
            _check_widths(self.widths, whole=self.order is not None)
        if self.cuts is not None:
            _check_cuts(self.cuts, None if self.order is None else list(self.order))
        if self.order is not None and len(set(self.order)) < len(self.order):
            raise ValueError("order must be a list of different values")
        if self.dates is not None and list(self.dates) != sorted(set(self.dates), key=PERIODS.index):
            raise ValueError(f"dates must rise, from {', '.join(PERIODS)}")
        if self.tree is not None:
            check_tree(self.tree)
        self._check_domain()
        return self

    @property
    def kind(self) -> str:
        """The key that determines the kind of hierarchy."""
        return next(name for name in MAIN if getattr(self, name) is not None)

    @property
    def cut_numbers(self) -> tuple[tuple[Decimal, ...], ...]:
        """The cut points of numeric intervals, level by level."""
        return tuple(tuple(Decimal(cut) for cut in level) for level in self.cuts or ())

    def _require_one_kind(self) -> None:
        given = [name for name in type(self).model_fields if getattr(self, name) is not None]
        mains = [name for name in MAIN if name in given]
        if not mains:
            raise ValueError(f"has no kind: give one of {', '.join(MAIN)}")
        kind = mains[0]
        other = [name for name in given if name != kind and name not in BESIDE[kind]]
        if other:
            raise ValueError(f"{other[0]} does not go with {kind}: keep one of them")
        if self.order is not None and self.widths is not None and self.cuts is not None:
            raise ValueError("cuts does not go with widths: keep one of them")

    def _check_domain(self) -> None:
        if (self.low is None) != (self.high is None):
            raise ValueError("low and high go together: declare both")
        if self.low is None or self.high is None:
            return
        if any(isinstance(bound, date) != (self.kind == "dates") for bound in (self.low, self.high)):
            raise ValueError(f"low and high must be {'dates' if self.kind == 'dates' else 'numbers'}")
        if any(isinstance(bound, Decimal) and not is_moderate(bound) for bound in (self.low, self.high)):
            raise ValueError("low and high must be numbers below 1e31 of at most 60 digits")
        if self.low > self.high:  # type: ignore[operator]
            raise ValueError("low must not be above high")


def iterate_leaf_paths(tree: Any, ancestors: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the path from the root of a tree to each value."""
    if isinstance(tree, dict):
        for name, inside in tree.items():
            yield from (
                [(*ancestors, name)] if inside is None else iterate_leaf_paths(inside, (*ancestors, name))
            )
    elif isinstance(tree, list | tuple):
        for each in tree:
            yield from iterate_leaf_paths(each, ancestors)
    else:
        yield (*ancestors, str(tree))


def check_tree(tree: Any) -> None:
    """Raise an error unless every value occurs once and every group is in one place."""
    if not isinstance(tree, dict) or not tree:
        raise ValueError('tree must be groups of values, such as {"*": {Asian: [Japanese, Indian]}}')
    paths = list(iterate_leaf_paths(tree))
    seen: set[str] = set()
    parents: dict[tuple[int, str], tuple[str, ...]] = {}
    for path in paths:
        if path[-1] in seen:
            raise ValueError(f"tree must have every value once; {path[-1]} occurs twice")
        seen.add(path[-1])
        for depth, name in enumerate(path[:-1]):
            if parents.setdefault((depth, name), path[:depth]) != path[:depth]:
                raise ValueError(f"tree must have different names for groups; {name} is in two places")
    # a shorter path repeats its value at deeper levels, where no group may have the same name
    for path in paths:
        above = [(depth, path[-1]) for depth in range(len(path) - 1, max(map(len, paths)) - 1)]
        if any(place in parents for place in above):
            raise ValueError(f"tree must have different names for groups and values; {path[-1]} is both")


def _check_widths(widths: tuple[Number, ...], *, whole: bool) -> None:
    if not all(width > 0 and is_moderate(Decimal(width)) for width in widths):
        raise ValueError("widths must be above 0")
    if whole and any(width != int(width) for width in widths):
        raise ValueError("widths must be whole numbers of values")
    for narrow, wide in pairwise(widths):
        if wide <= narrow or Decimal(wide) % Decimal(narrow):
            raise ValueError(
                f"widths must each be a multiple of the one before, or intervals would overlap; "
                f"{wide} is not a multiple of {narrow}"
            )


def _check_cuts(cuts: tuple[tuple[str, ...], ...], order: list[str] | None) -> None:
    try:
        places: list[list[Any]] = [
            [Decimal(cut) if order is None else order.index(cut) for cut in level] for level in cuts
        ]
    except (ArithmeticError, ValueError):
        wanted = "numbers" if order is None else "values of the order, each the first of a run"
        raise ValueError(f"cuts must be {wanted}") from None
    if order is None and not all(is_moderate(cut) for level in places for cut in level):
        raise ValueError("cuts must be numbers of moderate size")
    if any(not level or level != sorted(set(level)) for level in places):
        raise ValueError("cuts must rise within a level")
    for fine, coarse in pairwise(places):
        if not set(coarse) < set(fine):
            raise ValueError("cuts must lose some at every level and add none, or intervals would overlap")

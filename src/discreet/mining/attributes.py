"""Attributes: every column as a few declared bins, never derived from the data.

Numbers     between declared bounds, cut into bins of equal width, or of equal width of the logarithm of
            1 + (x - low) / step on a log scale. On a grid (whole numbers, or a declared resolution) every cut
            is a step of the grid, so that an engine and an array put a value into the same bin. What lies
            beyond a bound is in the bin at that end.
Dates       the same, in days.
Categories  a bin for each declared value, in the order of the declaration.
Missing     the last bin, for NULL, NaN, and what is not declared. Where a column declares that it has no
            NULLs there is no such bin, and what is missing all the same is in the first one.

So the bin of a value follows from the value and the declaration alone.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.column_entry import BinScale, Column, ColumnType
from discreet.core.errors import InvalidParameterError, RequestError, require_parameter, shorten_value
from discreet.core.number_checks import Real, is_real, require_count

DEFAULT_BINS = 20
MISSING = "missing"
MAX_BINS = 32_000

Cut = Fraction | date
Codes = NDArray[np.int16]


@dataclass(frozen=True, kw_only=True)
class Attribute:
    """One column as bins: `cuts` between `bounds` of a number or a date, or the `values` of a category.

    >>> Attribute.numeric("age", 17, 90, bins=4, step=1).labels
    ('< 36', '36 to 54', '54 to 73', '>= 73', 'missing')
    """

    name: str
    kind: ColumnType
    cuts: tuple[Cut, ...] = ()
    values: tuple[str, ...] = ()
    step: Fraction | None = None
    bounds: tuple[Cut, Cut] | None = None
    scale: str = "linear"
    has_missing_bin: bool = True

    def __post_init__(self) -> None:
        known = 1 <= self.regular_bins <= MAX_BINS
        require_parameter(known, self, "bins", self.regular_bins, f"from 1 to {MAX_BINS:,} for {self.name}")

    @classmethod
    def numeric(
        cls,
        name: str,
        low: Real,
        high: Real,
        *,
        bins: int = DEFAULT_BINS,
        scale: str = "linear",
        step: Real | None = None,
        has_missing_bin: bool = True,
    ) -> Attribute:
        """Return a number between declared bounds, on a grid of `step` if given."""
        bounded = is_real(low) and is_real(high) and low < high
        given = f"{shorten_value(low)} and {shorten_value(high)}"
        require_parameter(bounded, "", "bounds", given, f"two numbers for {name}, the lower one first")
        _require_bins(name, bins)
        require_parameter(scale in ("linear", "log"), cls.__name__, "scale", scale, "'linear' or 'log'")
        grid = None if step is None else Fraction(step)
        cuts = _compute_cuts(Fraction(low), Fraction(high), bins, scale == "log", grid)
        kind = ColumnType.INTEGER if grid == 1 else ColumnType.DECIMAL
        ends = Fraction(low), Fraction(high)
        return cls(
            name=name,
            kind=kind,
            cuts=cuts,
            step=grid,
            bounds=ends,
            scale=scale,
            has_missing_bin=has_missing_bin,
        )

    @classmethod
    def category(cls, name: str, values: Iterable[object], *, has_missing_bin: bool = True) -> Attribute:
        """Return an attribute of the declared values, written as rows are read: 1.0 is 1, True is true."""
        texts = tuple(map(_format_value, values))
        different = 0 < len(texts) == len(set(texts))
        require_parameter(
            different, "", "categories", f"{len(texts)} values", f"one or more different values of {name}"
        )
        return cls(name=name, kind=ColumnType.CATEGORY, values=texts, has_missing_bin=has_missing_bin)

    @classmethod
    def from_column(
        cls, name: str, column: Column, *, bins: int = DEFAULT_BINS, scale: BinScale | None = None
    ) -> Attribute:
        """Return the attribute that the policy declares, with `scale` overriding its scale."""
        scale = scale or column.scale or BinScale.LINEAR
        missing = column.nulls is not False
        if column.grid_bounds is not None and column.grid_bounds[0] < column.grid_bounds[1]:
            low, high = (bound * column.grid_step for bound in column.grid_bounds)
            return cls.numeric(
                name, low, high, bins=bins, scale=scale, step=column.grid_step, has_missing_bin=missing
            )
        if column.type is ColumnType.CATEGORY and column.values is not None:
            return cls.category(name, column.values, has_missing_bin=missing)
        if column.type is ColumnType.BOOLEAN:
            return cls(name=name, kind=ColumnType.BOOLEAN, values=("false", "true"), has_missing_bin=missing)
        if column.type is ColumnType.DATE and isinstance(column.low, date) and isinstance(column.high, date):
            _require_bins(name, bins)
            cuts = _compute_date_cuts(column.low, column.high, bins)
            ends = column.low, column.high
            return cls(name=name, kind=ColumnType.DATE, cuts=cuts, bounds=ends, has_missing_bin=missing)
        if column.grid_bounds is not None:
            raise RequestError(
                f"Column {name} can have one value alone, so there is nothing to divide.",
                hint="Leave the column out, or declare a low below its high.",
            )
        raise RequestError(
            f"Column {name} declares neither bounds nor values, so it has no bins.",
            hint="Declare low and high, or values, in the policy, or leave the column out.",
        )

    @property
    def is_ordered(self) -> bool:
        """True if bins have an order, so that the attribute is divided at a cut."""
        return not self.values

    @property
    def regular_bins(self) -> int:
        """The number of bins without that of missing values."""
        return len(self.values) or len(self.cuts) + 1

    @property
    def bins(self) -> int:
        """The number of bins."""
        return self.regular_bins + self.has_missing_bin

    @property
    def labels(self) -> tuple[str, ...]:
        """The content of each bin, in words."""
        texts = self.cut_labels
        named = self.values or tuple(format_range(low, high) for low, high in pairwise([None, *texts, None]))
        return (*named, MISSING) if self.has_missing_bin else named

    def merge_bins(self, bins: int) -> tuple[int, ...]:
        """Return the first bin of each run, if neighbors are merged to at most `bins`."""
        if not self.is_ordered or bins >= self.regular_bins:
            return tuple(range(self.regular_bins))
        match self.bounds:
            case (Fraction() as low, Fraction() as high):
                cuts = _compute_cuts(low, high, bins, self.scale == "log", self.step)
            case (date() as low, date() as high):
                cuts = _compute_date_cuts(low, high, bins)
            case _:
                return tuple(range(self.regular_bins))
        own: Sequence[Any] = self.cuts
        return (0, *sorted({bisect_left(own, cut) + 1 for cut in cuts} - {self.regular_bins}))

    @property
    def cut_labels(self) -> tuple[str, ...]:
        """The start of every bin after the first, as text."""
        return tuple(map(_format_cut, self.cuts))

    @property
    def midpoints(self) -> list[float]:
        """The number in the middle of each bin."""
        assert self.bounds is not None
        step = self.step or Fraction(0)
        cuts = [cut for cut in self.cuts if isinstance(cut, Fraction)]
        low, high = (end for end in self.bounds if isinstance(end, Fraction))
        pairs = zip([low, *cuts], [*(cut - step for cut in cuts), high], strict=True)
        return [float(first + last) / 2 for first, last in pairs]

    @property
    def missing_bin(self) -> int:
        """The bin of a missing value."""
        return self.regular_bins if self.has_missing_bin else 0

    def encode(self, column: Any) -> Codes:
        """Return the bin of every entry of an array, a list or a data frame's column."""
        if self.values:
            return self._encode_categories(column)
        if self.kind is ColumnType.DATE:
            return self._encode_dates(column)
        numbers = _parse_numbers(self.name, column)
        if self.step is not None:
            steps = numbers * self.step.denominator / self.step.numerator
            numbers = np.trunc(steps + np.copysign(0.5, steps))  # halves go away from 0, as in the store
        found = np.searchsorted(self._float_cuts, numbers, side="right")
        return np.where(np.isnan(numbers), self.missing_bin, found).astype(np.int16)

    @cached_property
    def _float_cuts(self) -> NDArray[np.float64]:
        """The cuts as floats, in steps if there is a grid."""
        step = self.step or 1
        return np.array([float(cut / step) for cut in self.cuts if isinstance(cut, Fraction)])

    def _encode_categories(self, column: Any) -> Codes:
        seen, places = np.unique(
            np.asarray([_format_value(each) for each in column], dtype=str), return_inverse=True
        )
        known = {value: place for place, value in enumerate(self.values)}
        found = np.array([known.get(str(word), self.missing_bin) for word in seen], np.int16)
        return np.asarray(found[places.reshape(-1)]) if seen.size else np.zeros(0, np.int16)

    def _encode_dates(self, column: Any) -> Codes:
        try:
            days = np.asarray(column, dtype="datetime64[D]")
        except (TypeError, ValueError):
            raise InvalidParameterError(
                f"{self.name} is declared as a date, and some of its values are none.",
                hint="Declare it as a category, or give dates.",
            ) from None
        cuts = np.array([np.datetime64(cut) for cut in self.cuts if isinstance(cut, date)], "datetime64[D]")
        found = np.searchsorted(cuts, days, side="right")
        return np.where(np.isnat(days), self.missing_bin, found).astype(np.int16)


def _require_bins(name: str, bins: int) -> None:
    """Refuse a number of bins before as many cuts are computed: with a billion that would not end."""
    require_count("", "bins", bins)
    require_parameter(bins <= MAX_BINS, "", "bins", bins, f"from 1 to {MAX_BINS:,} for {name}")


def _compute_cuts(
    low: Fraction, high: Fraction, bins: int, is_logarithmic: bool, step: Fraction | None
) -> tuple[Cut, ...]:
    unit = step or Fraction(1)
    reach = (high - low) / unit + (1 if step is not None else 0)
    cuts = []
    for i in range(1, bins):
        share = Fraction(math.expm1(i / bins * math.log1p(reach))) if is_logarithmic else reach * i / bins
        cuts.append(low + unit * (share if step is None else math.ceil(share)))
    return tuple(sorted({cut for cut in cuts if low < cut <= high}))


def _compute_date_cuts(low: date, high: date, bins: int) -> tuple[Cut, ...]:
    reach = (high - low).days + 1
    return tuple(sorted({low + timedelta(days=math.ceil(reach * i / bins)) for i in range(1, bins)} - {low}))


def _parse_numbers(name: str, column: Any) -> NDArray[np.float64]:
    try:
        return np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameterError(
            f"{name} is declared as a number, and some of its values are none.",
            hint="Declare it as a category, or give numbers.",
        ) from None


def _format_value(value: object) -> str:
    """Return a value as the declaration writes it; 1.0 is 1, and a missing value is empty."""
    if value is None or value != value:  # noqa: PLR0124  (NaN differs from itself)
        return ""
    if isinstance(value, bool | np.bool_):
        return str(bool(value)).lower()
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def format_range(low: str | None, high: str | None) -> str:
    """Return the range from `low` (included) to `high` (excluded) in words.

    >>> format_range("36", "54"), format_range(None, "36"), format_range(None, None)
    ('36 to 54', '< 36', 'any')
    """
    if low is None:
        return "any" if high is None else f"< {high}"
    return f">= {low}" if high is None else f"{low} to {high}"


def _format_cut(cut: Cut) -> str:
    return cut.isoformat() if isinstance(cut, date) else f"{float(cut):.6g}"

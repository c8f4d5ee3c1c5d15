"""Columns of Python objects as text, each value by itself.

Arrow would give such a column one type that fits all of its values, and raise if there is none: one person's
value would change how others' are read, or keep them from being read at all. So each value becomes the text
that a column of its own type would have, and is then read by the declared type as the text of a file is.

Texts       as they are; bytes if they are UTF-8.
Numbers     in digits; whole ones without a point, whatever their type.
Times       in ISO format; those with an offset in UTC.
Booleans    true and false, or 1 and 0 where the policy declares a number.
Missing     None, NaN, NaT and NA, and every object that is none of the above.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, time
from decimal import Decimal
from numbers import Integral, Rational, Real
from typing import Any
from uuid import UUID

import pyarrow as pa

from discreet.core.column_entry import ColumnType

CHUNK = 65_536
NUMBERS = (ColumnType.INTEGER, ColumnType.DECIMAL)
LARGEST_EXACT = 2.0**63
LONGEST_PLAIN_SCALE = 6
"""Digits behind the point of decimals that Arrow always writes without an exponent."""
MOST_DIGITS = 255
"""Digits of a numeral that are read (`core.numeral_patterns`)."""


def objects_to_text(values: Sequence[object], kind: ColumnType) -> pa.ChunkedArray:
    """Return objects as text, in chunks; `kind` is the declared type.

    >>> values = [7, 7.0, "seven", None, Decimal("7.50"), date(2024, 1, 31)]
    >>> objects_to_text(values, ColumnType.TEXT).to_pylist()
    ['7', '7', 'seven', None, '7.5', '2024-01-31']
    """
    starts = range(0, len(values), CHUNK)
    chunks = [_convert_chunk(values[start : start + CHUNK], kind) for start in starts]
    return pa.chunked_array(chunks, pa.large_string())


def _convert_chunk(values: Any, kind: ColumnType) -> pa.Array:
    # Texts alone are converted by Arrow, with the same result.
    with suppress(pa.ArrowException, UnicodeError):
        return pa.array(values, type=pa.large_string(), from_pandas=True)
    texts = [_write_object(value, kind) for value in values]
    floats = {place: float(value) for place, value in enumerate(values) if _is_float(value)}
    written = write_numbers(pa.array(floats.values(), pa.float64())).to_pylist()
    for place, text in zip(floats, written, strict=True):
        texts[place] = text
    return pa.array(texts, pa.large_string())


def _write_object(value: Any, kind: ColumnType) -> str | None:
    """Return the text of one object, or None if it is missing or is no value of a table."""
    if type(value).__name__ == "NaTType":  # a datetime too
        return None
    if type(value).__name__ in ("bool", "bool_"):
        value = int(value) if kind in NUMBERS else str(bool(value)).lower()
    elif type(value).__name__ == "datetime64":
        value = value.astype("datetime64[us]").item()
    for kinds, write in WRITERS:
        if isinstance(value, kinds):
            with suppress(ValueError, OverflowError, TypeError, ArithmeticError, UnicodeError):
                return write(value)
            break
    return None


def _write_text(value: str) -> str:
    value.encode()  # raises if it is not UTF-8
    return str(value)


def _is_float(value: object) -> bool:
    """Return whether a value is a floating-point number, of Python or of numpy."""
    return isinstance(value, Real) and not isinstance(value, Rational)


def _write_decimal(value: Decimal) -> str | None:
    if not value.is_finite():
        return None if value.is_nan() else str(value).lower()
    if value == 0:
        return "0"
    if abs(value.adjusted()) > MOST_DIGITS:
        return str(value)
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _write_time(value: datetime) -> str:
    """Return a time as DuckDB writes it."""
    if value.tzinfo is not None:
        value = value.astimezone(UTC)
    text = datetime.isoformat(value.replace(tzinfo=None), " ", "microseconds").rstrip("0").rstrip(".")
    return text if value.tzinfo is None else f"{text}+00"


WRITERS: tuple[tuple[type | tuple[type, ...], Callable[[Any], str | None]], ...] = (
    (str, _write_text),
    (bytes, bytes.decode),
    (Integral, lambda value: str(int(value))),
    (Decimal, _write_decimal),
    (datetime, _write_time),
    ((date, time), lambda value: str(value.isoformat())),
    (UUID, str),
)
"""The types of objects that are read, and how; a datetime is a date too, so it comes first."""


def write_numbers(array: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return floating-point numbers as text: whole ones as integers, NaN as missing.

    >>> write_numbers(pa.array([7.0, 7.5, -0.0, float("nan"), 1e300])).to_pylist()
    ['7', '7.5', '0', None, '1e+300']
    """
    import pyarrow.compute as pc  # most frames do not need it, and it takes a while to load

    numbers = array.cast(pa.float64())
    is_whole = pc.and_(pc.equal(pc.floor(numbers), numbers), pc.less(pc.abs(numbers), LARGEST_EXACT))
    whole = pc.if_else(is_whole, numbers, pa.scalar(None, pa.float64())).cast(pa.int64(), safe=False)
    known = pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)
    return pc.coalesce(whole.cast(pa.string()), known.cast(pa.string()))


def write_decimals(array: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return decimals as text, without the zeros that their column's scale adds.

    >>> write_decimals(pa.array([Decimal("7.00"), Decimal("7.25")])).to_pylist()
    ['7', '7.25']
    """
    import pyarrow.compute as pc

    if not 0 <= array.type.scale <= LONGEST_PLAIN_SCALE:
        return objects_to_text(array.to_pylist(), ColumnType.TEXT)
    text = array.cast(pa.string())
    if array.type.scale == 0:
        return text
    return pc.utf8_rtrim(pc.utf8_rtrim(text, characters="0"), characters=".")

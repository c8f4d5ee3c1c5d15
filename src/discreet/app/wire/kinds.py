"""PostgreSQL types in text and binary format: encoding of result values, decoding of parameters.

The type of a column is fixed when the column is described, before there is a value; values are converted to
that type when they are sent. So the type that a client was told is always the type that it is sent.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Iterable
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from enum import Enum

from discreet.app.wire.faults import WireError

Scalar = bool | int | float | Decimal | str | date | datetime | None
TEXT_FORM = 0
BINARY_FORM = 1
EPOCH = datetime(2000, 1, 1)
LONG = range(-(2**63), 2**63)
MICROSECOND = timedelta(microseconds=1)
MOST_DIGITS = 4_000
ZONE = re.compile(r" [+-]\d\d(:\d\d){0,2}$")
"""JDBC drivers append a time zone to dates and times; types without a zone drop it, as in PostgreSQL."""


class Kind(Enum):
    """A type by its OID in PostgreSQL and the size of its values in bytes, -1 if that varies."""

    BOOLEAN = (16, 1)
    CHARACTER = (18, 1)
    NAME = (19, 64)
    BIGINT = (20, 8)
    SMALLINT = (21, 2)
    INTEGER = (23, 4)
    TEXT = (25, -1)
    OID = (26, 4)
    REAL = (700, 4)
    DOUBLE = (701, 8)
    UNKNOWN = (705, -2)
    INTEGERS = (1007, -1)
    TEXTS = (1009, -1)
    BPCHAR = (1042, -1)
    VARCHAR = (1043, -1)
    DATE = (1082, 4)
    TIMESTAMP = (1114, 8)
    NUMERIC = (1700, -1)

    @property
    def oid(self) -> int:
        return self.value[0]

    @property
    def width(self) -> int:
        return self.value[1]


BY_OID = {kind.oid: kind for kind in Kind}
WHOLE = {Kind.BIGINT: ">q", Kind.INTEGER: ">i", Kind.SMALLINT: ">h", Kind.OID: ">I"}
BROKEN = {Kind.DOUBLE: ">d", Kind.REAL: ">f"}
NUMBERS = WHOLE | BROKEN
LISTS = {Kind.TEXTS: Kind.TEXT, Kind.INTEGERS: Kind.INTEGER}
Encoder = Callable[[object], bytes]


def encoder(kind: Kind, form: int) -> Encoder:
    """Return the function that encodes non-NULL values of a type in a format."""
    if form == TEXT_FORM:
        return lambda value: _written(value, kind).encode()
    return lambda value: _packed(value, kind)


def _whole(value: object) -> int:
    """Return the nearest 64-bit integer: arithmetic on released numbers may exceed that range."""
    number = int(value) if isinstance(value, int | Decimal | str) else round(float(value))  # type: ignore[arg-type]
    return min(max(number, LONG[0]), LONG[-1])


def _written(value: object, kind: Kind) -> str:
    if kind in LISTS:
        return "{" + ",".join(_item(each, LISTS[kind]) for each in _items(value)) + "}"
    if kind is Kind.BOOLEAN:
        return "t" if value else "f"
    if kind in WHOLE:
        return str(_whole(value))
    if kind in BROKEN:
        return _broken(float(value))  # type: ignore[arg-type]
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    return str(value)


def _items(value: object) -> list[object]:
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str) else [value]


def _item(value: object, kind: Kind) -> str:
    if value is None:
        return "NULL"
    text = _written(value, kind)
    return text if kind in WHOLE else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _broken(value: float) -> str:
    if math.isfinite(value):
        return repr(value).removesuffix(".0")
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _packed(value: object, kind: Kind) -> bytes:
    if kind in LISTS:
        return _packed_list(_items(value), LISTS[kind])
    if kind in NUMBERS:
        number = _whole(value) if kind in WHOLE else float(value)  # type: ignore[arg-type]
        return struct.pack(NUMBERS[kind], number)
    if kind is Kind.NUMERIC:
        return _packed_decimal(Decimal(str(value)))
    return _packed_other(value, kind)


def _packed_other(value: object, kind: Kind) -> bytes:
    if kind is Kind.BOOLEAN:
        return b"\x01" if value else b"\x00"
    if kind is Kind.TIMESTAMP and isinstance(value, datetime):
        return struct.pack(">q", (value - EPOCH) // MICROSECOND)
    if kind is Kind.DATE and isinstance(value, date):
        return struct.pack(">i", value.toordinal() - EPOCH.toordinal())
    return _written(value, kind).encode()


def _packed_list(items: list[object], kind: Kind) -> bytes:
    head = struct.pack(">iiI", 1 if items else 0, int(None in items), kind.oid)
    parts = [head, struct.pack(">ii", len(items), 1)] if items else [head]
    for each in items:
        content = None if each is None else _packed(each, kind)
        parts.append(struct.pack(">i", -1) if content is None else struct.pack(">i", len(content)) + content)
    return b"".join(parts)


def _packed_decimal(value: Decimal) -> bytes:
    """Return PostgreSQL's numeric format: digits in base 10,000, the first with the exponent `weight`."""
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    scale = max(0, -exponent)
    text = "".join(map(str, digits)) + "0" * (max(0, exponent) + -scale % 4)
    groups = [int(text[max(0, end - 4) : end]) for end in range(len(text), 0, -4)][::-1]
    weight = len(groups) - 1 - (scale + -scale % 4) // 4
    head = struct.pack(">hhHH", len(groups), weight, 0x4000 if sign else 0, scale)
    return head + struct.pack(f">{len(groups)}h", *groups)


def decoded(content: bytes | None, kind: Kind, form: int) -> Scalar:
    """Return the value of a parameter; raise if it is not valid for its type."""
    if content is None:
        return None
    try:
        return _unpacked(content, kind) if form == BINARY_FORM else _read(content.decode(), kind)
    except (ValueError, ArithmeticError, struct.error, KeyError) as error:
        raise WireError("22P02", f"A parameter is not a valid {kind.name.lower()}.") from error


def _read(text: str, kind: Kind) -> Scalar:
    if kind is Kind.BOOLEAN:
        return {"t": True, "true": True, "1": True, "f": False, "false": False, "0": False}[text.lower()]
    if kind in WHOLE:
        return int(_plainly(text))
    if kind is Kind.NUMERIC or kind in BROKEN:
        return _finite(Decimal(_plainly(text)))
    if kind is Kind.DATE:
        return date.fromisoformat(ZONE.sub("", text))
    if kind is Kind.TIMESTAMP:
        return datetime.fromisoformat(text).replace(tzinfo=None)
    return _plain(text)


def _unpacked(content: bytes, kind: Kind) -> Scalar:
    if kind in NUMBERS:
        number = struct.unpack(NUMBERS[kind], content)[0]
        return int(number) if kind in WHOLE else _finite(Decimal(repr(number)))
    if kind is Kind.BOOLEAN:
        return {b"\x00": False, b"\x01": True}[content]
    if kind is Kind.DATE:
        return date.fromordinal(struct.unpack(">i", content)[0] + EPOCH.toordinal())
    if kind is Kind.TIMESTAMP:
        return EPOCH + int(struct.unpack(">q", content)[0]) * MICROSECOND
    return _unpacked_decimal(content) if kind is Kind.NUMERIC else _plain(content.decode())


def _unpacked_decimal(content: bytes) -> Decimal:
    """Return a number of at most 1,000 base-10,000 digits on either side of the decimal point."""
    count, weight, sign, scale = struct.unpack(">hhHH", content[:8])
    groups = struct.unpack(f">{count}h", content[8:])
    if sign not in (0, 0x4000) or not -1000 < weight < 1000 or scale > 1000:
        raise ValueError
    if any(not 0 <= each < 10_000 for each in groups):
        raise ValueError
    digits = "".join(f"{each:04d}" for each in groups) or "0"
    # Built from its digits: arithmetic would round to the precision of the decimal context.
    return Decimal((int(bool(sign)), tuple(map(int, digits)), 4 * (weight + 1 - count)))


def _plainly(number: str) -> str:
    """Return the digits; raise for other scripts and underscores, which only Python accepts."""
    if not number.isascii() or "_" in number:
        raise ValueError
    return number


def _finite(value: Decimal) -> Decimal:
    """Return the number; raise if it is infinite, or so large that converting it would exhaust memory."""
    if not value.is_finite() or abs(value.adjusted()) > MOST_DIGITS:
        raise InvalidOperation
    return value


def _plain(text: str) -> str:
    if "\x00" in text:
        raise ValueError
    return text

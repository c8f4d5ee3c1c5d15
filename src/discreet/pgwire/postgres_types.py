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

from discreet.pgwire.wire_errors import WireError

Scalar = bool | int | float | Decimal | str | date | datetime | None
TEXT_FORMAT = 0
BINARY_FORMAT = 1
EPOCH = datetime(2000, 1, 1)
INT64_RANGE = range(-(2**63), 2**63)
MICROSECOND = timedelta(microseconds=1)
MAX_DIGITS = 4_000
TIME_ZONE_SUFFIX = re.compile(r" [+-]\d\d(:\d\d){0,2}$")
"""JDBC drivers append a time zone to dates and times; types without a zone drop it, as in PostgreSQL."""


class PostgresType(Enum):
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
    INTEGER_ARRAY = (1007, -1)
    TEXT_ARRAY = (1009, -1)
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


TYPES_BY_OID = {kind.oid: kind for kind in PostgresType}
INTEGER_FORMATS = {
    PostgresType.BIGINT: ">q",
    PostgresType.INTEGER: ">i",
    PostgresType.SMALLINT: ">h",
    PostgresType.OID: ">I",
}
FLOAT_FORMATS = {PostgresType.DOUBLE: ">d", PostgresType.REAL: ">f"}
NUMBER_FORMATS = INTEGER_FORMATS | FLOAT_FORMATS
ELEMENT_TYPES = {PostgresType.TEXT_ARRAY: PostgresType.TEXT, PostgresType.INTEGER_ARRAY: PostgresType.INTEGER}
Encoder = Callable[[object], bytes]


def get_encoder(pg_type: PostgresType, format_code: int) -> Encoder:
    """Return the function that encodes non-NULL values of a type in a format."""
    if format_code == TEXT_FORMAT:
        return lambda value: _format_text(value, pg_type).encode()
    return lambda value: _encode_binary(value, pg_type)


def _clamp_to_int64(value: object) -> int:
    """Return the nearest 64-bit integer: arithmetic on released numbers may exceed that range."""
    number = int(value) if isinstance(value, int | Decimal | str) else round(float(value))  # type: ignore[arg-type]
    return min(max(number, INT64_RANGE[0]), INT64_RANGE[-1])


def _format_text(value: object, pg_type: PostgresType) -> str:
    if pg_type in ELEMENT_TYPES:
        return (
            "{"
            + ",".join(_format_element(each, ELEMENT_TYPES[pg_type]) for each in _list_elements(value))
            + "}"
        )
    if pg_type is PostgresType.BOOLEAN:
        return "t" if value else "f"
    if pg_type in INTEGER_FORMATS:
        return str(_clamp_to_int64(value))
    if pg_type in FLOAT_FORMATS:
        return _format_float(float(value))  # type: ignore[arg-type]
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    return str(value)


def _list_elements(value: object) -> list[object]:
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str) else [value]


def _format_element(value: object, pg_type: PostgresType) -> str:
    if value is None:
        return "NULL"
    text = _format_text(value, pg_type)
    return text if pg_type in INTEGER_FORMATS else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _format_float(value: float) -> str:
    if math.isfinite(value):
        return repr(value).removesuffix(".0")
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _encode_binary(value: object, pg_type: PostgresType) -> bytes:
    if pg_type in ELEMENT_TYPES:
        return _encode_binary_array(_list_elements(value), ELEMENT_TYPES[pg_type])
    if pg_type in NUMBER_FORMATS:
        number = _clamp_to_int64(value) if pg_type in INTEGER_FORMATS else float(value)  # type: ignore[arg-type]
        return struct.pack(NUMBER_FORMATS[pg_type], number)
    if pg_type is PostgresType.NUMERIC:
        return _encode_binary_numeric(Decimal(str(value)))
    return _encode_other_binary(value, pg_type)


def _encode_other_binary(value: object, pg_type: PostgresType) -> bytes:
    if pg_type is PostgresType.BOOLEAN:
        return b"\x01" if value else b"\x00"
    if pg_type is PostgresType.TIMESTAMP and isinstance(value, datetime):
        return struct.pack(">q", (value - EPOCH) // MICROSECOND)
    if pg_type is PostgresType.DATE and isinstance(value, date):
        return struct.pack(">i", value.toordinal() - EPOCH.toordinal())
    return _format_text(value, pg_type).encode()


def _encode_binary_array(items: list[object], pg_type: PostgresType) -> bytes:
    head = struct.pack(">iiI", 1 if items else 0, int(None in items), pg_type.oid)
    parts = [head, struct.pack(">ii", len(items), 1)] if items else [head]
    for each in items:
        content = None if each is None else _encode_binary(each, pg_type)
        parts.append(struct.pack(">i", -1) if content is None else struct.pack(">i", len(content)) + content)
    return b"".join(parts)


def _encode_binary_numeric(value: Decimal) -> bytes:
    """Return PostgreSQL's numeric format: digits in base 10,000, the first with the exponent `weight`."""
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    scale = max(0, -exponent)
    text = "".join(map(str, digits)) + "0" * (max(0, exponent) + -scale % 4)
    groups = [int(text[max(0, end - 4) : end]) for end in range(len(text), 0, -4)][::-1]
    weight = len(groups) - 1 - (scale + -scale % 4) // 4
    head = struct.pack(">hhHH", len(groups), weight, 0x4000 if sign else 0, scale)
    return head + struct.pack(f">{len(groups)}h", *groups)


def decode_parameter(content: bytes | None, pg_type: PostgresType, format_code: int) -> Scalar:
    """Return the value of a parameter; raise if it is not valid for its type."""
    if content is None:
        return None
    try:
        return (
            _decode_binary(content, pg_type)
            if format_code == BINARY_FORMAT
            else _parse_text(content.decode(), pg_type)
        )
    except (ValueError, ArithmeticError, struct.error, KeyError) as error:
        raise WireError("22P02", f"A parameter is not a valid {pg_type.name.lower()}.") from error


def _parse_text(text: str, pg_type: PostgresType) -> Scalar:
    if pg_type is PostgresType.BOOLEAN:
        return {"t": True, "true": True, "1": True, "f": False, "false": False, "0": False}[text.lower()]
    if pg_type in INTEGER_FORMATS:
        return int(_require_plain_digits(text))
    if pg_type is PostgresType.NUMERIC or pg_type in FLOAT_FORMATS:
        return _require_finite(Decimal(_require_plain_digits(text)))
    if pg_type is PostgresType.DATE:
        return date.fromisoformat(TIME_ZONE_SUFFIX.sub("", text))
    if pg_type is PostgresType.TIMESTAMP:
        return datetime.fromisoformat(text).replace(tzinfo=None)
    return _require_no_nul(text)


def _decode_binary(content: bytes, pg_type: PostgresType) -> Scalar:
    if pg_type in NUMBER_FORMATS:
        number = struct.unpack(NUMBER_FORMATS[pg_type], content)[0]
        return int(number) if pg_type in INTEGER_FORMATS else _require_finite(Decimal(repr(number)))
    if pg_type is PostgresType.BOOLEAN:
        return {b"\x00": False, b"\x01": True}[content]
    if pg_type is PostgresType.DATE:
        return date.fromordinal(struct.unpack(">i", content)[0] + EPOCH.toordinal())
    if pg_type is PostgresType.TIMESTAMP:
        return EPOCH + int(struct.unpack(">q", content)[0]) * MICROSECOND
    return (
        _decode_binary_numeric(content)
        if pg_type is PostgresType.NUMERIC
        else _require_no_nul(content.decode())
    )


def _decode_binary_numeric(content: bytes) -> Decimal:
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


def _require_plain_digits(number: str) -> str:
    """Return the digits; raise for other scripts and underscores, which only Python accepts."""
    if not number.isascii() or "_" in number:
        raise ValueError
    return number


def _require_finite(value: Decimal) -> Decimal:
    """Return the number; raise if it is infinite, or so large that converting it would exhaust memory."""
    if not value.is_finite() or abs(value.adjusted()) > MAX_DIGITS:
        raise InvalidOperation
    return value


def _require_no_nul(text: str) -> str:
    if "\x00" in text:
        raise ValueError
    return text

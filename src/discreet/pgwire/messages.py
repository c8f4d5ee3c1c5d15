"""Messages of the protocol: parsing of a client's messages, encoding of the server's.

Every length and count in a message is checked against the bytes that are there. A message that claims more is
refused before anything is allocated for it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from discreet.pgwire.backend import Columns, WireWarning
from discreet.pgwire.postgres_types import BINARY_FORMAT, TEXT_FORMAT, Encoder
from discreet.pgwire.wire_errors import ErrorReport, WireError

MAX_MESSAGE_SIZE = 1 << 20
MAX_LOGIN_MESSAGE_SIZE = 10_000
PROTOCOL_VERSION = 3 << 16
CANCEL_REQUEST = 80877102
SSL_REQUEST = 80877103
GSSENC_REQUEST = 80877104


class MessageReader:
    """Reader of the fields of one message, in order."""

    def __init__(self, content: bytes) -> None:
        self._content, self._position = content, 0

    def read_bytes(self, size: int) -> bytes:
        part = self._content[self._position : self._position + size]
        if size < 0 or len(part) < size:
            raise build_malformed_error()
        self._position += size
        return part

    def read_number(self, struct_format: str) -> int:
        """Return the next number, of a `struct` format."""
        return int(struct.unpack(f">{struct_format}", self.read_bytes(struct.calcsize(struct_format)))[0])

    def read_text(self) -> str:
        """Return the next zero-terminated text."""
        end = self._content.find(b"\x00", self._position)
        part = self.read_bytes(end - self._position if end >= 0 else -1)
        self.read_bytes(1)
        try:
            return part.decode()
        except UnicodeDecodeError:
            raise WireError("22021", "Text of the message is not UTF-8.") from None

    def read_numbers(self, struct_format: str) -> tuple[int, ...]:
        return tuple(self.read_number(struct_format) for _ in range(self.read_number("H")))

    def read_value(self) -> bytes | None:
        size = self.read_number("i")
        return None if size == -1 else self.read_bytes(size)

    def read_rest(self) -> bytes:
        return self.read_bytes(len(self._content) - self._position)

    def require_end(self) -> None:
        if self._position != len(self._content):
            raise build_malformed_error()


def build_malformed_error() -> WireError:
    return WireError("08P01", "The message cannot be read.", is_fatal=True)


@dataclass(frozen=True, kw_only=True)
class BindMessage:
    """A Bind message: portal, statement, encoded parameters with their formats, and result formats."""

    portal: str
    statement: str
    values: tuple[tuple[bytes | None, int], ...]
    result_formats: tuple[int, ...]


def parse_bind(content: bytes) -> BindMessage:
    """Return the parsed body of a Bind message."""
    reader = MessageReader(content)
    portal, statement, forms = reader.read_text(), reader.read_text(), reader.read_numbers("h")
    values = [reader.read_value() for _ in range(reader.read_number("H"))]
    results = reader.read_numbers("h")
    reader.require_end()
    return BindMessage(
        portal=portal,
        statement=statement,
        values=tuple(zip(values, expand_formats(forms, len(values)), strict=True)),
        result_formats=results,
    )


def expand_formats(formats: Sequence[int], count: int) -> tuple[int, ...]:
    """Return one format per value: an empty list means text for all, a single format applies to all."""
    if not set(formats) <= {TEXT_FORMAT, BINARY_FORMAT} or len(formats) not in (0, 1, count):
        raise build_malformed_error()
    return tuple(formats) if len(formats) == count else tuple(formats or (TEXT_FORMAT,)) * count


def parse_startup(content: bytes) -> dict[str, str]:
    """Return the parameters of a startup message, after its version."""
    reader, found = MessageReader(content), {}
    while name := reader.read_text():
        found[name] = reader.read_text()
    reader.require_end()
    return found


# -- Server messages ---------------------------------------------------------------------------------------


def encode_message(message_type: bytes, content: bytes = b"") -> bytes:
    return message_type + struct.pack(">i", len(content) + 4) + content


def encode_text(value: str) -> bytes:
    return value.replace("\x00", "").encode(errors="replace") + b"\x00"


def encode_authentication(code: int, content: bytes = b"") -> bytes:
    return encode_message(b"R", struct.pack(">i", code) + content)


def encode_parameter_status(name: str, value: str) -> bytes:
    return encode_message(b"S", encode_text(name) + encode_text(value))


def encode_backend_key(process: int, secret: int) -> bytes:
    return encode_message(b"K", struct.pack(">II", process, secret))


def encode_negotiate_version(unknown: Iterable[str]) -> bytes:
    names = [encode_text(name) for name in unknown]
    return encode_message(b"v", struct.pack(">ii", PROTOCOL_VERSION & 0xFFFF, len(names)) + b"".join(names))


def encode_ready_for_query(status: bytes) -> bytes:
    return encode_message(b"Z", status)


def encode_row_description(columns: Columns, formats: Sequence[int]) -> bytes:
    parts = [
        encode_text(column.name)
        + struct.pack(">IhIhih", 0, 0, column.pg_type.oid, column.pg_type.width, -1, form)
        for column, form in zip(columns, formats, strict=True)
    ]
    return encode_message(b"T", struct.pack(">H", len(columns)) + b"".join(parts))


def encode_parameter_description(oids: Sequence[int]) -> bytes:
    return encode_message(b"t", struct.pack(f">H{len(oids)}I", len(oids), *oids))


def encode_data_row(row: Sequence[object], encoders: Sequence[Encoder]) -> bytes:
    parts = [struct.pack(">H", len(encoders))]
    for value, encode in zip(row, encoders, strict=True):
        if value is None:
            parts.append(b"\xff\xff\xff\xff")
        else:
            content = encode(value)
            parts += (struct.pack(">i", len(content)), content)
    return encode_message(b"D", b"".join(parts))


def encode_command_complete(tag: str) -> bytes:
    return encode_message(b"C", encode_text(tag))


def encode_error_response(report: ErrorReport, *, is_notice: bool = False) -> bytes:
    """Return an ErrorResponse, or a NoticeResponse with the same fields."""
    fields: Mapping[bytes, str] = {
        b"S": report.severity,
        b"V": report.severity,
        b"C": report.sqlstate,
        b"M": report.message,
        b"H": report.hint,
    }
    content = b"".join(code + encode_text(value) for code, value in fields.items() if value)
    return encode_message(b"N" if is_notice else b"E", content + b"\x00")


def encode_warning(warning: WireWarning) -> bytes:
    return encode_error_response(
        ErrorReport(sqlstate=warning.sqlstate, message=warning.message, severity="WARNING"), is_notice=True
    )


def encode_notice(text: str) -> bytes:
    return encode_error_response(
        ErrorReport(sqlstate="00000", message=text, severity="NOTICE"), is_notice=True
    )

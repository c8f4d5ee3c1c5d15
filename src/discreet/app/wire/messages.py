"""Messages of the protocol: parsing of a client's messages, encoding of the server's.

Every length and count in a message is checked against the bytes that are there. A message that claims more is
refused before anything is allocated for it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from discreet.app.wire.door import Columns, Warned
from discreet.app.wire.faults import Told, WireError
from discreet.app.wire.kinds import BINARY_FORM, TEXT_FORM, Encoder

LARGEST = 1 << 20
LARGEST_BEFORE_LOGIN = 10_000
PROTOCOL = 3 << 16
CANCEL = 80877102
TLS = 80877103
GSS = 80877104


class Reader:
    """Reader of the fields of one message, in order."""

    def __init__(self, content: bytes) -> None:
        self._content, self._place = content, 0

    def take(self, size: int) -> bytes:
        part = self._content[self._place : self._place + size]
        if size < 0 or len(part) < size:
            raise malformed()
        self._place += size
        return part

    def number(self, form: str) -> int:
        """Return the next number, of a `struct` format."""
        return int(struct.unpack(f">{form}", self.take(struct.calcsize(form)))[0])

    def text(self) -> str:
        """Return the next zero-terminated text."""
        end = self._content.find(b"\x00", self._place)
        part = self.take(end - self._place if end >= 0 else -1)
        self.take(1)
        try:
            return part.decode()
        except UnicodeDecodeError:
            raise WireError("22021", "Text of the message is not UTF-8.") from None

    def many(self, form: str) -> tuple[int, ...]:
        return tuple(self.number(form) for _ in range(self.number("H")))

    def value(self) -> bytes | None:
        size = self.number("i")
        return None if size == -1 else self.take(size)

    def rest(self) -> bytes:
        return self.take(len(self._content) - self._place)

    def end(self) -> None:
        if self._place != len(self._content):
            raise malformed()


def malformed() -> WireError:
    return WireError("08P01", "The message cannot be read.", fatal=True)


@dataclass(frozen=True, kw_only=True)
class Binding:
    """A Bind message: portal, statement, encoded parameters with their formats, and result formats."""

    portal: str
    statement: str
    values: tuple[tuple[bytes | None, int], ...]
    forms: tuple[int, ...]


def read_binding(content: bytes) -> Binding:
    """Return the parsed body of a Bind message."""
    reader = Reader(content)
    portal, statement, forms = reader.text(), reader.text(), reader.many("h")
    values = [reader.value() for _ in range(reader.number("H"))]
    results = reader.many("h")
    reader.end()
    return Binding(
        portal=portal,
        statement=statement,
        values=tuple(zip(values, spread(forms, len(values)), strict=True)),
        forms=results,
    )


def spread(forms: Sequence[int], count: int) -> tuple[int, ...]:
    """Return one format per value: an empty list means text for all, a single format applies to all."""
    if not set(forms) <= {TEXT_FORM, BINARY_FORM} or len(forms) not in (0, 1, count):
        raise malformed()
    return tuple(forms) if len(forms) == count else tuple(forms or (TEXT_FORM,)) * count


def read_startup(content: bytes) -> dict[str, str]:
    """Return the parameters of a startup message, after its version."""
    reader, found = Reader(content), {}
    while name := reader.text():
        found[name] = reader.text()
    reader.end()
    return found


# -- Server messages ---------------------------------------------------------------------------------------


def message(kind: bytes, content: bytes = b"") -> bytes:
    return kind + struct.pack(">i", len(content) + 4) + content


def text(value: str) -> bytes:
    return value.replace("\x00", "").encode(errors="replace") + b"\x00"


def authentication(code: int, content: bytes = b"") -> bytes:
    return message(b"R", struct.pack(">i", code) + content)


def parameter_status(name: str, value: str) -> bytes:
    return message(b"S", text(name) + text(value))


def backend_key(process: int, secret: int) -> bytes:
    return message(b"K", struct.pack(">II", process, secret))


def negotiate_version(unknown: Iterable[str]) -> bytes:
    names = [text(name) for name in unknown]
    return message(b"v", struct.pack(">ii", PROTOCOL & 0xFFFF, len(names)) + b"".join(names))


def ready(status: bytes) -> bytes:
    return message(b"Z", status)


def row_description(columns: Columns, forms: Sequence[int]) -> bytes:
    parts = [
        text(column.name) + struct.pack(">IhIhih", 0, 0, column.kind.oid, column.kind.width, -1, form)
        for column, form in zip(columns, forms, strict=True)
    ]
    return message(b"T", struct.pack(">H", len(columns)) + b"".join(parts))


def parameter_description(oids: Sequence[int]) -> bytes:
    return message(b"t", struct.pack(f">H{len(oids)}I", len(oids), *oids))


def data_row(row: Sequence[object], encoders: Sequence[Encoder]) -> bytes:
    parts = [struct.pack(">H", len(encoders))]
    for value, encode in zip(row, encoders, strict=True):
        if value is None:
            parts.append(b"\xff\xff\xff\xff")
        else:
            content = encode(value)
            parts += (struct.pack(">i", len(content)), content)
    return message(b"D", b"".join(parts))


def command_complete(tag: str) -> bytes:
    return message(b"C", text(tag))


def report(told: Told, *, notice: bool = False) -> bytes:
    """Return an ErrorResponse, or a NoticeResponse with the same fields."""
    fields: Mapping[bytes, str] = {
        b"S": told.severity,
        b"V": told.severity,
        b"C": told.state,
        b"M": told.message,
        b"H": told.hint,
    }
    content = b"".join(code + text(value) for code, value in fields.items() if value)
    return message(b"N" if notice else b"E", content + b"\x00")


def warning(warned: Warned) -> bytes:
    return report(Told(state=warned.state, message=warned.message, severity="WARNING"), notice=True)


def notice(said: str) -> bytes:
    return report(Told(state="00000", message=said, severity="NOTICE"), notice=True)

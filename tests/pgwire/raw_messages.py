"""A client that sends bytes as it likes, and reads what comes back message by message."""

from __future__ import annotations

import base64
import hashlib
import hmac
import socket
import struct
from dataclasses import dataclass, field

from tests.patience import PATIENCE

VERSION = 3 << 16
Message = tuple[bytes, bytes]


def packed(kind: bytes, content: bytes = b"") -> bytes:
    return kind + struct.pack(">i", len(content) + 4) + content


def startup(user: str = "alice", version: int = VERSION, **more: str) -> bytes:
    pairs = b"".join(
        name.encode() + b"\0" + value.encode() + b"\0" for name, value in {"user": user, **more}.items()
    )
    content = struct.pack(">i", version) + pairs + b"\0"
    return struct.pack(">i", len(content) + 4) + content


def query(sql: str) -> bytes:
    return packed(b"Q", sql.encode() + b"\0")


def parse(sql: str, name: str = "", *oids: int) -> bytes:
    types = struct.pack(f">H{len(oids)}I", len(oids), *oids)
    return packed(b"P", name.encode() + b"\0" + sql.encode() + b"\0" + types)


def bind(portal: str = "", statement: str = "", forms: tuple[int, ...] = ()) -> bytes:
    head = portal.encode() + b"\0" + statement.encode() + b"\0"
    return packed(b"B", head + struct.pack(f">HHH{len(forms)}h", 0, 0, len(forms), *forms))


def describe(which: str, name: str = "") -> bytes:
    return packed(b"D", which.encode() + name.encode() + b"\0")


def execute(portal: str = "", most: int = 0) -> bytes:
    return packed(b"E", portal.encode() + b"\0" + struct.pack(">i", most))


SYNC, FLUSH, TERMINATE = packed(b"S"), packed(b"H"), packed(b"X")


@dataclass
class Bytes:
    """One connection."""

    port: int
    host: str = "127.0.0.1"
    line: socket.socket = field(init=False)

    def __post_init__(self) -> None:
        self.line = socket.create_connection((self.host, self.port), timeout=PATIENCE)

    def send(self, content: bytes) -> None:
        self.line.sendall(content)

    def take(self, size: int) -> bytes:
        found = b""
        while len(found) < size:
            part = self.line.recv(size - len(found))
            if not part:
                raise EOFError
            found += part
        return found

    def message(self) -> Message:
        kind = self.take(1)
        return kind, self.take(struct.unpack(">i", self.take(4))[0] - 4)

    def until(self, last: bytes = b"Z") -> list[Message]:
        found = [self.message()]
        while found[-1][0] != last:
            found.append(self.message())
        return found

    def rest(self) -> bytes:
        """Everything until the server hangs up."""
        found = b""
        try:
            while part := self.line.recv(65_536):
                found += part
        except OSError:
            pass
        return found

    def login(self, password: str, user: str = "alice", last: bytes = b"Z") -> list[Message]:
        """SCRAM, written again from its definition; everything that is said up to the `last` of a kind."""
        self.send(startup(user))
        self.message()
        first = "n=,r=clientnonce"
        initial = b"n,," + first.encode()
        self.send(packed(b"p", b"SCRAM-SHA-256\0" + struct.pack(">i", len(initial)) + initial))
        challenge = self.message()[1][4:].decode()
        parts = dict(each.split("=", 1) for each in challenge.split(","))
        salted = hashlib.pbkdf2_hmac(
            "sha256", password.encode(), base64.b64decode(parts["s"]), int(parts["i"])
        )
        client = hmac.digest(salted, b"Client Key", "sha256")
        without = f"c=biws,r={parts['r']}"
        signed = f"{first},{challenge},{without}".encode()
        signature = hmac.digest(hashlib.sha256(client).digest(), signed, "sha256")
        proof = base64.b64encode(bytes(a ^ b for a, b in zip(client, signature, strict=True))).decode()
        self.send(packed(b"p", f"{without},p={proof}".encode()))
        return self.until(last)

    def close(self) -> None:
        self.line.close()

    def __enter__(self) -> Bytes:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def fields(content: bytes) -> dict[str, str]:
    """The parts of an error or a notice."""
    return {part[:1].decode(): part[1:].decode() for part in content.split(b"\0") if part}


def states(messages: list[Message]) -> list[str]:
    """The SQLSTATEs of the errors among messages."""
    return [fields(content)["C"] for kind, content in messages if kind == b"E"]


def kinds(messages: list[Message]) -> str:
    return b"".join(kind for kind, _ in messages).decode()

"""Uploads: a form with one file, read as it arrives and written to its place, never held in memory.

Order       The CSRF token is the form's first field: until it is known to be right, no file is created.
Parser      python-multipart's, which finds the boundaries; the fields that we take are checked here.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack
from pathlib import Path

from anyio import to_thread
from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import MultipartParser, parse_options_header

from discreet.core.errors import RequestError
from discreet.http.csrf import CSRF_FIELD
from discreet.services.policy_setup.uploads import UploadWriter, store_upload

MAX_FIELD_BYTES = 1_000
MAX_PARTS = 4
FILE_FIELD = "file"
MALFORMED = "The upload cannot be read."
MALFORMED_HINT = "Choose the file again."


class UploadReader:
    """Reads the body of an upload form; `path` is the file that was stored."""

    def __init__(self, content_type: str, folder: Path, require_token: Callable[[str], None]) -> None:
        kind, options = parse_options_header(content_type)
        boundary = options.get(b"boundary", b"")
        if kind != b"multipart/form-data" or not boundary:
            raise RequestError(MALFORMED, hint=MALFORMED_HINT)
        self._folder, self._require_token = folder, require_token
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._begin_part,
                "on_header_field": self._read_header_name,
                "on_header_value": self._read_header_value,
                "on_header_end": self._end_header,
                "on_headers_finished": self._begin_content,
                "on_part_data": self._read_content,
                "on_part_end": self._end_part,
                "on_end": self._end_body,
            },
        )
        self._stack = ExitStack()
        self._parts, self._has_token, self._has_ended = 0, False, False
        self._headers: dict[bytes, bytes] = {}
        self._header_name = self._header_value = self._field = b""
        self._content = b""
        self._writer: UploadWriter | None = None
        self.path: Path | None = None

    async def read(self, chunks: AsyncIterator[bytes]) -> Path:
        """Return the path of the file that the form brought; a body that breaks off leaves no file."""
        with self._stack:
            async for chunk in chunks:
                try:
                    await to_thread.run_sync(self._parser.write, chunk)
                except MultipartParseError:
                    raise RequestError(MALFORMED, hint=MALFORMED_HINT) from None
            if self.path is None or not self._has_ended:
                raise RequestError("No file was chosen.", hint="Choose one.")
        return self.path

    def _begin_part(self) -> None:
        self._parts += 1
        if self._parts > MAX_PARTS:
            raise RequestError(MALFORMED, hint=MALFORMED_HINT)
        self._headers, self._content, self._writer = {}, b"", None

    def _read_header_name(self, data: bytes, start: int, end: int) -> None:
        self._header_name += data[start:end]

    def _read_header_value(self, data: bytes, start: int, end: int) -> None:
        self._header_value += data[start:end]

    def _end_header(self) -> None:
        self._headers[self._header_name.lower()] = self._header_value
        self._header_name = self._header_value = b""

    def _begin_content(self) -> None:
        _, options = parse_options_header(self._headers.get(b"content-disposition", b""))
        self._field = options.get(b"name", b"")
        if self._field != FILE_FIELD.encode():
            return
        name = options.get(b"filename", b"").decode(errors="replace")
        if not self._has_token or self.path is not None:
            raise RequestError(MALFORMED, hint=MALFORMED_HINT)
        if not name:
            raise RequestError("No file was chosen.", hint="Choose one.")
        self.path, self._writer = self._stack.enter_context(store_upload(self._folder, name))

    def _read_content(self, data: bytes, start: int, end: int) -> None:
        if self._writer is not None:
            self._writer.write(data[start:end])
            return
        self._content += data[start:end]
        if len(self._content) > MAX_FIELD_BYTES:
            raise RequestError(MALFORMED, hint=MALFORMED_HINT)

    def _end_part(self) -> None:
        if self._field == CSRF_FIELD.encode():
            self._require_token(self._content.decode(errors="replace"))
            self._has_token = True

    def _end_body(self) -> None:
        self._has_ended = True

"""Bodies that are read by their own routes, as they arrive and up to a size of their own.

Every other body is read whole, and is small, before its route is looked for. These are uploads and the forms
of wide tables: their routes first require a custodian, so that nobody else sends much.
"""

from __future__ import annotations

from collections.abc import Mapping

from starlette.types import Message, Receive

from discreet.http.http_errors import BodyTooLargeError
from discreet.services.policy_setup.uploads import MAX_UPLOAD_BYTES

UPLOAD_PATH, FORM_PATH, PREVIEW_PATH = "/data/upload", "/data/form", "/data/preview"
MAX_FORM_BYTES = 4 * 2**20
MAX_ENVELOPE_BYTES = 2**16
MAX_BYTES_BY_PATH: Mapping[str, int] = {
    UPLOAD_PATH: MAX_UPLOAD_BYTES + MAX_ENVELOPE_BYTES,
    FORM_PATH: MAX_FORM_BYTES,
    PREVIEW_PATH: MAX_FORM_BYTES,
}


def limit_body(receive: Receive, max_bytes: int) -> Receive:
    """Return a receive function that refuses a body once it has more bytes than allowed."""
    size = 0

    async def receive_limited() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > max_bytes:
            unit, name = (2**20, "MB") if max_bytes >= 2**20 else (1024, "KB")
            raise BodyTooLargeError(
                f"This may have at most {max_bytes // unit} {name}.", hint="Bring in less at once."
            )
        return message

    return receive_limited

"""Questions in a file: `discreet plan dashboard.sql` plans its statements together."""

from __future__ import annotations

from pathlib import Path

from discreet.core.errors import RequestError
from discreet.core.number_checks import Real
from discreet.services.question_request import QuestionRequest, make_batch_requests
from discreet.sql.query_parser import split_statements

SUFFIX = ".sql"
MAX_BYTES = 1 << 20


def find_question_file(text: str) -> Path | None:
    """Return the file that a question names, a path that ends in .sql; None for a statement."""
    if not text.lower().endswith(SUFFIX) or "\n" in text:
        return None
    path = Path(text)
    try:
        if path.is_file():
            return path
    except OSError:  # too long for a path, or not readable
        return None
    if len(text.split()) == 1:
        raise RequestError(f"ask: there is no file {path}.", hint="Name a file of SQL, or ask a question.")
    return None


def read_questions(path: Path, request: QuestionRequest) -> tuple[list[QuestionRequest], Real | None]:
    """Return the requests of the statements in a file, and the most epsilon to spend for all of them."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise RequestError(f"ask: {path} has more than {MAX_BYTES:,} bytes.", hint="Split it.")
        statements = split_statements(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeError):
        raise RequestError(f"ask: {path} cannot be read as text.", hint="Save it as UTF-8.") from None
    if not statements:
        raise RequestError(f"ask: {path} has no statement.", hint="Write SELECT …; with ; between them.")
    return make_batch_requests(statements, request.model_dump(exclude={"sql"}))

"""`discreet stream`: answer many counting questions over one table, under one charge."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.count_command import PublicationBuilder, make_count_command
from discreet.core.errors import RequestError
from discreet.services.count_requests import StreamRequest


@make_count_command(StreamRequest)
def run(
    request: StreamRequest,
    *,
    file: Annotated[Path, typer.Argument(help="One SELECT COUNT(*) FROM table WHERE … a line.")],
) -> PublicationBuilder:
    """Answer counting questions in order, each from earlier releases if they are accurate enough."""
    from discreet.services.stream import plan_stream_release  # deferred: its imports take a second

    texts = _read_questions(file)
    return lambda curator, tell: plan_stream_release(curator, request, texts, tell)


def _read_questions(file: Path) -> list[str]:
    """Return the questions of a file, one a line, without blank lines and -- comments."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise RequestError(f"{file} cannot be read as text.", hint="Name a file of questions.") from None
    return [line.strip() for line in lines if line.strip() and not line.strip().startswith("--")]

"""`discreet stream`: answer many counting questions over one table, under one charge."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.count_command import PublicationBuilder, make_count_command
from discreet.core.errors import RequestError
from discreet.services.count_requests import StreamRequest
from discreet.services.stream import plan_stream_release


@make_count_command(StreamRequest)
def run(
    request: StreamRequest,
    *,
    file: Annotated[Path, typer.Argument(help="One SELECT COUNT(*) FROM table WHERE … a line.")],
) -> PublicationBuilder:
    """Answer many counting questions, one after the other.

    Each is answered from earlier releases if they are accurate enough.
    """
    texts = _read_questions(file)
    return lambda curator, tell: plan_stream_release(curator, request, texts, tell)


def _read_questions(file: Path) -> list[str]:
    """Return the questions of a file, one a line, without blank lines and -- comments."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        raise RequestError(f"stream: there is no file {file}.", hint="Name a file of questions.") from None
    except (OSError, UnicodeDecodeError):
        raise RequestError(
            f"stream: {file} cannot be read as text.", hint="Name a file of questions."
        ) from None
    return [line.strip() for line in lines if line.strip() and not line.strip().startswith("--")]

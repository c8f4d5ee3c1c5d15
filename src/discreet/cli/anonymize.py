"""`discreet anonymize`: publish a generalized table that is hard to link, or check an existing one."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli.request_options import options_from
from discreet.cli.shared_options import DEFAULT_POLICY, JsonOption
from discreet.services.anonymize.anonymize_request import (
    OUTPUT,
    PANELS,
    AnonymizeRequest,
    require_known_files,
)


@options_from(AnonymizeRequest, panels=PANELS)
def run(
    request: AnonymizeRequest,
    *,
    minimal: Annotated[
        bool, typer.Option("--minimal", help="List all minimal generalizations.", rich_help_panel=OUTPUT)
    ] = False,
    top: Annotated[
        int | None,
        typer.Option(help="List this many generalizations, the best first.", min=1, rich_help_panel=OUTPUT),
    ] = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Check the table as it is; publish nothing.", rich_help_panel=OUTPUT),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Publish a generalized table that is provably hard to link, with its certificate."""
    if request.policy is None and DEFAULT_POLICY.is_file():
        request = request.model_copy(update={"policy": DEFAULT_POLICY})
    require_known_files(request)
    from discreet.cli import anonymize_command  # deferred: its imports take seconds

    anonymize_command.run_anonymize(request, check=check, minimal=minimal, top=top, as_json=as_json)

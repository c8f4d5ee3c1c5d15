"""`discreet anonymize`: publish a generalized table that is hard to link, or check an existing one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.request_options import options_from
from discreet.cli.shared_options import DEFAULT_POLICY, JsonOption
from discreet.core.errors import RequestError
from discreet.services.addresses import parse_engine_address, require_engine_address
from discreet.services.anonymize.anonymize_request import OUTPUT, PANELS, AnonymizeRequest
from discreet.services.policies import load_policy


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
    """Publish a generalized table with its certificate.

    An attacker who knows quasi-identifiers can match no row to a person with more than a stated probability.
    """
    if request.policy is None and DEFAULT_POLICY.is_file():
        request = request.model_copy(update={"policy": DEFAULT_POLICY})
    _require_known_files(request)
    from discreet.cli import anonymize_command  # deferred: its imports take seconds

    anonymize_command.run_anonymize(request, check=check, minimal=minimal, top=top, as_json=as_json)


def _require_known_files(request: AnonymizeRequest) -> None:
    """Raise if the table or a hierarchy file does not exist, before imports that take seconds."""
    for name, file in request.hierarchy.items():
        if not Path(file).is_file():
            raise RequestError(
                f"The hierarchy of {name} is the file {file}, which does not exist.",
                hint="Correct its path in `hierarchy=`.",
            )
    table = request.table
    if _is_known(table, request.policy, request.engine):
        return
    named = Path(table)
    if named.suffix and not named.exists() and not Path(table.rpartition("#")[0] or table).exists():
        raise RequestError(f"{named} does not exist.", hint="Name a CSV, Parquet or DuckDB file.")


def _is_known(table: str, policy: Path | None, engine: str | None) -> bool:
    """Return whether this names a table of the policy, or may name one of its engine."""
    if policy is None and engine is None:
        return False
    if policy is None:
        return not parse_engine_address(require_engine_address(engine or "")).is_embedded
    terms = load_policy(policy, engine=engine)
    return table in terms.tables or not parse_engine_address(terms.engine).is_embedded

"""`init`: draft a policy to fill in, from the columns of files or of an engine's tables."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from discreet.core.errors import RequestError
from discreet.core.output_files import write_output
from discreet.core.policy import Policy
from discreet.services.addresses import SERVER_EXAMPLES, OptionalEngine
from discreet.services.policy_blanks import Blank, list_blanks
from discreet.services.policy_draft.draft_sources import find_file_tables, is_input, open_engine_tables
from discreet.services.policy_draft.table_drafts import (
    SCHEMA_FILE,
    TableDraft,
    draft_tables,
    format_engine_entry,
    format_policy,
)
from discreet.services.progress import ProgressCallback, ignore_progress
from discreet.services.request_fields import CommandLine

DEFAULT_POLICY = Path("privacy.yaml")


class InitRequest(BaseModel):
    """The tables to draft, the engine that has them, and the policy to write."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tables: Annotated[
        tuple[str, ...],
        Field(
            description="CSV, Excel, Parquet, Arrow or DuckDB files; with an engine its tables, patterns of "
            "them such as 'clinic.*', or paths that it reads."
        ),
        CommandLine(is_argument=True),
    ] = ()
    engine: Annotated[
        OptionalEngine,
        Field(description=f"The engine of the tables: duckdb:///FILE, {SERVER_EXAMPLES}. Alone, lists them."),
        CommandLine(metavar="ADDRESS"),
    ] = None
    output: Annotated[
        Path, Field(description="Where to write the policy."), CommandLine(flags=("--output", "-o"))
    ] = DEFAULT_POLICY
    force: Annotated[bool, Field(description="Overwrite an existing policy.")] = False


@dataclass(frozen=True, kw_only=True)
class PolicyDraft:
    """A draft that was written: its tables, and the entries that it leaves open."""

    path: Path
    tables: tuple[TableDraft, ...]
    blanks: tuple[Blank, ...]
    engine: str | None


def draft_policy(request: InitRequest, progress: ProgressCallback = ignore_progress) -> PolicyDraft:
    """Write a draft of a policy: columns and types from the tables, bounds and values left open as ?."""
    if request.tables:
        _require_writable(request)
    folder = request.output.absolute().parent
    tables = _draft_tables(request, folder, progress)
    entry = "" if request.engine is None else format_engine_entry(request.engine, folder)
    _save_policy(format_policy(tables, entry), request.output, force=request.force)
    save_schema(folder)
    return PolicyDraft(
        path=request.output,
        tables=tuple(tables),
        blanks=tuple(list_blanks(request.output)),
        engine=request.engine,
    )


def _draft_tables(request: InitRequest, folder: Path, progress: ProgressCallback) -> list[TableDraft]:
    if request.engine is None or request.engine == "duckdb":
        if not request.tables:
            raise RequestError(
                "init: no table was named.",
                hint="Name CSV, Parquet or DuckDB files, or an engine with `engine=` to list its tables.",
            )
        tables = draft_tables(find_file_tables(request.tables, folder))
    else:
        progress("looking at the tables")
        with open_engine_tables(request.engine, request.tables, folder) as found:
            tables = draft_tables(found)
    if not tables:
        raise RequestError("init: the files hold no tables.", hint="Name a file with tables.")
    return tables


def save_schema(folder: Path) -> None:
    """Write the schema of policies beside the draft, so that editors complete and check it."""
    text = json.dumps(Policy.model_json_schema(), indent=1, ensure_ascii=False)
    with suppress(OSError, RequestError):  # an editor does without
        write_output(folder / SCHEMA_FILE, text)


def _require_writable(request: InitRequest) -> None:
    output = request.output
    if output.is_dir():
        raise RequestError(f"init: {output} is a folder.", hint="Name a file with `output=`.")
    if output.exists() and is_input(output, request.tables, request.engine):
        raise RequestError(
            f"init: {output} is one of the data files.", hint="Choose another name with `output=`."
        )
    if output.exists() and not request.force:
        raise RequestError(
            f"init: {output} exists already.",
            hint="Add `force=` to overwrite it, or choose another with `output=`.",
        )


def _save_policy(text: str, output: Path, *, force: bool) -> None:
    """Write the file atomically; without `force`, never replace a file that appeared in the meantime."""
    try:
        if not force:
            with output.open("x", encoding="utf-8") as file:
                file.write(text)
            return
        part = output.with_name(f".{output.name}.{os.getpid()}")
        try:
            part.write_text(text, encoding="utf-8")
            os.replace(part, output)
        finally:
            part.unlink(missing_ok=True)
    except FileExistsError:
        raise RequestError(f"init: {output} exists already.", hint="Add `force=` to overwrite it.") from None
    except OSError as problem:
        raise RequestError(
            f"init: {output} cannot be written ({problem.strerror or 'unknown reason'}).",
            hint="Choose another place with `output=`.",
        ) from None

"""`discreet init`: draft a policy to fill in, from the columns of files or of an engine's tables."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.progress_bar import show_progress
from discreet.core.errors import RequestError
from discreet.rendering.terminal import Console
from discreet.services.addresses import remove_password
from discreet.services.policies import Blank, list_blanks, require_engine_address
from discreet.services.policy_draft.source_tables import find_file_tables, is_input, open_engine_tables
from discreet.services.policy_draft.table_drafts import (
    TableDraft,
    describe_omitted_password,
    draft_tables,
    format_engine_entry,
    format_policy,
)

POLICY = Path("privacy.yaml")
TABLES = typer.Argument(
    help="CSV, Parquet or DuckDB files; with --engine its tables, patterns of them such as 'clinic.*', "
    "or paths that it reads.",
    show_default=False,
)


def run(
    tables: Annotated[list[str] | None, TABLES] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="The engine of the tables: duckdb:///FILE, postgresql://…, spark:local. Alone, lists them.",
        ),
    ] = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="Where to write the policy.")] = POLICY,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing policy.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Draft a policy to fill in: columns and types from the tables, bounds and values left open as ?."""
    address = None if engine is None else require_engine_address(engine)
    if tables:
        _require_writable(output, tables, address, force=force)
    folder = output.absolute().parent
    drafted = _draft_tables(tables or [], address, folder)
    _save_policy(
        format_policy(drafted, "" if address is None else format_engine_entry(address, folder)),
        output,
        force=force,
    )
    left = list_blanks(output)
    if as_json:
        print(json.dumps(draft_to_json(output, drafted, left, address or "duckdb")))
    else:
        show_draft(Console(stderr=True, soft_wrap=True), output, drafted, left, address or "")


def _draft_tables(words: list[str], address: str | None, folder: Path) -> list[TableDraft]:
    if not words and address in (None, "duckdb"):
        raise RequestError(
            "init: no table was named.",
            hint="Name CSV, Parquet or DuckDB files, or an engine with --engine to list its tables.",
        )
    if address in (None, "duckdb"):
        tables = draft_tables(find_file_tables(words, folder))
    else:
        with show_progress() as tell:
            tell("looking at the tables")
            with open_engine_tables(address, words, folder) as found:
                tables = draft_tables(found)
    if not tables:
        raise RequestError("init: the files hold no tables.", hint="Name a file with tables.")
    return tables


def _require_writable(output: Path, words: list[str], address: str | None, *, force: bool) -> None:
    if output.is_dir():
        raise RequestError(f"init: {output} is a folder.", hint="Name a file with -o.")
    if output.exists() and is_input(output, words, address):
        raise RequestError(f"init: {output} is one of the data files.", hint="Choose another name with -o.")
    if output.exists() and not force:
        raise RequestError(
            f"init: {output} exists already.",
            hint="Add --force to overwrite it, or choose another with -o.",
        )


def draft_to_json(
    output: Path, tables: list[TableDraft], left: list[Blank], address: str
) -> dict[str, object]:
    """Return the JSON object."""
    return {
        "policy": str(output),
        "engine": remove_password(address),
        "tables": {
            table.name: {
                "source": table.source_table.source,
                "person": table.person,
                "types_are_guesses": table.source_table.has_guessed_types,
                "header": table.source_table.has_header,
                "columns": {
                    column.name: {
                        "type": column.kind.value,
                        "role": column.role.value,
                        **({} if column.hipaa is None else {"hipaa": column.hipaa.label}),
                    }
                    for column in table.columns
                },
                "left_out": list(table.left_out),
            }
            for table in tables
        },
        "fill_in": [{"path": blank.path, "line": blank.line, "what": blank.description} for blank in left],
    }


def show_draft(
    console: Console, output: Path, tables: list[TableDraft], left: list[Blank], address: str
) -> None:
    """Print the blanks to fill in, the guesses to check, and the next command."""

    def print_line(text: str) -> None:
        console.print(text, markup=False, highlight=False)

    print_line(f"{output} is a draft. Fill in {len(left)} places that are marked ?:")
    for table in tables:
        for name in ("person", "rows_per_person"):
            print_line(f"  line {_find_line(left, f'tables.{table.name}.{name}')}: {name} of {table.name}")
        for column in table.columns:
            prefix = f"tables.{table.name}.columns.{column.name}."
            open_ = [blank for blank in left if blank.path.startswith(prefix)]
            if open_:
                names = ", ".join(blank.path.removeprefix(prefix) for blank in open_)
                print_line(f"  line {open_[0].line}: {names} of {column.name}")
    for table in tables:
        for remark in _list_remarks(table):
            print_line(remark)
    password = describe_omitted_password(address)
    if password is not None:
        print_line(password)
    where = "" if output == POLICY else f" --policy {shlex.quote(str(output))}"
    print_line(f'Then: discreet plan "SELECT COUNT(*) FROM {tables[0].name}" --share 5%{where}')


def _list_remarks(table: TableDraft) -> list[str]:
    name = table.source_table.display_name
    remarks = []
    if table.source_table.has_guessed_types:
        remarks.append(f"The types of {name} are guesses from its text: check them.")
    if not table.source_table.has_header:
        named = ", ".join(column.name for column in table.columns[:2])
        remarks.append(f"{name} has no header: give it a first line of names ({named} …), as in the policy.")
    if table.is_header_in_doubt:
        remarks.append(
            f"All of {name} is text, so its first line was taken for the header: check that it is no row."
        )
    if table.has_roles_by_name_only:
        remarks.append(f"No values of {name} could be looked at: roles are by name alone, check them.")
    if table.left_out:
        listed = ", ".join(map(str, table.left_out))
        remarks.append(
            f"Left out of {name}, as a policy has no word for their names or types: columns {listed}. "
            + _suggest_renaming(table)
        )
    return remarks


def _suggest_renaming(table: TableDraft) -> str:
    names = "letters, digits, blanks and . - _"
    if table.source_table.is_in_database:
        return f"To keep them, make a view in which they are numbers, texts or dates under names of {names}."
    return f"To keep them, name them with {names} in the file."


def _find_line(left: list[Blank], path: str) -> int:
    return next(blank.line for blank in left if blank.path == path)


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
        raise RequestError(f"init: {output} exists already.", hint="Add --force to overwrite it.") from None
    except OSError as problem:
        raise RequestError(
            f"init: {output} cannot be written ({problem.strerror or 'unknown reason'}).",
            hint="Choose another place with -o.",
        ) from None

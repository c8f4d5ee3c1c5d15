"""`discreet init`: a policy to fill in, from what files say of their columns."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated

import typer

from discreet.app.drafting.drafts import TableDraft, draft, write
from discreet.app.policies import Blank, blanks
from discreet.app.terminal import Console
from discreet.core.errors import RequestError
from discreet.engines.schema import schemas


def run(
    files: Annotated[list[Path], typer.Argument(help="CSV, Parquet or DuckDB files.", show_default=False)],
    output: Annotated[Path, typer.Option("-o", "--output", help="Where to write the policy.")] = Path(
        "privacy.yaml"
    ),
    force: Annotated[bool, typer.Option("--force", help="Overwrite a policy that is there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Write a policy to fill in: columns and types from the files, bounds and values left open as ?."""
    if output.is_dir():
        raise RequestError(f"init: {output} is a folder.", hint="Name a file with -o.")
    if output.exists() and any(file.exists() and file.samefile(output) for file in files):
        raise RequestError(f"init: {output} is one of the data files.", hint="Choose another name with -o.")
    if output.exists() and not force:
        raise RequestError(
            f"init: {output} is there already.",
            hint="Add --force to overwrite it, or choose another with -o.",
        )
    tables = draft([schema for file in files for schema in schemas(file)])
    if not tables:
        raise RequestError("init: the files hold no tables.", hint="Name a file with tables.")
    _save(write(tables, output.absolute().parent), output, force=force)
    left = blanks(output)
    if as_json:
        print(json.dumps(as_object(output, tables, left)))
    else:
        show(Console(stderr=True, soft_wrap=True), output, tables, left)


def as_object(output: Path, tables: list[TableDraft], left: list[Blank]) -> dict[str, object]:
    """The machine-readable form."""
    return {
        "policy": str(output),
        "tables": {
            table.name: {
                "source": table.schema.source,
                "person": table.person,
                "types_are_guesses": table.schema.guessed,
                "header": table.schema.header,
                "columns": {
                    column.name: {
                        "type": column.kind.value,
                        "role": column.role.value,
                        **({} if column.hipaa is None else {"hipaa": column.hipaa.what}),
                    }
                    for column in table.columns
                },
                "left_out": list(table.left_out),
            }
            for table in tables
        },
        "fill_in": [{"path": blank.path, "line": blank.line, "what": blank.what} for blank in left],
    }


def show(console: Console, output: Path, tables: list[TableDraft], left: list[Blank]) -> None:
    """What to fill in, what to check, and the next command."""

    def say(text: str) -> None:
        console.print(text, markup=False, highlight=False)

    say(f"{output} is a draft. Fill in {len(left)} places that are marked ?:")
    for table in tables:
        for name in ("person", "rows_per_person"):
            say(f"  line {_line(left, f'tables.{table.name}.{name}')}: {name} of {table.name}")
        for column in table.columns:
            prefix = f"tables.{table.name}.columns.{column.name}."
            open_ = [blank for blank in left if blank.path.startswith(prefix)]
            if open_:
                names = ", ".join(blank.path.removeprefix(prefix) for blank in open_)
                say(f"  line {open_[0].line}: {names} of {column.name}")
    for table in tables:
        for remark in _remarks(table):
            say(remark)
    say(f'Then: discreet plan "SELECT COUNT(*) FROM {tables[0].name}" --share 5%')


def _remarks(table: TableDraft) -> list[str]:
    name = table.schema.path.name
    remarks = []
    if table.schema.guessed:
        remarks.append(f"The types of {name} are guesses from its text: check them.")
    if not table.schema.header:
        named = ", ".join(column.name for column in table.columns[:2])
        remarks.append(f"{name} has no header: give it a first line of names ({named} …), as in the policy.")
    if table.header_in_doubt:
        remarks.append(
            f"All of {name} is text, so its first line was taken for the header: check that it is no row."
        )
    if table.left_out:
        listed = ", ".join(map(str, table.left_out))
        remarks.append(
            f"Left out of {name}, as a policy has no word for their names or types: columns {listed}. "
            "To keep them, name them with letters, digits, blanks and . - _ in the file."
        )
    return remarks


def _line(left: list[Blank], path: str) -> int:
    return next(blank.line for blank in left if blank.path == path)


def _save(text: str, output: Path, *, force: bool) -> None:
    """The whole file or none; one that appeared in the meantime is kept."""
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
        raise RequestError(f"init: {output} is there already.", hint="Add --force to overwrite it.") from None
    except OSError as problem:
        raise RequestError(
            f"init: {output} cannot be written ({problem.strerror or 'unknown reason'}).",
            hint="Choose another place with -o.",
        ) from None

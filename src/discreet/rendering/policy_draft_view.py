"""A draft of a policy: what is left to fill in and to check, in the terminal and as JSON."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from rich.console import Console

from discreet.services.addresses import remove_password
from discreet.services.policy_blanks import Blank
from discreet.services.policy_draft.policy_draft import DEFAULT_POLICY, PolicyDraft
from discreet.services.policy_draft.table_drafts import TableDraft, describe_omitted_password


def draft_to_json(draft: PolicyDraft) -> dict[str, object]:
    return {
        "policy": str(draft.path),
        "engine": remove_password(draft.engine or "duckdb"),
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
            for table in draft.tables
        },
        "fill_in": [
            {"path": blank.path, "line": blank.line, "what": blank.description} for blank in draft.blanks
        ],
    }


def show_draft(console: Console, draft: PolicyDraft) -> None:
    """Print the blanks to fill in, the guesses to check, and the next command."""
    output, left = draft.path, draft.blanks

    def print_line(text: str) -> None:
        console.print(text, markup=False, highlight=False)

    print_line(f"{output} is a draft. Fill in {len(left)} places that are marked ?:")
    for table in draft.tables:
        reading = f"tables.{table.name}.csv."
        for blank in left:
            if blank.path.startswith(reading):
                entry = blank.path.removeprefix(reading)
                print_line(f"  line {blank.line}: {entry} of the text of {table.name}")
        for name in ("person", "rows_per_person"):
            print_line(f"  line {_find_line(left, f'tables.{table.name}.{name}')}: {name} of {table.name}")
        for column in table.columns:
            prefix = f"tables.{table.name}.columns.{column.name}."
            open_ = [blank for blank in left if blank.path.startswith(prefix)]
            if open_:
                names = ", ".join(blank.path.removeprefix(prefix) for blank in open_)
                print_line(f"  line {open_[0].line}: {names} of {column.name}")
    for table in draft.tables:
        for remark in _list_remarks(table):
            print_line(remark)
    password = None if draft.engine is None else describe_omitted_password(draft.engine)
    if password is not None:
        print_line(password)
    where = "" if output == DEFAULT_POLICY else f" --policy {shlex.quote(str(output))}"
    print_line(f'Then: discreet plan "SELECT COUNT(*) FROM {draft.tables[0].name}" --share 5%{where}')


def _list_remarks(table: TableDraft) -> list[str]:
    name = table.source_table.display_name
    remarks = []
    if table.source_table.has_guessed_types:
        remarks.append(f"The types of {name} are guesses from its text: check them.")
    if not table.source_table.has_header:
        named = ", ".join(column.name for column in table.columns[:2])
        remarks.append(f"{name} has no header: put the names of its columns ({named} …) under csv, names.")
    found = table.source_table.csv
    if found is not None and found.other_sheets:
        listed = ", ".join(found.other_sheets)
        remarks.append(f"The fullest sheet of {name} was taken; it also has {listed}: csv, sheet names it.")
    if found is not None and found.has_short_header:
        remarks.append(f"The header of {name} has one name fewer than its rows have values: it is left out.")
    if found is not None and found.has_offsets:
        remarks.append(f"Times of {name} that have an offset, such as +02:00, are read in UTC.")
    if found is not None and len(table.columns) == 1:
        remarks.append(
            f"{name} is read as one column: if it has more, declare what separates them, csv: {{delimiter}}. "
            "Columns that blanks align are not read."
        )
    if table.is_header_in_doubt:
        remarks.append(
            f"All of {name} is text, so its first line was taken for the header: check that it is no row."
        )
    if table.has_roles_by_name_only:
        remarks.append(f"No values of {name} could be looked at: roles are by name alone, check them.")
    if table.left_out:
        listed = ", ".join(map(str, table.left_out))
        remarks.append(
            f"Left out of {name}, as a policy has no word for their types: columns {listed}. "
            + _suggest_conversion(table)
        )
    return remarks


def _suggest_conversion(table: TableDraft) -> str:
    if table.source_table.is_in_database:
        return "To keep them, make a view in which they are numbers, texts or dates."
    return "To keep them, write them as numbers, texts or dates."


def _find_line(left: Sequence[Blank], path: str) -> int:
    return next(blank.line for blank in left if blank.path == path)

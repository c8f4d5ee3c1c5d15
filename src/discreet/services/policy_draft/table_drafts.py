"""Draft of a policy: what the tables' schemas say, and a `?` for everything that a person must decide.

Names and types come from the schemas. Roles come from column names, or from the pattern that most values of
a text column match if its name says nothing. Bounds and values are left open: taken from the data, they would
reveal its extremes, and so would every answer that depends on them.

Passwords and tokens are removed from the engine's address: more people read a policy than may know them.

Hierarchies are proposed at the end, from names and types alone: a draft has no bounds and no values yet.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill

from discreet.accounting.belief_sentences import describe_policy_belief
from discreet.core.column_entry import ColumnType, Role
from discreet.core.errors import RequestError
from discreet.core.table_entry import WORD
from discreet.engines.csv_detection import CsvDetection, make_distinct_names
from discreet.services.addresses import parse_engine_address, remove_password
from discreet.services.policy_draft.column_roles import (
    HipaaIdentifier,
    contains_word,
    guess_role,
    identify_by_content,
    identify_by_name,
    is_code,
    is_key,
    is_maskable,
    is_person_key,
)
from discreet.services.policy_draft.draft_sources import SourceTable

PLAIN_SCALAR = re.compile(r"(?!.* #)[A-Za-z_./][A-Za-z0-9_ ./#-]*(?<! )")
# Words that other YAML readers take for booleans or null.
AMBIGUOUS_WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}


def quote_scalar(text: str) -> str:
    """Return a text as a YAML scalar.

    >>> quote_scalar("marital-status"), quote_scalar("no"), quote_scalar("a: b"), quote_scalar("größe")
    ('marital-status', '"no"', '"a: b"', '"größe"')
    """
    plain = PLAIN_SCALAR.fullmatch(text) is not None and text.lower() not in AMBIGUOUS_WORDS
    return text if plain else json.dumps(text, ensure_ascii=not text.isprintable())


LONGEST_NAME = 60
"""Characters of a proposed name; YAML has no keys of more than 1,024."""
PLAIN_ADDRESS = re.compile(r"\w+:(?!.*:$)[\w.:/@?&=%,;+~\[\]-]+")
STORE = """\
# store: {place:<12}    # a writable {what}: tables are prepared there once, for all questions
# data_version: 2        # raise it when the data change: answers and prepared tables belong to one version
# bounding: rows         # truncates the rows of a person with too many; weights: reweights all of them.
#                          Default: weights without a store, rows with one
"""


def format_engine_entry(address: str, folder: Path) -> str:
    """Return the engine lines of a policy in `folder`; empty if the sources are plain files."""
    engine = parse_engine_address(address)
    if engine.is_embedded:
        file = address.removeprefix("duckdb:///")
        return (
            ""
            if file == address
            else f"\nengine: {_quote_address(f'duckdb:///{os.path.relpath(file, folder)}')}\n"
        )
    where = engine.password_place
    remark = f"# A password belongs in {where}, not in this file.\n" if where else ""
    place, what = engine.store_example
    store = STORE.format(place=place, what=what)
    return f"\n{remark}engine: {_quote_address(remove_password(address))}\n{store}"


def describe_omitted_password(address: str) -> str | None:
    """Return a sentence that the password was left out of the draft; None if there was none."""
    if remove_password(address) == address:
        return None
    place = parse_engine_address(address).password_place
    return f"The password is not in the draft: put it in {place}."


def _quote_address(address: str) -> str:
    return address if PLAIN_ADDRESS.fullmatch(address) else json.dumps(address)


HIERARCHIES_HEAD = """
# Proposals, to check: how quasi-identifiers are generalized in a published table. Only `discreet anonymize`
# needs them; `discreet hierarchy COLUMN` shows one. Without an entry, numbers get intervals of equal width
# within their bounds, and categories get runs of their values in the order above.
"""
AGES = "{low: 0, high: 120, widths: [5, 10, 20, 40]}"
GROUPS = '{tree: {"*": {GROUP: [VALUE, VALUE], OTHERS: [VALUE]}}}    # or {csv: FILE}, in ARX\'s format'


def format_hierarchies(columns: Sequence[tuple[str, ColumnType, Role]]) -> str:
    """Return the hierarchy entries for the quasi-identifiers; empty if there are none."""
    found: dict[str, set[str]] = {}
    for name, kind, role in columns:
        found.setdefault(name, set()).add(_propose_entry(name, kind, role))
    # An entry applies to every column of its name; if their types differ, no entry fits all.
    entries = [
        f"  {quote_scalar(name)}: {entry}" for name, (entry, *others) in found.items() if entry and not others
    ]
    groups = [name for name, kind, role in columns if role is Role.QUASI and kind is ColumnType.CATEGORY]
    groups = [name for name in groups if found[name] == {""}][:1]
    lines = ["hierarchies:", *entries, *(f"  # {quote_scalar(name)}: {GROUPS}" for name in groups)]
    if not entries:
        lines = [f"# {line.replace('# ', '', 1)}" for line in lines]
    return "\n".join([HIERARCHIES_HEAD, *lines, ""]).replace("\n\n", "\n") if entries or groups else ""


def _propose_entry(name: str, kind: ColumnType, role: Role) -> str:
    if role is not Role.QUASI:
        return ""
    if kind is ColumnType.DATE:
        return "{dates: [month, year, decade]}"
    if kind is ColumnType.TIMESTAMP:
        return "{dates: [day, month, year, decade]}"
    if kind is ColumnType.INTEGER and contains_word(name, "age"):
        return AGES
    return "{mask: right}" if kind in (ColumnType.TEXT, ColumnType.CATEGORY) and is_maskable(name) else ""


PROMISE_MEANING = fill(
    describe_policy_belief("`prior`", "`posterior`"), 108, initial_indent="# ", subsequent_indent="# "
)
SCHEMA_FILE = ".policy.schema.json"
"""The schema of policies that a draft refers to, for editors; it is written beside the draft."""
HEAD = f"""\
# yaml-language-server: $schema={SCHEMA_FILE}
# A draft of a privacy policy. Replace every ?, check the rest, and delete what nobody needs to ask about.
# Take bounds and values from what is public: a questionnaire, a standard, an expert. Never from the data, as
# they would reveal its rarest people; `discreet bounds` learns them privately. Values beyond are clamped.

{PROMISE_MEANING}
# What that means in words: discreet promise --prior 1% --posterior 5%
promise: {{prior: 1%, posterior: 5%, secret: value}}    # secret: value, or presence (that one is in the data)
epsilon: 0.1    # the part of the budget that a question may spend, unless it names its own

# Roles: identifier (never released), quasi (known to others), sensitive, other.
# A category may omit `values`; groups are then selected privately, and the promise needs a tail above 0.
# Free text, not one of a few values: type: text.
# A table may link to others: links: {{visit: visits.id}}. If only the linked row names the person:
# person: {{through: visit}}. A table about no person, such as a list of clinics: person: none.
# nulls: false declares that the column has no NULL, so that its count and the count of rows are charged once;
# nulls: true makes NULL a group of its own in GROUP BY.
# scale: log bins a number by its logarithm for training and synthesis: incomes, sizes, durations.
# most_rows: 20000 beside rows_per_person is the most rows that a table will have. Only the time at which
# answers of `discreet serve` leave depends on it; the default is a million rows.
"""


@dataclass(frozen=True, kw_only=True)
class ColumnDraft:
    """One column of a draft; `hipaa` is the HIPAA identifier that it seems to be, if any.

    `source_name` is its name in the source, where a policy cannot declare that.
    """

    name: str
    kind: ColumnType
    role: Role
    hipaa: HipaaIdentifier | None = None
    source_name: str | None = None

    @property
    def open_entries(self) -> tuple[str, ...]:
        """The entries that a person must decide."""
        return () if self.role is Role.IDENTIFIER else ENTRIES_BY_KIND.get(self.kind, ())

    @property
    def entry(self) -> str:
        parts = [] if self.source_name is None else [f"from: {_format_text(self.source_name)}"]
        parts += [f"type: {self.kind.value}", *(OPEN_ENTRIES[each] for each in self.open_entries)]
        if self.role is not Role.OTHER:
            parts.append(f"role: {self.role.value}")
        remark = "" if self.hipaa is None else f"    # HIPAA ({self.hipaa.letter}): {self.hipaa.label}"
        return f"{{{', '.join(parts)}}}{remark}"


ENTRIES_BY_KIND: Mapping[ColumnType, tuple[str, ...]] = {
    ColumnType.INTEGER: ("low", "high"),
    ColumnType.DECIMAL: ("low", "high", "resolution"),
    ColumnType.DATE: ("low", "high"),
    ColumnType.TIMESTAMP: ("low", "high"),
    ColumnType.CATEGORY: ("values",),
}
OPEN_ENTRIES = {
    "low": "low: ?",
    "high": "high: ?",
    "resolution": "resolution: ?",
    "values": "values: [?]",
}


@dataclass(frozen=True, kw_only=True)
class TableDraft:
    """One table of a draft; `left_out` are columns that a policy cannot declare, quoted or by their place.

    `has_roles_by_name_only` is set if no values could be matched against patterns.
    """

    name: str
    source_table: SourceTable
    columns: tuple[ColumnDraft, ...]
    left_out: tuple[str, ...]
    has_roles_by_name_only: bool = False

    @property
    def person(self) -> str | None:
        """The only column that seems to identify the person, or None."""
        people = [column.name for column in self.columns if is_person_key(column.name)]
        keys = people or [column.name for column in self.columns if is_key(column.name)]
        return keys[0] if len(keys) == 1 else None

    @property
    def is_header_in_doubt(self) -> bool:
        """True if the column names may be a data row: in a file of texts, a header looks like any row."""
        return (
            self.source_table.has_guessed_types
            and self.source_table.has_header
            and all(kind is ColumnType.TEXT for _, kind in self.source_table.columns)
        )


def draft_tables(source_tables: Sequence[SourceTable]) -> list[TableDraft]:
    """Return one draft per source table, under distinct names."""
    tables: list[TableDraft] = []
    for each in source_tables:
        name = _make_table_name(each.name, {table.name for table in tables})
        tables.append(_draft_table(name, each))
    return tables


def format_policy(tables: Sequence[TableDraft], engine: str = "") -> str:
    """Return the text of the policy; `engine` is its entry for the engine's address."""
    blocks = "\n".join(map(_format_table, tables))
    columns = [(column.name, column.kind, column.role) for table in tables for column in table.columns]
    return f"{HEAD}{engine}\ntables:\n{blocks}{format_hierarchies(columns)}"


def _draft_table(name: str, found: SourceTable) -> TableDraft:
    usable = {column: kind for column, kind in found.columns if kind is not None and column}
    shares = found.match_shares(
        [column for column, kind in usable.items() if _may_hold_anything(column, kind)]
    )
    columns = tuple(
        _draft_column(name, column, kind, (shares or {}).get(column, {}))
        for name, (column, kind) in zip(_propose_names(usable), usable.items(), strict=True)
    )
    if not columns:
        raise RequestError(
            f"{found.display_name} has no column that a policy can declare.",
            hint="Lists, documents and bytes are not supported.",
        )
    left_out = tuple(
        quote_scalar(column) if column else f"column {place}, which has no name"
        for place, (column, _) in enumerate(found.columns, 1)
        if column not in usable
    )
    return TableDraft(
        name=name,
        source_table=found,
        columns=columns,
        left_out=left_out,
        has_roles_by_name_only=shares is None,
    )


def _propose_names(columns: Iterable[str]) -> list[str]:
    """Return a name that a policy can declare for each column: its own, or the words of it.

    >>> _propose_names(["age", "Gewicht/kg", "Time spent (minutes)", "1st", "AGE"])
    ['age', 'Gewicht_kg', 'Time_spent_minutes', 'c_1st', 'AGE_2']
    """
    found = []
    for column in columns:
        words = column if _is_name(column) else "_".join(re.findall(r"[^\W_]+", column)) or "column"
        found.append((words if _is_name(words) else f"c_{words}")[:LONGEST_NAME])
    return list(make_distinct_names(found))


def _may_hold_anything(name: str, kind: ColumnType) -> bool:
    return kind in (ColumnType.TEXT, ColumnType.CATEGORY) and guess_role(name) in (Role.OTHER, Role.QUASI)


def _draft_column(name: str, column: str, kind: ColumnType, shares: Mapping[str, float]) -> ColumnDraft:
    hipaa = identify_by_content(shares) or identify_by_name(name, kind)
    role = hipaa.role if hipaa is not None and identify_by_content(shares) else guess_role(name)
    if role is not Role.IDENTIFIER and (
        kind is ColumnType.TEXT or (kind is ColumnType.INTEGER and is_code(name))
    ):
        kind = ColumnType.CATEGORY
    source_name = None if name == column else column
    return ColumnDraft(name=name, kind=kind, role=role, hipaa=hipaa, source_name=source_name)


def _format_table(table: TableDraft) -> str:
    proposal = _format_person_proposal(table.person)
    person = f"row, if every row is a different person; or the column that identifies it{proposal}"
    width = max(len(quote_scalar(column.name)) for column in table.columns) + 1
    lines = [
        f"  {table.name}:",
        *([f"    source: {quote_scalar(table.source_table.source)}"] if table.source_table.source else []),
        *_format_csv(table.source_table.csv),
        f"    person: ?             # {person}",
        "    rows_per_person: ?    # the most rows of one person that count; 1 where person is row",
        f"    columns:{_format_caution(table)}",
        *(f"      {f'{quote_scalar(column.name)}:':<{width}} {column.entry}" for column in table.columns),
        *(f"      # {each} is left out: a policy cannot declare its type" for each in table.left_out),
    ]
    return "\n".join(lines) + "\n"


def _format_csv(found: CsvDetection | None) -> list[str]:
    """Return the lines of a table's reading options: those that its file seems to need."""
    if found is None:
        return []
    entries = {
        name: [_format_text(each) for each in value] if isinstance(value, tuple) else _format_text(value)
        for name, value in found.options.model_dump(exclude_defaults=True).items()
    }
    for form in found.open_dates[:1]:
        kind = "timestamps" if "%H" in form or "%I" in form else "dates"
        known = entries.get(kind, [])
        assert isinstance(known, list)
        entries[kind] = [*known, "?"]
    if found.has_short_years:
        entries["two_digit_years"] = "?"
    remarks = {
        "dates": f"is {' or '.join(found.open_dates[:2])} meant?" if found.open_dates else "",
        "two_digit_years": "the first of the hundred years that two digits mean, such as 1930",
        "skip": "its header has a name less than its rows have values" if found.has_short_header else "",
    }
    if found.open_number is not None:
        mark = found.open_number[1]
        other = "," if mark == "." else "."
        entries["decimal"] = "?"
        remarks["decimal"] = (
            f'"{mark}" if {found.open_number} is less than two; "{other}" and thousands: "{mark}" if it is '
            "more than a thousand"
        )
    lines = [
        f"      {name}: {_format_list(value) if isinstance(value, list) else value}"
        + (f"    # {remarks[name]}" if remarks.get(name) else "")
        for name, value in entries.items()
    ]
    head = "    csv:                  # how its text is read: found in its first rows, check it"
    return [head, *lines] if lines else []


def _format_list(texts: Sequence[str]) -> str:
    return f"[{', '.join(texts)}]"


def _format_text(value: object) -> str:
    """Return a value in quotes, as JSON and YAML read it."""
    return json.dumps(value, ensure_ascii=not str(value).isprintable())


def _format_person_proposal(person: str | None) -> str:
    return "" if person is None else f", perhaps {person}"


def _format_caution(table: TableDraft) -> str:
    names = ", names too: is its first line a header?" if table.is_header_in_doubt else ""
    return (
        f"{' ' * 14}# types are guesses from the text{names}" if table.source_table.has_guessed_types else ""
    )


def _make_table_name(stem: str, taken: set[str]) -> str:
    plain = re.sub(r"[^A-Za-z0-9_]+", "_", stem).strip("_") or "table"
    plain = plain if not plain[0].isdigit() else f"t_{plain}"
    names = (plain, *(f"{plain}_{number}" for number in range(2, len(taken) + 2)))
    return next(name for name in names if name not in taken)


def _is_name(column: str) -> bool:
    return WORD.fullmatch(column) is not None and not column.startswith("_discreet")

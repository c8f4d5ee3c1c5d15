"""Draft of a policy: what the tables' schemas say, and a `?` for everything that a person must decide.

Names and types come from the schemas. Roles come from column names, or from the pattern that most values of
a text column match if its name says nothing. Bounds and values are left open: taken from the data, they would
reveal its extremes, and so would every answer that depends on them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill

from discreet.accounting.belief_sentences import describe_policy_belief
from discreet.core.errors import RequestError
from discreet.core.policy import WORD, ColumnType, Role
from discreet.services.policy_draft.column_roles import guess_role, is_code, is_key, is_person_key
from discreet.services.policy_draft.hierarchy_proposals import format_hierarchies
from discreet.services.policy_draft.hipaa_identifiers import (
    HipaaIdentifier,
    identify_by_content,
    identify_by_name,
)
from discreet.services.policy_draft.source_tables import SourceTable
from discreet.services.yaml_quoting import quote_scalar

PROMISE_MEANING = fill(
    describe_policy_belief("`prior`", "`posterior`"), 108, initial_indent="# ", subsequent_indent="# "
)
HEAD = f"""\
# A draft of a privacy policy. Replace every ?, check the rest, and delete what nobody needs to ask about.
# Take bounds and values from what is public: a questionnaire, a standard, an expert. Never from the data, as
# they would reveal its rarest people. Values beyond a bound are clamped to it.

{PROMISE_MEANING}
# What that means in words: discreet promise --prior 1% --posterior 5%
promise: {{prior: 1%, posterior: 5%, secret: value}}    # secret: value, or presence (that one is in the data)

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
    """One column of a draft; `hipaa` is the HIPAA identifier that it seems to be, if any."""

    name: str
    kind: ColumnType
    role: Role
    hipaa: HipaaIdentifier | None = None

    @property
    def entry(self) -> str:
        parts = [f"type: {self.kind.value}"]
        if self.role is not Role.IDENTIFIER:
            parts += OPEN_ENTRIES.get(self.kind, [])
        if self.role is not Role.OTHER:
            parts.append(f"role: {self.role.value}")
        remark = "" if self.hipaa is None else f"    # HIPAA ({self.hipaa.letter}): {self.hipaa.label}"
        return f"{{{', '.join(parts)}}}{remark}"


OPEN_ENTRIES = {
    ColumnType.INTEGER: ["low: ?", "high: ?"],
    ColumnType.DECIMAL: ["low: ?", "high: ?", "resolution: ?"],
    ColumnType.DATE: ["low: ?", "high: ?"],
    ColumnType.TIMESTAMP: ["low: ?", "high: ?"],
    ColumnType.CATEGORY: ["values: [?]"],
}


@dataclass(frozen=True, kw_only=True)
class TableDraft:
    """One table of a draft; `left_out` are positions of columns that a policy cannot declare.

    `has_roles_by_name_only` is set if no values could be matched against patterns.
    """

    name: str
    source_table: SourceTable
    columns: tuple[ColumnDraft, ...]
    left_out: tuple[int, ...]
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
    usable = _list_usable_columns(found)
    shares = found.match_shares(
        [column for column, kind in usable.items() if _may_hold_anything(column, kind)]
    )
    columns = tuple(
        _draft_column(column, kind, (shares or {}).get(column, {})) for column, kind in usable.items()
    )
    if not columns:
        raise RequestError(
            f"{found.display_name} has no column that a policy can declare.",
            hint="Names are letters, digits, spaces and . - _, and begin with a letter; lists, documents and "
            "bytes are not supported.",
        )
    left_out = tuple(at for at, (column, _) in enumerate(found.columns, 1) if column not in usable)
    return TableDraft(
        name=name,
        source_table=found,
        columns=columns,
        left_out=left_out,
        has_roles_by_name_only=shares is None,
    )


def _list_usable_columns(found: SourceTable) -> dict[str, ColumnType]:
    """Return the columns that a policy can declare; of names that differ only in case, the first."""
    usable: dict[str, ColumnType] = {}
    for column, kind in found.columns:
        taken = column.lower() in map(str.lower, usable)
        if kind is not None and _is_name(column) and not taken:
            usable[column] = kind
    return usable


def _may_hold_anything(name: str, kind: ColumnType) -> bool:
    return kind in (ColumnType.TEXT, ColumnType.CATEGORY) and guess_role(name) in (Role.OTHER, Role.QUASI)


def _draft_column(name: str, kind: ColumnType, shares: Mapping[str, float]) -> ColumnDraft:
    hipaa = identify_by_content(shares) or identify_by_name(name, kind)
    role = hipaa.role if hipaa is not None and identify_by_content(shares) else guess_role(name)
    if role is not Role.IDENTIFIER and (
        kind is ColumnType.TEXT or (kind is ColumnType.INTEGER and is_code(name))
    ):
        kind = ColumnType.CATEGORY
    return ColumnDraft(name=name, kind=kind, role=role, hipaa=hipaa)


def _format_table(table: TableDraft) -> str:
    proposal = _format_person_proposal(table.person)
    person = f"row, if every row is a different person; or the column that identifies it{proposal}"
    width = max(len(quote_scalar(column.name)) for column in table.columns) + 1
    lines = [
        f"  {table.name}:",
        f"    source: {quote_scalar(table.source_table.source)}",
        f"    person: ?             # {person}",
        "    rows_per_person: ?    # the most rows of one person that count; 1 where person is row",
        f"    columns:{_format_caution(table)}",
        *(f"      {f'{quote_scalar(column.name)}:':<{width}} {column.entry}" for column in table.columns),
        *(
            f"      # column {at} is left out: a policy cannot declare its name or type"
            for at in table.left_out
        ),
    ]
    return "\n".join(lines) + "\n"


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

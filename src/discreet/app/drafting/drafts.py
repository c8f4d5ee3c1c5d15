"""A draft of a policy: what tables say of themselves, and a `?` for everything that only a person may say.

Names and types come from the tables' schemas, roles from the names, and from what most values of a text
column look like where its name says nothing. Bounds and values are left open: taken from the data they would
tell of its extremes, and every answer that rests on them would too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from discreet.app.drafting.found import Found
from discreet.app.drafting.identifiers import Identifier, by_content, by_name
from discreet.app.drafting.proposed import hierarchies
from discreet.app.drafting.roles import is_code, is_id, likely_role, names_people
from discreet.app.yaml_text import word
from discreet.core.errors import RequestError
from discreet.core.policy import WORD, ColumnType, Role

HEAD = """\
# A draft of a privacy policy. Replace every ?, check the rest, and delete what nobody needs to ask about.
# Take bounds and values from what is public: a questionnaire, a standard, an expert. Never from the data, as
# they would tell of its rarest people. What lies beyond a bound is moved to it.

# Who gives a claim about a person at most `prior` before may give it at most `posterior` after all answers.
# What that means in words: discreet promise --prior 1% --posterior 5%
promise: {prior: 1%, posterior: 5%, secret: value}    # secret: value, or presence (that one is in the data)

# Roles: identifier (never leaves), quasi (known to others), sensitive, other.
# A category may do without `values`; groups are then chosen privately, and the promise needs a tail above 0.
# Text that is free and not one of a few values: type: text.
# A table may link to others: links: {visit: visits.id}. Where the person is known only to the row that it
# links to: person: {through: visit}. A table about nobody, such as a list of clinics: person: none.
# nulls: false says that every row has the column, so that its count and the count of rows cost as one;
# nulls: true that NULL is one of the groups where it is grouped by.
# scale: log divides a number by its logarithm where it is mined or synthesized: incomes, sizes, durations.
# most_rows: 20000 beside rows_per_person says how many rows a table will have at most. When answers of
# `discreet serve` leave rests on it, and nothing else; where nothing is said a million rows are taken.
"""


@dataclass(frozen=True, kw_only=True)
class ColumnDraft:
    """One column as the draft has it; `hipaa` is what it seems to be of HIPAA's identifiers."""

    name: str
    kind: ColumnType
    role: Role
    hipaa: Identifier | None = None

    @property
    def entry(self) -> str:
        parts = [f"type: {self.kind.value}"]
        if self.role is not Role.IDENTIFIER:
            parts += OPEN.get(self.kind, [])
        if self.role is not Role.OTHER:
            parts.append(f"role: {self.role.value}")
        remark = "" if self.hipaa is None else f"    # HIPAA ({self.hipaa.letter}): {self.hipaa.what}"
        return f"{{{', '.join(parts)}}}{remark}"


OPEN = {
    ColumnType.INTEGER: ["low: ?", "high: ?"],
    ColumnType.DECIMAL: ["low: ?", "high: ?", "resolution: ?"],
    ColumnType.DATE: ["low: ?", "high: ?"],
    ColumnType.TIMESTAMP: ["low: ?", "high: ?"],
    ColumnType.CATEGORY: ["values: [?]"],
}


@dataclass(frozen=True, kw_only=True)
class TableDraft:
    """One table as the draft has it; `left_out` are positions of columns that a policy cannot name.

    Roles are `by_name_alone` where no value could be looked at.
    """

    name: str
    found: Found
    columns: tuple[ColumnDraft, ...]
    left_out: tuple[int, ...]
    by_name_alone: bool = False

    @property
    def person(self) -> str | None:
        """The one column that seems to name the person, if there is one."""
        people = [column.name for column in self.columns if names_people(column.name)]
        keys = people or [column.name for column in self.columns if is_id(column.name)]
        return keys[0] if len(keys) == 1 else None

    @property
    def header_in_doubt(self) -> bool:
        """Whether the names may be a row: among texts alone, a header looks like any other line."""
        return (
            self.found.guessed
            and self.found.header
            and all(kind is ColumnType.TEXT for _, kind in self.found.columns)
        )


def draft(found: Sequence[Found]) -> list[TableDraft]:
    """One table each, under names of their own."""
    tables: list[TableDraft] = []
    for each in found:
        name = _table_name(each.name, {table.name for table in tables})
        tables.append(_table(name, each))
    return tables


def write(tables: Sequence[TableDraft], engine: str = "") -> str:
    """The text of the policy; `engine` is its entry that says where the rows are."""
    blocks = "\n".join(map(_block, tables))
    columns = [(column.name, column.kind, column.role) for table in tables for column in table.columns]
    return f"{HEAD}{engine}\ntables:\n{blocks}{hierarchies(columns)}"


def _table(name: str, found: Found) -> TableDraft:
    usable = _usable(found)
    shares = found.look([column for column, kind in usable.items() if _may_hold_anything(column, kind)])
    columns = tuple(_column(column, kind, (shares or {}).get(column, {})) for column, kind in usable.items())
    if not columns:
        raise RequestError(
            f"{found.called} has no column that a policy can name.",
            hint="Names are letters, digits, blanks and . - _, and begin with a letter; lists, documents and "
            "bytes have no type.",
        )
    left_out = tuple(at for at, (column, _) in enumerate(found.columns, 1) if column not in usable)
    return TableDraft(
        name=name, found=found, columns=columns, left_out=left_out, by_name_alone=shares is None
    )


def _usable(found: Found) -> dict[str, ColumnType]:
    """The columns that a policy has words for; of two names that differ in nothing but case, the first."""
    usable: dict[str, ColumnType] = {}
    for column, kind in found.columns:
        taken = column.lower() in map(str.lower, usable)
        if kind is not None and _is_name(column) and not taken:
            usable[column] = kind
    return usable


def _may_hold_anything(name: str, kind: ColumnType) -> bool:
    return kind in (ColumnType.TEXT, ColumnType.CATEGORY) and likely_role(name) in (Role.OTHER, Role.QUASI)


def _column(name: str, kind: ColumnType, shares: Mapping[str, float]) -> ColumnDraft:
    hipaa = by_content(shares) or by_name(name, kind)
    role = hipaa.role if hipaa is not None and by_content(shares) else likely_role(name)
    if role is not Role.IDENTIFIER and (
        kind is ColumnType.TEXT or (kind is ColumnType.INTEGER and is_code(name))
    ):
        kind = ColumnType.CATEGORY
    return ColumnDraft(name=name, kind=kind, role=role, hipaa=hipaa)


def _block(table: TableDraft) -> str:
    person = (
        f"row, if every row is another person; or the column that names the person{_proposal(table.person)}"
    )
    width = max(len(word(column.name)) for column in table.columns) + 1
    lines = [
        f"  {table.name}:",
        f"    source: {word(table.found.source)}",
        f"    person: ?             # {person}",
        "    rows_per_person: ?    # how many rows of one person count at most; 1 where person is row",
        f"    columns:{_caution(table)}",
        *(f"      {f'{word(column.name)}:':<{width}} {column.entry}" for column in table.columns),
        *(
            f"      # column {at} is left out: a policy has no word for its name or type"
            for at in table.left_out
        ),
    ]
    return "\n".join(lines) + "\n"


def _proposal(person: str | None) -> str:
    return "" if person is None else f", perhaps {person}"


def _caution(table: TableDraft) -> str:
    names = ", names too: is its first line a header?" if table.header_in_doubt else ""
    return f"{' ' * 14}# types are guesses from the text{names}" if table.found.guessed else ""


def _table_name(stem: str, taken: set[str]) -> str:
    plain = re.sub(r"[^A-Za-z0-9_]+", "_", stem).strip("_") or "table"
    plain = plain if not plain[0].isdigit() else f"t_{plain}"
    names = (plain, *(f"{plain}_{number}" for number in range(2, len(taken) + 2)))
    return next(name for name in names if name not in taken)


def _is_name(column: str) -> bool:
    return WORD.fullmatch(column) is not None and not column.startswith("_discreet")

"""Policy tables: the tables of a policy as SQL over an engine's own tables.

Each is a SELECT over the engine's own table, the same that makes a table of DuckDB's prepared store: values
encoded, persons hashed, each person's rows ranked (`clamping`, `row_ranking`, `person_links`). It
replaces the table in every statement, or is written once to the store that the policy names.
"""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.engines import linking, ranking
from discreet.engines.connection import quoted
from discreet.engines.dialects import kinds, marks
from discreet.engines.dialects.checking import Statements
from discreet.engines.dialects.dialect import Dialect
from discreet.engines.dialects.kinds import Family, Kind, Piece
from discreet.engines.dialects.statements import Relation, Written
from discreet.engines.identities import Identity, require_identities
from discreet.engines.publishing import with_one_zero
from discreet.engines.sources import Reading

SOURCE, TABLE = "_discreet_source", "_discreet_table"
KINDS: Mapping[str, Kind] = {
    "BOOLEAN": kinds.BOOLEAN,
    "BIGINT": kinds.INTEGER,
    "DOUBLE": kinds.DOUBLE,
    "DECIMAL(38,9)": kinds.DECIMAL,
    "VARCHAR": kinds.TEXT,
    "DATE": kinds.DATE,
    "TIMESTAMP": kinds.TIMESTAMP,
    "TIMESTAMP WITH TIME ZONE": kinds.ZONED,
}
"""The DuckDB types that an engine's own types are read as; a DECIMAL may have fewer digits."""
LIST, CAST = "[]", re.compile(r" AS [a-z ]+\)", re.I)


@dataclass(frozen=True, kw_only=True)
class Origin:
    """An engine's own table: the SQL to select from, and the type of each declared column as read.

    `identifier_types` holds the engine's own types, and whether these can identify people.
    """

    text: str
    table: str
    types: Mapping[str, str]
    identities: Mapping[str, Identity] = field(default_factory=dict)

    @property
    def relation(self) -> Relation:
        """The table as a relation of a translated statement."""
        columns = {name: _kind(type_name) for name, type_name in self.types.items()}
        return Relation(text=self.text, columns=columns, tables=frozenset({self.table}))


@dataclass(frozen=True, kw_only=True)
class Tables:
    """The policy's tables by name; `definitions` has the SELECT of each name that they refer to."""

    relations: Mapping[str, Relation]
    definitions: Mapping[str, Written]


@dataclass(frozen=True, kw_only=True)
class Columns:
    """The select list for an engine's own table, and each column's type as read and in the engine."""

    text: str
    types: Mapping[str, str]
    identities: Mapping[str, Identity]


def columns(
    name: str,
    source: str,
    forms: Mapping[str, tuple[str, str]],
    declared: Sequence[str] | None,
    dialect: Dialect,
    identities: Mapping[str, Identity],
) -> Columns:
    """Return the declared columns, or all; `forms` has a template and a DuckDB type for each own column.

    A declared name matches a column of the table exactly, or else ignoring case.
    """
    lower = {column.lower(): column for column in forms}
    types, outputs, found = {}, [], {}
    for column in forms if declared is None else declared:
        own = column if column in forms else lower.get(column.lower())
        if own is None:
            raise RequestError(
                f"{dialect.name}: table {name} declares the column {column}; {source} does not have it.",
                hint="Correct its name in the policy, or take it out.",
            )
        form, types[column] = forms[own]
        found[column] = identities[own]
        outputs.append(f"{form.format(marks.named(own, dialect))} AS {marks.named(column, dialect)}")
    return Columns(text=", ".join(outputs), types=types, identities=found)


def listed(form: tuple[str, str], dialect: Dialect) -> tuple[str, str]:
    """Return the read form of a list, from the read form of its items."""
    text, type_name = form
    return CAST.sub(f" AS {dialect.many(_kind(type_name))})", text), f"{type_name}{LIST}"


def plain(origins: Mapping[str, Origin]) -> Tables:
    """Return the engine's own tables unchanged, for rows that may be counted without a policy."""
    return Tables(relations={name: origin.relation for name, origin in origins.items()}, definitions={})


def tables(policy: Policy, origins: Mapping[str, Origin], dialect: Dialect) -> Tables:
    """Return every table of the policy over the engine's own tables; their SQL is verified here."""
    require_identities(
        dialect.name, policy.tables, {name: origin.identities for name, origin in origins.items()}
    )
    known: dict[str, Relation] = {_source(name): origin.relation for name, origin in origins.items()}
    written = Statements(dialect=dialect, relations=known)
    found: dict[str, Relation] = {}
    definitions: dict[str, Written] = {}
    for name in linking.in_order(policy):
        reading = Reading(relation=quoted(_source(name)), types=dict(origins[name].types))
        forms = {name: ranking.rows(name, policy, reading)}
        if policy.in_place and policy.tables[name].knows_people:
            forms |= ranking.in_place(name, policy, reading)
        for form, sql in forms.items():
            called = dialect.called(f"{TABLE} {form}")
            definitions[called] = written(sql)
            found[form] = _called(called, definitions[called], dialect)
        for column in linking.awaited(name, policy):
            owners = written(ranking.owners(name, column, policy, reading))
            known[f"_discreet_owners {name} {column}"] = Relation(
                text=f"({owners.meant})", columns=owners.columns, tables=owners.tables
            )
    return Tables(relations=found, definitions=definitions)


def published(origins: Mapping[str, Origin], dialect: Dialect) -> dict[str, Relation]:
    """Return the engine's own tables for a publisher: unchanged, except that -0.0 becomes 0.0."""
    known = {_source(name): origin.relation for name, origin in origins.items()}
    written = Statements(dialect=dialect, relations=known)
    found = {}
    for name, origin in origins.items():
        columns = ", ".join(with_one_zero(column, kind) for column, kind in origin.types.items())
        statement = written(f"SELECT {columns} FROM {quoted(_source(name))}")
        found[name] = Relation(
            text=f"({statement.meant})", columns=statement.columns, tables=statement.tables
        )
    return found


def summed(origin: Origin, dialect: Dialect, wide: str) -> str:
    """Return the SELECT of the number of rows, and the sum of their hashes in the type `sum_type`."""
    pieces = [Piece(text=dialect.quoted(name), kind=kind) for name, kind in origin.relation.columns.items()]
    text = dialect.types[Family.TEXT]
    hashed = f"CAST(sum(CAST({dialect.scattered(pieces)} AS {wide})) AS {text})"
    return f"SELECT count(*) AS n, {hashed} AS h FROM {marks.plain(origin.text)} AS s"


def in_order(statement: Written) -> str:
    """Order a statement's rows by all their values, so that the order shows nothing of the source's."""
    places = ", ".join(f"{place + 1} NULLS LAST" for place in range(len(statement.columns)))
    return f"SELECT * FROM ({statement.text}) AS o ORDER BY {places}"


def plain_texts(table: pa.Table) -> pa.Table:
    """Replace dictionary columns by plain ones, as engines do not accept dictionaries."""
    for place, column in enumerate(table.schema):
        if pa.types.is_dictionary(column.type):
            table = table.set_column(place, column.name, table.column(place).cast(column.type.value_type))
    return table


def version(policy: Policy, tables: Tables, key: bytes) -> str:
    """Return the version of a prepared store: it changes with the data version and the tables' SQL."""
    state = {
        "data": policy.data_version,
        "tables": {name: each.text for name, each in tables.definitions.items()},
    }
    return hmac.digest(key, json.dumps(state, sort_keys=True).encode(), "sha256").hex()[:16]


def _called(name: str, statement: Written, dialect: Dialect) -> Relation:
    return Relation(text=marks.named(name, dialect), columns=statement.columns, tables=frozenset({name}))


def _kind(type_name: str) -> Kind:
    """Return the SQL type of a DuckDB type name.

    >>> _kind("DECIMAL(9,2)").largest, _kind("BIGINT[]").many
    (10000000.0, True)
    """
    if type_name.endswith(LIST):
        return replace(_kind(type_name.removesuffix(LIST)), many=True)
    narrow = re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", type_name)
    if type_name in KINDS or narrow is None:
        return KINDS[type_name]
    digits, scale = map(int, narrow.groups())
    return kinds.decimal(digits, scale)


def _source(name: str) -> str:
    return f"{SOURCE} {name}"

"""Identifier types: a column may identify people only if values equal to the engine have equal text.

People, and the rows of one person that a link joins, are distinguished by the text of an identifier, in every
engine alike. Where an engine calls two values equal that differ as text (`Bob` and `bob` of a `citext`, 1
month and 30 days of an interval), one person to the engine would be several people to us, each with rows of
their own: one person could then change an answer by many times its sensitivity. So a column of such a type
cannot identify people and is refused, by its declared type alone; each engine lists the types that it knows
to be exact.

Mixed       two types can each be exact and still write an equal value differently: 1.5 as a DOUBLE and 1.50
            as a DECIMAL(9,2), a date and a midnight. So among the columns that hold the same identifiers, all
            that are fractional or times must have one type. Integers are written alike whatever their type.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from discreet.core.errors import RequestError
from discreet.core.table_entry import Table

AMBIGUOUS_TEXT_TYPES = re.compile(
    r"real|float|double.*|(numeric|decimal)(?!\(\d+, ?0\)).*|date|time.*|timestamp.*", re.I
)
ColumnPlace = tuple[str, str]
"""A table and one of its columns."""


@dataclass(frozen=True, kw_only=True)
class IdentifierType:
    """The type of a column, by the engine's name for it; `is_exact` if equal values have equal text."""

    type: str
    is_exact: bool


def require_exact_identifiers(
    engine: str, tables: Mapping[str, Table], types: Mapping[str, Mapping[str, IdentifierType]]
) -> None:
    """Refuse identifier columns whose values can be equal and yet differ as text."""
    for group in _list_identifier_groups(tables):
        known = {place: types[place[0]][place[1]] for place in group}
        for (table, column), identity in known.items():
            if not identity.is_exact:
                raise _make_inexact_type_error(engine, table, column, identity.type)
        mixed = {
            identity.type: place
            for place, identity in known.items()
            if AMBIGUOUS_TEXT_TYPES.fullmatch(identity.type)
        }
        if len(mixed) > 1:
            raise _make_mixed_types_error(engine, mixed)


def _list_identifier_groups(tables: Mapping[str, Table]) -> Iterator[list[ColumnPlace]]:
    """Yield the columns that identify people, then the two columns of each link between people's rows."""
    yield [(name, table.person_column) for name, table in tables.items() if table.person_column is not None]
    for name, table in tables.items():
        for column, link in table.links.items():
            other = tables.get(link.table)
            if table.has_person_key and other is not None and other.has_person_key:
                yield [(name, column), (link.table, link.column)]


def _make_inexact_type_error(engine: str, table: str, column: str, kind: str) -> RequestError:
    return RequestError(
        f"{engine}: column {column} of table {table} identifies people or their rows, but values of its type "
        f"{kind} can be equal and yet differ as text.",
        hint=f"Use a view as the source of {table} that returns {column} as plain text with one spelling for "
        "each value, such as lower(…).",
    )


def _make_mixed_types_error(engine: str, mixed: Mapping[str, ColumnPlace]) -> RequestError:
    (one, (table, column)), (other, (another, there)) = sorted(mixed.items())[:2]
    return RequestError(
        f"{engine}: {table}.{column} and {another}.{there} hold the same identifiers in the types {one} and "
        f"{other}, whose values can be equal and yet differ as text.",
        hint="Give both columns one type, in the tables or in views that the policy names as their sources.",
    )

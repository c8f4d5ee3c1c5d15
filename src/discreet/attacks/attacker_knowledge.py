"""An attacker's knowledge: people as tuples of known values, with names and true sensitive values if given.

Register    a public table, such as a voter list, that shares some columns with the release.
Original    the people of the original table by all their quasi-identifiers: the strongest attacker that the
            table's privacy models consider, whose guesses can be scored by the true sensitive values.
Victim      the rows of a register with the stated values: name=Joe.

An empty cell of a register is unknown and matches any label; in the original table it is a value like others,
because a release shows it as one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from sqlglot import exp

from discreet.anonymity.equivalence_classes import Integers, Tuples
from discreet.anonymity.hierarchies.generalization_hierarchy import Hierarchy
from discreet.anonymity.recoding import select_tuples
from discreet.anonymity.tuple_counts import cast_to_text
from discreet.attacks.engine_tables import Values, count_distinct_tuples, list_columns, require_columns
from discreet.core.engine import Publisher
from discreet.core.errors import DataError, RequestError

if TYPE_CHECKING:
    from discreet.attacks.published_table import PublishedTable

LOOKUP_TABLE = "_discreet_looked_up"

NameLookup = Callable[[Integers], list[str]]


@dataclass(frozen=True, kw_only=True)
class Register:
    """A table of the engine; `name_column` names people, `truth` are sensitive columns used for scoring only.

    Rows are people, unless several rows with the same `person_id` are one person.
    """

    table: str
    name_column: str | None = None
    person_id: str | None = None
    truth: tuple[str, ...] = ()
    victim: Mapping[str, str] | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class AttackerKnowledge:
    """Known people: `tuples.counts[i]` of them have the values `values[j][tuples.codes[i, j]]`.

    `tuples.sensitive` holds their true sensitive values, if known.
    """

    columns: tuple[str, ...]
    values: Values
    tuples: Tuples
    blank_is_unknown: bool = False
    lookup_names: NameLookup | None = None

    @property
    def people(self) -> int:
        return self.tuples.rows

    def name_people(self, places: Integers) -> list[str]:
        """Return a name for one person of each tuple, or a description of what is known."""
        return self.describe(places) if self.lookup_names is None else self.lookup_names(places)

    def describe(self, places: Integers) -> list[str]:
        """Return a description of each tuple by its known values."""
        codes = self.tuples.codes[places].tolist()
        return [
            ", ".join(
                f"{name} {values[code] or 'unknown'}"
                for name, values, code in zip(self.columns, self.values, row, strict=True)
            )
            for row in codes
        ]


def read_register(
    engine: Publisher, register: Register, published: PublishedTable, *extra_columns: str
) -> AttackerKnowledge:
    """Read the people of a register by the columns shared with a release, and some extra columns."""
    there = list_columns(engine, register.table)
    shared = [name for name in published.columns if name in there]
    columns = list(dict.fromkeys([*shared, *extra_columns]))
    if not columns:
        raise RequestError(
            f"attack: {register.table} has no column of the release's quasi-identifiers.",
            hint=f"Name one of its columns {', '.join(published.columns)}; it has {', '.join(there)}.",
        )
    require_columns(engine, register.table, [name for name in (register.name_column,) if name is not None])
    values, tuples = count_distinct_tuples(
        engine, register.table, columns, register.truth, where=register.victim, person=register.person_id
    )
    if not len(tuples):
        raise _empty_register_error(register)
    naming = (
        None if register.name_column is None else _make_name_lookup(engine, register, columns, values, tuples)
    )
    return AttackerKnowledge(
        columns=tuple(columns), values=values, tuples=tuples, blank_is_unknown=True, lookup_names=naming
    )


def build_full_knowledge(tuples: Tuples, hierarchies: Sequence[Hierarchy]) -> AttackerKnowledge:
    """Return full knowledge of the original table; tuples that occur only in the population are left out."""
    return AttackerKnowledge(
        columns=tuple(hierarchy.name for hierarchy in hierarchies),
        values=tuple(hierarchy.values for hierarchy in hierarchies),
        tuples=select_tuples(tuples, np.flatnonzero(tuples.counts > 0)),
    )


def _empty_register_error(register: Register) -> DataError:
    """Return the error for a register without people."""
    if register.victim is None:
        return DataError(f"attack: {register.table} is empty.", hint="Give a register with rows.")
    return unknown_victim_error(register.table, register.victim)


def unknown_victim_error(table: str, values: Mapping[str, str]) -> DataError:
    """Return the error for a victim who is not in the register."""
    asked = " and ".join(f"{name}={value}" for name, value in values.items())
    return DataError(f"attack: nobody in {table} has {asked}.", hint="Check the spelling in the register.")


def _make_name_lookup(
    engine: Publisher, register: Register, columns: Sequence[str], values: Values, tuples: Tuples
) -> NameLookup:
    """Return a function that looks up one name for each of a few tuples, in the engine."""

    def lookup_names(places: Integers) -> list[str]:
        lent = {
            f"q{j}": pa.array([values[j][code] for code in tuples.codes[places, j]], pa.string())
            for j in range(len(columns))
        } | {"place": pa.array(np.arange(len(places)))}
        matches = [
            cast_to_text(name, table="r").eq(exp.column(f"q{j}", table="l")) for j, name in enumerate(columns)
        ]
        wanted = [
            cast_to_text(name, table="r").eq(exp.Literal.string(value))
            for name, value in (register.victim or {}).items()
        ]
        select = (
            exp.select(
                exp.column("place", table="l"),
                exp.Min(this=cast_to_text(register.name_column or "", "r")).as_("name"),
            )
            .from_(exp.alias_(exp.table_(register.table, quoted=True), "r", table=True))
            .join(exp.alias_(exp.to_table(LOOKUP_TABLE), "l", table=True), on=exp.and_(*matches, *wanted))
            .group_by(exp.Literal.number(1))
        )
        found = engine.count(select.sql(dialect="duckdb"), {LOOKUP_TABLE: pa.table(lent)}).secret
        called = dict(zip(found.column(0).to_pylist(), found.column(1).to_pylist(), strict=True))
        return [called[place] for place in range(len(places))]

    return lookup_names

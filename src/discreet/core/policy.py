"""The policy: everything that the custodian declares about the tables before any question is asked.

Bounds, sensitivities and group keys are computed from the policy and never from the data. Where the data
disagrees it is clamped without a report to the analyst: a number beyond its bounds moves to the nearer bound,
an undeclared category becomes missing, rows beyond a person's bound are left out.

The models check each entry and the references between entries: this one the whole, `core.table_entry`,
`core.column_entry` and `core.hierarchy_entry` its parts. `services.policies` reads them from YAML and gives
file, line and remedy for each error, and knows the engines.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated

from pydantic import BeforeValidator, Field, model_validator

from discreet.core.hierarchy_entry import HierarchyEntry, StrictModel
from discreet.core.neighbor_relations import Relation
from discreet.core.number_checks import parse_probability
from discreet.core.table_entry import Link, Table

Probability = Annotated[
    float,
    BeforeValidator(lambda value: parse_probability("it", str(value)), json_schema_input_type=float | str),
]


class PromiseTerms(StrictModel):
    """The terms of the promise, from which a `belief.Promise` is made."""

    prior: Probability = Field(
        description="How sure an attacker may be of a claim about one person beforehand.", examples=["1%"]
    )
    posterior: Probability = Field(
        description="How sure an attacker may be of it after everything that is released.", examples=["5%"]
    )
    secret: Relation = Field(
        default=Relation.VALUE,
        description="What is protected: a person's values, or presence, that the person is in the data.",
        examples=["presence"],
    )
    group: int = Field(
        default=1,
        ge=1,
        description="How many people the claim may be about together, such as a household.",
        examples=[4],
    )
    tail: Probability = Field(
        default=0.0,
        description="The probability with which it may fail; needed where groups are selected privately.",
        examples=["1e-6"],
    )


class TrueValues(StrEnum):
    """Access to the answers without noise, in the console: nobody, or the custodian."""

    NEVER = "never"
    CUSTODIAN = "custodian"


class ContributionBounding(StrEnum):
    """The contribution bounding of a person with too many rows: some of the rows, or all with less weight."""

    ROWS = "rows"
    WEIGHTS = "weights"


class AtMost(StrictModel):
    """The largest shares of a table's rows that may not fit the policy, of each column by itself."""

    unreadable: Probability = Field(
        default=0.01,
        description="Rows that are not read, or values that are not of their type.",
        examples=["2%"],
    )
    undeclared: Probability = Field(
        default=0.01, description="Values that are not among the declared ones.", examples=["1%"]
    )
    clamped: Probability = Field(
        default=0.05, description="Values below or above the bounds.", examples=["10%"]
    )


class Analyst(StrictModel):
    """A person who may ask questions, within a share of the budget."""

    share: Probability = Field(description="The analyst's part of the budget.", examples=["50%"])


class Policy(StrictModel):
    """The whole policy."""

    promise: PromiseTerms | None = Field(
        default=None,
        description="What an attacker may come to believe; every answer is charged to it.",
        examples=[{"prior": "1%", "posterior": "5%"}],
    )
    tables: dict[str, Table] = Field(
        description="The tables, by the names that questions use.",
        examples=[
            {
                "visits": {
                    "source": "visits.csv",
                    "columns": {"age": {"type": "integer", "low": 0, "high": 120}},
                }
            }
        ],
    )
    hierarchies: dict[str, HierarchyEntry] = Field(
        default_factory=dict,
        description="How columns are generalized when a table is published.",
        examples=[{"ages": {"low": 0, "high": 120, "widths": [5, 10, 20]}}],
    )
    analysts: dict[str, Analyst] = Field(
        default_factory=dict,
        description="Who may ask, each within a share; by default one analyst has the whole budget.",
        examples=[{"alice": {"share": "50%"}}],
    )
    ledger: str = Field(
        default="ledger.db",
        description="Where charges are recorded: a file, or the address of a PostgreSQL database.",
        examples=["visits.db"],
    )
    ledger_mark: str | None = Field(
        default=None,
        description="A second place for the ledger's high-water marks, which shows that a ledger was put "
        "back.",
        examples=["/mnt/marks/ledger.mark"],
    )
    store: str | None = Field(
        default=None,
        description="Where prepared tables are kept: a folder, or a schema or path of the engine.",
        examples=["store"],
    )
    data_version: str = Field(
        default="1", description="The version of the data; raise it whenever they change.", examples=["2"]
    )
    epsilon: float | None = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        description="What a question may spend, unless it names its own.",
        examples=[0.1],
    )
    engine: str = Field(
        default="duckdb",
        description="Where the rows are: duckdb, duckdb:///FILE, postgresql://…, spark:local, sc://….",
        examples=["postgresql://clinic@db/clinic"],
    )
    share_answers: bool = Field(
        default=False,
        description="Whether what one analyst measured is free for all: then belief covers all answers of "
        "the ledger, for good, and a free answer reveals that somebody asked.",
        examples=[True],
    )
    true_values: TrueValues = Field(
        default=TrueValues.NEVER,
        description="Who may see answers without noise in the console.",
        examples=["custodian"],
    )
    bounding: ContributionBounding | None = Field(
        default=None,
        description="How people with too many rows are bounded: some of their rows, or all with less weight.",
        examples=["weights"],
    )
    at_most: AtMost = Field(
        default_factory=AtMost,
        description="The shares of values that may not fit before accepting the data takes --despite.",
        examples=[{"unreadable": "1%", "undeclared": "1%", "clamped": "5%"}],
    )

    def __repr__(self) -> str:
        """Return the tables and the promise; addresses of engine and ledger may hold passwords."""
        promised = "no promise"
        if self.promise is not None:
            promised = f"promise {100 * self.promise.prior:g}% → {100 * self.promise.posterior:g}%"
        return f"<Policy of {', '.join(self.tables)}: {promised}>"

    __str__ = __repr__

    @property
    def is_embedded(self) -> bool:
        """Return whether the engine runs in this process, over a store of its own."""
        return self.engine.startswith("duckdb")

    @property
    def is_read_only(self) -> bool:
        """Return whether the engine is read-only, so that each statement encodes and ranks the rows again."""
        return not self.is_embedded and not self.store

    @model_validator(mode="after")
    def _check_consistency(self) -> Policy:
        for name, table in self.tables.items():
            if not re.fullmatch(r"(?!_discreet)[A-Za-z_][A-Za-z0-9_]*", name):
                raise ValueError(f"the table name {name!r} must be letters, digits and underscores")
            for column, link in table.links.items():
                if link.table not in self.tables or link.column not in self.tables[link.table].columns:
                    raise ValueError(
                        f"{name}.{column} links to {link.table}.{link.column}, which is not declared"
                    )
        for name in self.tables:
            self._require_person_path(name)
        # three shares of 0.333333333 and similar decimals may exceed 1 by rounding
        if sum(analyst.share for analyst in self.analysts.values()) > 1 + 1e-9:
            raise ValueError("the analysts' shares add up to more than 100%")
        return self

    def find_person_table(self, name: str) -> str | None:
        """Return the table through which the people of a table are found, or None."""
        table = self.tables[name]
        return None if table.person_link is None else table.links[table.person_link].table

    def list_person_path(self, name: str) -> list[Link]:
        """Return the links through which the people of a table are found, one after the other."""
        path = []
        while (column := self.tables[name].person_link) is not None:
            path.append(self.tables[name].links[column])
            name = path[-1].table
        return path

    def find_person_links(self, name: str) -> dict[str, Link]:
        """Return the links of a table that lead to rows of the same person: both ends identify people."""
        table = self.tables[name]
        if not table.has_person_key:
            return {}
        return {
            column: link for column, link in table.links.items() if self.tables[link.table].has_person_key
        }

    def find_person_keys(self, name: str) -> tuple[str, ...]:
        """Return the columns of a table that such links refer to."""
        links = [link for each in self.tables for link in self.find_person_links(each).values()]
        return tuple(dict.fromkeys(link.column for link in links if link.table == name))

    def _require_person_path(self, name: str) -> None:
        """Raise an error unless following the person links ends at a table that identifies people."""
        seen, owner = {name}, self.find_person_table(name)
        while owner is not None:
            table = self.tables[owner]
            if not table.has_person_key:
                way_out = "its key" if table.person == "row" else "the column that names them"
                raise ValueError(
                    f"{name} finds its people through {owner}, which names none: give it {way_out} as person"
                )
            if owner in seen:
                first = self.find_person_table(name)
                raise ValueError(f"{name} finds its people through {first}, which leads round in a circle")
            seen.add(owner)
            owner = self.find_person_table(owner)

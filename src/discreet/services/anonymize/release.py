"""A release before it is written: its recoding, and the rows that follow from it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from discreet.anonymity.equivalence_classes import EquivalenceClasses
from discreet.anonymity.models import MInvariance
from discreet.anonymity.models.privacy_model import Model
from discreet.anonymity.recoding import Recoding, group_by_recoding
from discreet.anonymity.recodings.microaggregation import replace_centres_with_intervals
from discreet.anonymity.release_statement import (
    ReleaseStatement,
    build_distinct_query,
    build_release_statement,
)
from discreet.anonymity.republication import build_signature_statement
from discreet.anonymity.risk.quasi_identifier_discovery import (
    Identifiability,
    discover_quasi_identifiers,
    make_engine_counter,
)
from discreet.anonymity.search import SearchResult
from discreet.core.column_entry import ColumnType, Role
from discreet.core.engine import Publisher
from discreet.core.errors import DataError, RequestError
from discreet.core.html_summary import build_note, build_summary, build_table
from discreet.core.table_entry import Table
from discreet.engines.duckdb_publisher import stage_output
from discreet.services.anonymize.counted_table import CountedTable, require_writable_engine
from discreet.services.anonymize.exposure import (
    ROWS_COUNTED,
    warn_of_code_lengths,
    warn_of_columns,
    warn_of_counted_rows,
    warn_of_similar_values,
    warn_of_value_models,
)
from discreet.services.anonymize.release_goal import Method
from discreet.services.publishers import parse_release_target

TEXT = (ColumnType.TEXT, ColumnType.CATEGORY)
UNCOVERED = (
    "This release is not differentially private: with other knowledge or another release an attacker may "
    "believe more."
)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Release(CountedTable):
    """A recoded table that meets its models, not yet written; only its rows may be published."""

    recoding: Recoding
    search_result: SearchResult | None
    columns: tuple[str, ...]
    seconds: float

    def __repr__(self) -> str:
        """Return the columns, method and models; anything else would print counts of the table."""
        columns = ", ".join(self.columns)
        return f"<Release of {self.name} ({columns}): {self.goal.method.value}, {self.goal.model_names}>"

    def _repr_html_(self) -> str:
        levels = [
            [name, self.describe_certified_level(place)] for place, name in enumerate(self.source.quasi)
        ]
        beliefs = [[model.name, self.describe_belief(model)] for model in self.goal.models]
        return build_summary(
            build_table(["quasi-identifier", "generalization"], levels, caption=f"Release of {self.name}"),
            build_table(["model", "belief"], beliefs),
            build_note(UNCOVERED),
        )

    @property
    def classes_before(self) -> EquivalenceClasses:
        """The classes of the original table."""
        here = self.tuples.counts > 0
        people = self.tuples.population
        return EquivalenceClasses(
            sizes=self.tuples.counts[here],
            rows=self.tuples.rows,
            population=None if people is None else people[here],
        )

    @property
    def classes(self) -> EquivalenceClasses:
        """The classes of the published table."""
        return group_by_recoding(self.tuples, self.recoding)[0]

    @property
    def suppressed_count(self) -> int:
        """The number of suppressed rows (or people)."""
        return int(self.tuples.counts[~self.recoding.published].sum())

    @property
    def multivalued_columns(self) -> frozenset[str]:
        """The sensitive columns of which people have several values."""
        counts = {name: int(each.counts.sum()) for name, each in self.tuples.sensitive.items()}
        return frozenset(name for name, held in counts.items() if held != self.tuples.rows)

    @property
    def warnings(self) -> list[str]:
        """Warnings that a custodian should consider before publishing."""
        names = {name: each.names for name, each in self.tuples.sensitive.items()}
        return [
            *warn_of_columns(self.table, self.columns),
            *warn_of_value_models(self.goal.models, self.multivalued_columns),
            *warn_of_similar_values(self.goal.models, names),
            *warn_of_code_lengths(self.hierarchies, self.recoding),
            *([warn_of_counted_rows(self.name)] if self.counts_rows_of_people else []),
        ]

    @property
    def counts_rows_of_people(self) -> bool:
        """Return whether rows were counted although the policy says that a person may have several."""
        return self.source.person is None and self.table.person not in ("row", "none")

    def describe_belief(self, model: Model) -> str:
        """Return what a model allows, and that it is not about people where rows were counted."""
        return f"{model.belief} {ROWS_COUNTED}" if self.counts_rows_of_people else model.belief

    @property
    def unit(self) -> str:
        """The unit that is counted: row or person."""
        return "row" if self.source.person is None else "person"

    @property
    def fraction(self) -> float | None:
        """The fraction of its population that the table contains, if known."""
        if self.tuples.population is None:
            return self.goal.sampling
        return min(1.0, self.tuples.rows / max(int(self.tuples.population.sum()), 1))

    @property
    def search_outcome(self) -> str | None:
        """A phrase that states whether the generalization is proven best; None without a search."""
        if self.search_result is None:
            return None
        if self.search_result.proven:
            return "the best of all"
        return f"not proven best: too many generalizations for {self.goal.time_limit:g} seconds"

    @property
    def centred_columns(self) -> tuple[str, ...]:
        """The columns that show a number for their class."""
        if self.goal.method is Method.MICROAGGREGATE:
            return self.source.quasi
        return tuple(name for name in self.source.quasi if name in self.goal.centres)

    @property
    def attacker_recoding(self) -> Recoding:
        """The recoding as read by an attacker who infers which values a centre stands for."""
        return replace_centres_with_intervals(self.recoding, self.hierarchies, self.centred_columns)

    @property
    def chained_model(self) -> MInvariance | None:
        """The model by which the next release has to be chained."""
        found = (model for model in self.goal.models if isinstance(model, MInvariance))
        return next(found, None) if self.source.person is not None else None

    def describe_level(self, place: int) -> str:
        """Describe how far one quasi-identifier is generalized."""
        if self.source.quasi[place] in self.centred_columns:
            return f"{self.goal.centres.get(self.source.quasi[place], 'mean')} of its class"
        if self.recoding.levels is not None:
            return f"{self.recoding.levels[place]} of {self.hierarchies[place].height}"
        return "by class"

    def describe_certified_level(self, place: int) -> str:
        """Describe the level for the certificate, without a height that depends on the data."""
        if self.recoding.levels is None or self.source.quasi[place] in self.centred_columns:
            return self.describe_level(place)
        level = f"level {self.recoding.levels[place]}"
        return (
            f"{level} of {self.hierarchies[place].height}" if self.hierarchies[place].is_declared else level
        )

    def write_rows(self, path: str | Path) -> None:
        """Write only the published rows: as a file, or as a table of a DuckDB file or of the engine."""
        target = parse_release_target(self.policy, path)
        self.sources.require_safe_target(target)
        if target.engine_name:
            with self._open_unchanged() as engine:
                made = self._build_statement(engine)
                require_writable_engine(engine).write_table(made.sql, target.engine_name, made.tables)
            return
        with stage_output(target) as file, self._open_unchanged() as engine:
            made = self._build_statement(engine)
            engine.write(made.sql, file, made.tables)

    def write_signatures(self, path: Path) -> None:
        """Write the signatures that a later release needs, to a file that only its owner can read."""
        assert self.chained_model is not None
        made = build_signature_statement(
            self.source,
            self.tuples,
            list(self.hierarchies),
            self.recoding,
            self.chained_model.column,
            self.goal.earlier,
        )
        # the file names people and their possible values, so it is never readable by others
        before = os.umask(0o077)
        try:
            with self._open_unchanged() as engine:
                engine.write(made.sql, path, made.tables)
        finally:
            os.umask(before)

    def measure_unchanged_columns(self) -> list[Identifiability]:
        """Measure how well each column that is published unchanged distinguishes rows."""
        stand_in = {each.column for each in self.goal.pseudonyms}
        names = [name for name in self.columns if name not in self.source.quasi and name not in stand_in]
        with self._open_unchanged() as engine:
            return discover_quasi_identifiers(names, make_engine_counter(engine, self.source.table), most=1)

    def read_rows(self) -> pa.Table:
        """Return the rows to publish; they were not attacked, and the ledger does not know of them."""
        with self._open_unchanged() as engine:
            made = self._build_statement(engine)
            return engine.count(made.sql, made.tables).secret

    @contextmanager
    def _open_unchanged(self) -> Iterator[Publisher]:
        """Open the source; raise if it has changed since it was judged."""
        with self.sources.open() as engine:
            if engine.data_state != self.state:
                raise DataError(
                    f"anonymize: the source of {self.name} has changed since it was judged.",
                    hint="Run the command again.",
                )
            yield engine

    def _build_statement(self, engine: Publisher) -> ReleaseStatement:
        return build_release_statement(
            self.source,
            self.columns,
            self.tuples,
            self.hierarchies,
            self.recoding,
            typed_columns={name for name in self.columns if self.table.columns[name].type not in TEXT},
            number_types={name: self._find_number_type(name) for name in self.centred_columns},
            pseudonyms={
                each.column: self._build_pseudonym_table(engine, each.column) for each in self.goal.pseudonyms
            },
        )

    def _find_number_type(self, name: str) -> str:
        labels = self.recoding.labels[self.source.quasi.index(name)]
        return "double" if any("." in label for label in labels) else "bigint"

    def _build_pseudonym_table(self, engine: Publisher, column: str) -> pa.Table:
        """Return the values of a column with their pseudonyms."""
        values = engine.count(build_distinct_query(self.source, column)).secret.column("v")
        pseudonyms = next(each for each in self.goal.pseudonyms if each.column == column)
        return pa.table(
            {"v": values, "p": pa.array(pseudonyms.pseudonymize(values.to_pylist()), pa.string())}
        )


def list_published_columns(table: Table, pseudonyms: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return all columns except identifiers, unless these have pseudonyms."""
    hidden = {table.person} | {
        name for name, column in table.columns.items() if column.role is Role.IDENTIFIER
    }
    for name in pseudonyms:
        if name not in hidden:
            raise RequestError(
                f"anonymize: {name} is not an identifier of the table, and only identifiers get pseudonyms."
                if name in table.columns
                else f"anonymize: the table has no column {name} for pseudonyms.",
                hint="Give it role: identifier in the policy.",
            )
    return tuple(name for name in table.columns if name not in hidden or name in pseudonyms)

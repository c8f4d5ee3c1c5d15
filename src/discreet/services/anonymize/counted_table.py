"""A table as its distinct tuples: the input of every method, and all that it sees of the rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from discreet.anonymity.equivalence_classes import SensitiveCounts, Tuples
from discreet.anonymity.hierarchies import (
    MISSING,
    Hierarchy,
)
from discreet.anonymity.models import MInvariance, Model
from discreet.anonymity.release_statement import build_duplicate_query
from discreet.anonymity.republication import EARLIER, add_earlier_signatures
from discreet.anonymity.tuple_counts import (
    ReleaseSource,
    count_combinations,
    count_excluded,
    count_tuples,
)
from discreet.core.column_entry import Role
from discreet.core.engine import DataState, Publisher, SupportsWrites
from discreet.core.errors import DataError, RequestError
from discreet.core.hierarchy_entry import MissingValues
from discreet.core.policy import Policy
from discreet.core.release_target import ReleaseTarget
from discreet.core.table_entry import Table
from discreet.services.anonymize.exposure import require_reviewed_values
from discreet.services.anonymize.release_goal import Method, ReleaseGoal
from discreet.services.publishers import open_publisher
from discreet.services.release_sources import NUMBERS, build_hierarchies, build_release_source

ProgressCallback = Callable[[str], None]


@dataclass(frozen=True, kw_only=True, eq=False)
class Sources:
    """The source of the rows: tables of a policy and frames, opened only while they are read."""

    tables: dict[str, Table]
    frames: dict[str, pa.Table]
    engine: str = "duckdb"
    store: str | None = None

    def open(self) -> Publisher:
        return open_publisher(self.engine, self.tables, self.frames, store=self.store)

    def require_safe_target(self, target: ReleaseTarget) -> None:
        """Raise if the target would overwrite a source, another kind of file, or an engine's table."""
        target.require_output()
        with self.open() as engine:
            if target.engine_name:
                require_writable_engine(engine).require_new_table(target.engine_name)
            if engine.is_source(target.file, target.table):
                raise RequestError(
                    f"{target.name} is the source that is being published.", hint="Write to another file."
                )


@dataclass(frozen=True, kw_only=True, eq=False)
class CountedTable:
    """A table as its distinct tuples, and the goal of its release.

    `missing` counts the units excluded because they lack a value that the policy declares as `suppress`.
    """

    policy: Policy
    name: str
    table: Table
    source: ReleaseSource
    goal: ReleaseGoal
    tuples: Tuples
    hierarchies: tuple[Hierarchy, ...]
    sources: Sources
    state: DataState
    missing: int = 0
    forced_columns: tuple[str, ...] = ()
    """Columns that are published although they may identify people."""

    @property
    def numeric_columns(self) -> frozenset[str]:
        """The quasi-identifiers that are declared as numbers or times."""
        return frozenset(name for name in self.source.quasi if self.table.columns[name].type in NUMBERS)


def require_writable_engine(engine: Publisher) -> SupportsWrites:
    """Return the publisher if its engine can write tables; raise for frames and files."""
    if not isinstance(engine, SupportsWrites):
        raise RequestError(
            "anonymize: the source is a local file or frame, so there is no engine to write a table to.",
            hint="Write to a file that ends in .parquet, .csv or .duckdb.",
        )
    return engine


def count_table(
    policy: Policy,
    name: str,
    frames: dict[str, pa.Table],
    goal: ReleaseGoal,
    *,
    unit: str | None = None,
    population: str | None = None,
    shown: Sequence[str] = (),
    forced: Collection[str] = (),
    report_progress: ProgressCallback = lambda _: None,
) -> CountedTable:
    """Have the engine count the table; raise if a column of `shown` may identify people and is not forced."""
    declared = policy.tables[name]
    subject = build_release_source(name, declared, goal.models, unit=unit, population=population)
    subject = replace(subject, required=_find_required_columns(declared, subject.quasi))
    _require_people(subject, goal)
    others = [each for each in (name, population) if each and each not in frames]
    sources = Sources(
        tables={each: policy.tables[each] for each in others},
        frames=frames,
        engine=policy.engine,
        store=policy.store,
    )
    report_progress("counting distinct combinations")
    with sources.open() as engine:
        state = engine.data_state
        exposed = require_reviewed_values(engine, name, declared, shown, forced)
        _require_unlinked_rows(engine, subject, goal)
        found = count_combinations(engine, subject)
        spanned = goal.method in (Method.MONDRIAN, Method.RELAXED)
        hierarchies = build_hierarchies(found, declared, policy, span_domain=spanned)
        tuples = count_tuples(engine, found, hierarchies)
        if goal.earlier is not None:
            tuples = add_earlier_signatures(engine, found, tuples, list(hierarchies), goal.earlier)
            goal = replace(goal, models=tuple(map(_add_earlier_column, goal.models)))
        dropped = any(column.missing is MissingValues.SUPPRESS for column in declared.columns.values())
        missing = count_excluded(engine, found, tuples) if dropped else 0
    return CountedTable(
        policy=policy,
        name=name,
        table=declared,
        source=subject,
        goal=goal,
        tuples=tuples,
        hierarchies=hierarchies,
        sources=sources,
        state=state,
        missing=missing,
        forced_columns=exposed,
    )


def _find_required_columns(table: Table, quasi: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that no row may lack; hierarchies handle those of quasi-identifiers."""
    return tuple(
        name
        for name, column in table.columns.items()
        if column.missing is MissingValues.SUPPRESS
        and name not in quasi
        and column.role is not Role.IDENTIFIER
    )


def require_values(table: Table, sensitive: Mapping[str, SensitiveCounts], models: Sequence[Model]) -> None:
    """Raise if a model's column has missing values whose meaning the policy does not declare.

    Counted as a value, missing would add to the diversity, and an attacker who rules it out has fewer left.
    """
    for name in dict.fromkeys(model.column for model in models if model.column is not None):
        if table.columns[name].missing is None and MISSING in sensitive[name].names:
            raise DataError(
                f"anonymize: some rows have no value in the sensitive column {name}, and no policy "
                "declares how to treat them.",
                hint="Add missing: category (it counts as a value of its own) or missing: suppress to the "
                "column in a policy.",
            )


def _add_earlier_column(model: Model) -> Model:
    """Return the model with the column of earlier signatures set, if it is m-invariance."""
    return replace(model, earlier=EARLIER) if isinstance(model, MInvariance) else model


def _require_people(source: ReleaseSource, goal: ReleaseGoal) -> None:
    if goal.earlier is None:
        return
    if not any(isinstance(model, MInvariance) for model in goal.models):
        raise RequestError(
            "anonymize: `earlier=` needs m-invariance, which is not among the models.",
            hint='Add `m_invariance="COLUMN:M"`.',
        )
    if source.person is None:
        raise RequestError(
            f"anonymize: {source.table} has no person column to follow people across releases.",
            hint="Declare person: COLUMN in the policy.",
        )


def _require_unlinked_rows(engine: Publisher, source: ReleaseSource, goal: ReleaseGoal) -> None:
    """Raise if pseudonyms would link rows of one person where rows are counted, not people."""
    for each in goal.pseudonyms if source.person is None else ():
        if engine.count(build_duplicate_query(source, each.column)).secret.num_rows:
            raise DataError(
                f"anonymize: several rows share a {each.column}, so its pseudonyms would show that they "
                "belong to one person, and counting rows would not protect people.",
                hint=f"Declare person: {each.column} in the policy to count people, or omit the pseudonyms.",
            )

"""The anonymizer: a policy's table, models and a way to recode; then the release with its certificate.

    values → hierarchies cover them → the engine counts distinct tuples → search or recode → judged again
    → the engine writes

What is published is judged once more by all models, from the labels that it shows, before anything is
written: a recoding that broke its models would be refused, whatever search it came from.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from discreet.anonymity.classes import Classes, Tuples
from discreet.anonymity.compression import Combinations, Subject, combine, compress
from discreet.anonymity.grouping import classes_of_recoding
from discreet.anonymity.hierarchies import Hierarchy, over_column, spec_of
from discreet.anonymity.models import Model, judge_all
from discreet.anonymity.recoding import Recoding
from discreet.anonymity.recodings.local import recode_locally
from discreet.anonymity.recodings.mondrian import Mondrian
from discreet.anonymity.search import Found, Objective, minimal, recoding_of, search
from discreet.anonymity.search.objectives import Loss
from discreet.anonymity.writing import Statement, publishing
from discreet.app.nearest_goal import nearest
from discreet.app.policies import load
from discreet.app.wanted_models import of_posterior
from discreet.core.errors import DataError, RequestError, UnmetError
from discreet.core.policy import Kind, Policy, Role, Table
from discreet.engines.publishing import DuckDBPublisher

NUMBERS = (Kind.INTEGER, Kind.DECIMAL, Kind.DATE, Kind.TIMESTAMP)
TEXT = (Kind.TEXT, Kind.CATEGORY)


class Method(StrEnum):
    """How quasi-identifiers are made coarser."""

    GENERALIZE = "generalize"
    LOCAL = "local"
    MONDRIAN = "mondrian"


@dataclass(frozen=True, kw_only=True)
class Goal:
    """What is asked of a release."""

    models: tuple[Model, ...]
    suppress: Fraction = Fraction(0)
    objective: Objective = field(default_factory=Loss)
    method: Method = Method.GENERALIZE
    weights: Mapping[str, float] = field(default_factory=dict)
    seconds: float | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Sources:
    """Where the rows are: tables of a policy and frames, opened for as long as they are read."""

    tables: dict[str, Table]
    frames: dict[str, pa.Table]

    def open(self) -> DuckDBPublisher:
        return DuckDBPublisher(self.tables, self.frames)


@dataclass(frozen=True, kw_only=True, eq=False)
class Counted:
    """A table as its distinct tuples, and what is asked of its release."""

    name: str
    table: Table
    subject: Subject
    goal: Goal
    tuples: Tuples
    hierarchies: tuple[Hierarchy, ...]
    sources: Sources
    state: list[tuple[str, int, int]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Release(Counted):
    """A recoded table that meets its models, not yet written; everything but its rows is the custodian's."""

    recoding: Recoding
    found: Found | None
    columns: tuple[str, ...]
    seconds: float

    @property
    def before(self) -> Classes:
        """The classes of the table as it was."""
        return Classes(
            sizes=self.tuples.counts[self.tuples.counts > 0],
            rows=self.tuples.rows,
            population=None
            if self.tuples.population is None
            else self.tuples.population[self.tuples.counts > 0],
        )

    @property
    def classes(self) -> Classes:
        """The classes of what is published."""
        return classes_of_recoding(self.tuples, self.recoding)[0]

    @property
    def suppressed(self) -> int:
        """Rows (or people) that are left out."""
        return int(self.tuples.counts[~self.recoding.kept].sum())

    def write(self, path: Path) -> None:
        """The published rows as a Parquet, CSV or DuckDB file."""
        made = self._statement
        with self._unchanged() as engine:
            engine.write(made.sql, path, made.lent)

    def to_arrow(self) -> pa.Table:
        made = self._statement
        with self._unchanged() as engine:
            return engine.count(made.sql, made.lent).secret

    @contextmanager
    def _unchanged(self) -> Iterator[DuckDBPublisher]:
        """The rows that were judged: files that changed since would be published without having been."""
        with self.sources.open() as engine:
            if engine.state != self.state:
                raise DataError(
                    f"anonymize: the source of {self.name} has changed since it was judged.",
                    hint="Start again.",
                )
            yield engine

    def to_pandas(self) -> Any:
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        import polars as pl  # an optional companion

        return pl.from_arrow(self.to_arrow())

    @property
    def _statement(self) -> Statement:
        typed = {name for name in self.columns if self.table.columns[name].type not in TEXT}
        return publishing(
            self.subject, self.columns, self.tuples, self.hierarchies, self.recoding, typed=typed
        )


class Anonymizer:
    """Finds a release of a table that meets the models.

    >>> Anonymizer("privacy.yaml", models=[KAnonymity(k=5)]).fit("hospital").release  # doctest: +SKIP
    """

    def __init__(
        self,
        policy: Policy | str | Path,
        *,
        models: Sequence[Model] = (),
        posterior: float | None = None,
        suppress: Fraction | float | str = 0,
        objective: Objective | None = None,
        method: Method | str = Method.GENERALIZE,
        weights: Mapping[str, float] | None = None,
        seconds: float | None = None,
        unit: str | None = None,
        population: str | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        self.policy = policy if isinstance(policy, Policy) else load(Path(policy))
        self.goal = Goal(
            models=tuple(models),
            suppress=Fraction(str(suppress)),
            objective=objective or Loss(),
            method=Method(method),
            weights=dict(weights or {}),
            seconds=seconds,
        )
        self._unit, self._population, self._posterior = unit, population, posterior
        self._tell = progress or (lambda _: None)
        self.release: Release

    def fit(self, table: object) -> Self:
        """Find the release of a policy's table, or of a frame with the columns of the policy's only table."""
        began = time.perf_counter()
        counted = self._counted(table)
        self._tell("searching")
        recoding, found = self._recoded(counted)
        _require_kept(counted.tuples, recoding, counted.goal)
        self.release = Release(
            **vars(counted),
            recoding=recoding,
            found=found,
            columns=published_columns(counted.table),
            seconds=time.perf_counter() - began,
        )
        return self

    def minimal(self, table: object) -> tuple[Found, tuple[str, ...]]:
        """All minimal generalizations, and the columns that their levels are of."""
        counted = self._counted(table)
        goal = counted.goal
        found = minimal(
            counted.tuples,
            counted.hierarchies,
            goal.models,
            suppress=goal.suppress,
            objective=goal.objective,
            seconds=goal.seconds,
        )
        return found, counted.subject.quasi

    def _counted(self, table: object) -> Counted:
        """The table as its distinct tuples; nothing else of it is looked at."""
        name, frames = self._named(table)
        declared = self.policy.tables[name]
        subject = subject_of(name, declared, self.goal.models, unit=self._unit, population=self._population)
        others = [each for each in (name, self._population) if each and each not in frames]
        sources = Sources(tables={each: self.policy.tables[each] for each in others}, frames=frames)
        self._tell("counting distinct combinations")
        with sources.open() as engine:
            state = engine.state
            found = combine(engine, subject)
            hierarchies = hierarchies_of(found, declared, self.policy)
            tuples = compress(engine, found, hierarchies)
        goal = self.goal
        if self._posterior is not None:
            goal = replace(goal, models=(*goal.models, *of_posterior(self._posterior, tuples.sensitive)))
        return Counted(
            name=name,
            table=declared,
            subject=subject,
            goal=goal,
            tuples=tuples,
            hierarchies=hierarchies,
            sources=sources,
            state=state,
        )

    def _recoded(self, counted: Counted) -> tuple[Recoding, Found | None]:
        goal, tuples, hierarchies = counted.goal, counted.tuples, counted.hierarchies
        if goal.method is Method.LOCAL:
            return recode_locally(tuples, hierarchies, goal.models, weights=goal.weights or None), None
        if goal.method is Method.MONDRIAN:
            ordered = {each.name for each in hierarchies if counted.table.columns[each.name].type in NUMBERS}
            mondrian = Mondrian(ordered=frozenset(ordered), weights=dict(goal.weights))
            return mondrian.recode(tuples, hierarchies, goal.models), None
        found = search(
            tuples,
            hierarchies,
            goal.models,
            suppress=goal.suppress,
            objective=goal.objective,
            weights=[goal.weights.get(each.name, 1.0) for each in hierarchies] if goal.weights else None,
            seconds=goal.seconds,
            progress=lambda done, left: self._tell(f"searching: {done:,} judged, {left:,} left"),
        )
        if found.best is None:
            raise UnmetError(
                "No generalization of the table meets "
                f"{' and '.join(model.name for model in goal.models)} within the suppression limit.",
                hint=nearest(tuples, hierarchies, goal.models, goal.suppress),
            )
        return recoding_of(tuples, hierarchies, found.best.levels, goal.models), found

    def _named(self, table: object) -> tuple[str, dict[str, pa.Table]]:
        if isinstance(table, str):
            if table not in self.policy.tables:
                raise RequestError(
                    f"anonymize: the policy has no table {table}.",
                    hint=f"It has {', '.join(self.policy.tables)}.",
                )
            return table, {}
        if len(self.policy.tables) != 1:
            raise RequestError(
                "anonymize: a frame needs a policy with one table, which says what its columns are.",
                hint="Give such a policy, or the name of a table.",
            )
        return next(iter(self.policy.tables)), {next(iter(self.policy.tables)): _as_arrow(table)}


def subject_of(
    name: str,
    table: Table,
    models: Sequence[Model],
    *,
    unit: str | None = None,
    population: str | None = None,
) -> Subject:
    """What a policy's table is to the engine; refuses columns that are missing or have the wrong role."""
    quasi = tuple(each for each, column in table.columns.items() if column.role is Role.QUASI)
    if not quasi:
        raise RequestError(
            f"anonymize: table {name} has no quasi-identifiers.",
            hint="Give role: quasi to the columns that an attacker may know, in the policy or with --quasi.",
        )
    wanted = dict.fromkeys(model.column for model in models if model.column is not None)
    for column in wanted:
        if column not in table.columns:
            raise RequestError(
                f"anonymize: a model is about the column {column}, which table {name} does not have.",
                hint=f"It has {', '.join(table.columns)}.",
            )
        if column in quasi:
            raise RequestError(
                f"anonymize: {column} is a quasi-identifier, so no model can be about it as sensitive.",
                hint="Give it role: sensitive, or leave the model out.",
            )
    sensitive = [each for each, column in table.columns.items() if column.role is Role.SENSITIVE]
    person = None if table.person in ("row", "none") or unit == "row" else table.person
    if not isinstance(person, str | None):
        raise RequestError(
            f"anonymize: the people of {name} are named by another table.",
            hint="Publish a table that names its people itself, or count rows with --unit row.",
        )
    return Subject(
        table=name,
        quasi=quasi,
        sensitive=tuple(dict.fromkeys([*wanted, *sensitive])),
        person=person,
        population=population,
    )


def hierarchies_of(combinations: Combinations, table: Table, policy: Policy) -> tuple[Hierarchy, ...]:
    """The hierarchy of every quasi-identifier over the values that occur, under the name of its column."""
    made = []
    for name, found in combinations.values().items():
        spec, missing = spec_of(name, table.columns[name], policy), table.columns[name].missing
        made.append(replace(over_column(spec, found, missing=missing, column=name), name=name))
    return tuple(made)


def published_columns(table: Table) -> tuple[str, ...]:
    """All columns but those that name people."""
    hidden = {table.person} | {
        name for name, column in table.columns.items() if column.role is Role.IDENTIFIER
    }
    return tuple(name for name in table.columns if name not in hidden)


def _require_kept(tuples: Tuples, recoding: Recoding, goal: Goal) -> None:
    """Judge what would be published once more, by what it shows."""
    classes, _ = classes_of_recoding(tuples, recoding)
    if not judge_all(classes, goal.models).all():
        raise AssertionError("a recoding broke its models")
    left_out = int(tuples.counts[~recoding.kept].sum())
    if len(classes) == 0 or left_out > goal.suppress * tuples.rows:
        raise UnmetError(
            f"What meets {' and '.join(model.name for model in goal.models)} leaves out {left_out:,} of "
            f"{tuples.rows:,}, more than the suppression limit allows.",
            hint=f"Allow --suppress {ceil(1000 * left_out / tuples.rows) / 10:g}%, or ask for less.",
        )


def _as_arrow(table: object) -> pa.Table:
    if isinstance(table, pa.Table):
        return table
    if hasattr(table, "to_arrow"):
        return table.to_arrow()
    if hasattr(table, "columns") and hasattr(table, "dtypes"):
        return pa.Table.from_pandas(table, preserve_index=False)
    raise RequestError(
        "anonymize: a table is the name of one in the policy, or an Arrow, pandas or polars frame.",
        hint="Give one of them.",
    )

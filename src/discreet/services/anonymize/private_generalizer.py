"""Differentially private generalization of a policy's table.

    columns and levels (from the request alone) → reserve budget → the engine counts combinations
    → generalize, sample, suppress small classes → settle → rows

All published columns are generalized to declared levels, without a search; the labels of a row depend on that
row alone. A row with a value that its hierarchy does not cover, or with a missing value that is not declared
a category, is suppressed, which also depends on that row alone. `anonymity.sampled_generalization` has the
mechanism and its proof.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa

from discreet.accounting.entries import Entry
from discreet.accounting.ledger import Ledger
from discreet.anonymity.equivalence_classes import Integers, number_rows
from discreet.anonymity.hierarchies import HierarchySpec, Mask, build_column_spec
from discreet.anonymity.sampled_generalization import SampledGeneralization, for_guarantee
from discreet.anonymity.tuple_counts import COUNT, ReleaseSource, build_first_row_count_query
from discreet.core.column_entry import Column
from discreet.core.engine_faults import CHARGED_FAULT_MESSAGE, log_fault
from discreet.core.errors import BudgetError, EngineFault, RequestError, replace_verb
from discreet.core.exact_values import Exact
from discreet.core.guarantees import ApproximateDP
from discreet.core.hierarchy_entry import MissingValues
from discreet.core.neighbor_relations import Relation
from discreet.core.number_checks import Real
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.core.release_target import ReleaseTarget
from discreet.core.table_entry import Table
from discreet.engines.duckdb_publisher import DuckDBPublisher, stage_output
from discreet.services import fault_log
from discreet.services.anonymize.counted_table import Sources
from discreet.services.anonymize.exposure import require_reviewed_names
from discreet.services.anonymize.release import list_published_columns
from discreet.services.ledgers import open_ledger
from discreet.services.policies import get_promise, load_policy, resolve_analyst
from discreet.services.policy_engines import require_unchanged_sources, resolve_frame

OUT = -1  # the code of a value whose row is suppressed
LEAST = 1e-3  # the smallest epsilon that a hint proposes
CLASSES = "_discreet_classes"


@dataclass(frozen=True, kw_only=True)
class GeneralizedColumn:
    """A published column at its declared level."""

    name: str
    spec: HierarchySpec
    level: int
    height: int
    keeps_missing: bool

    def generalize(self, values: list[str]) -> list[str | None]:
        """Return the label of each value, independent of the others; None where its row is suppressed."""
        uncovered = set(self.spec.find_uncovered(values))
        covered = [value for value in values if value not in uncovered]
        hierarchy = self.spec.build_hierarchy(covered)
        unknown = ("*" if self.level == self.height else "") if self.keeps_missing else None
        return [
            hierarchy.generalize(value, self.level)
            if value not in uncovered
            else (unknown if value == "" else None)
            for value in values
        ]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PrivateRelease:
    """Classes with their numbers of published rows; the table's `rows` is for the custodian only."""

    name: str
    table: Table
    columns: tuple[GeneralizedColumn, ...]
    mechanism: SampledGeneralization
    classes: pa.Table
    rows: int
    entry: int | None
    sentence: str
    seconds: float

    def __repr__(self) -> str:
        """Return the columns and the cost; `rows` and `classes` are left out."""
        names = ", ".join(each.name for each in self.columns)
        return f"<PrivateRelease of {self.name} ({names}): {self.mechanism.guarantee!r}>"

    @property
    def published_rows(self) -> int:
        """The number of published rows."""
        return int(self.sizes.sum())

    @property
    def sizes(self) -> Integers:
        found: Integers = self.classes.column(COUNT).to_numpy()
        return found

    @property
    def levels(self) -> dict[str, int]:
        return {each.name: each.level for each in self.columns}

    @property
    def unchanged_columns(self) -> tuple[str, ...]:
        """The columns that are not generalized."""
        return tuple(each.name for each in self.columns if each.level == 0)

    def write(self, path: str | Path) -> None:
        """Write the published rows as a Parquet or CSV file, or as a table of a DuckDB file."""
        with stage_output(ReleaseTarget.parse(path)) as file, DuckDBPublisher({}) as engine:
            engine.write(self._sql, file, {CLASSES: self.classes})

    def to_arrow(self) -> pa.Table:
        with DuckDBPublisher({}) as engine:
            return engine.count(self._sql, {CLASSES: self.classes}).secret

    def to_pandas(self) -> Any:
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        import polars as pl  # an optional companion

        return pl.from_arrow(self.to_arrow())

    @property
    def _sql(self) -> str:
        names = ", ".join('"' + each.name.replace('"', '""') + '"' for each in self.columns)
        return (
            f"SELECT {names} FROM (SELECT {names}, unnest(range({COUNT})) FROM {CLASSES}) "
            f"ORDER BY {', '.join(str(place + 1) for place in range(len(self.columns)))}"
        )


class PrivateGeneralizer:
    """Publishes a table at declared levels under (epsilon, delta)-differential privacy."""

    def __init__(
        self,
        policy: Policy | str | Path,
        *,
        epsilon: Real,
        delta: Real,
        levels: Mapping[str, int] | None = None,
        analyst: str | None = None,
        random: Randomness | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        self.policy = policy if isinstance(policy, Policy) else load_policy(Path(policy))
        self.mechanism = for_guarantee(epsilon=epsilon, delta=delta)
        self._levels, self._analyst = dict(levels or {}), analyst
        self._random, self._report_progress = random or Randomness(), progress or (lambda _: None)
        self.release: PrivateRelease

    def fit(self, table: object) -> Self:
        """Reserve the budget, count and sample; the release is then fixed."""
        began = time.perf_counter()
        name, frames = resolve_frame(self.policy, table)
        declared = self.policy.tables[name]
        columns = self._resolve_columns(name, declared)
        subject = ReleaseSource(
            table=name,
            quasi=tuple(each.name for each in columns),
            person=_require_person_column(name, declared),
        )
        tables = {} if frames else {name: declared}
        sources = Sources(tables=tables, frames=frames, engine=self.policy.engine)
        if self.policy.promise is not None:
            require_unchanged_sources(self.policy, frames, only=(name,))
        # a missing source is detected before anything is charged; opening reads no values
        with sources.open() as engine, self._reserve_budget(name, columns) as (ledger, entry):
            self._report_progress("counting")
            found = engine.count(build_first_row_count_query(subject, subject.quasi)).secret
            classes, rows = self._sample_classes(found, columns)
            if ledger is not None and entry is not None:
                ledger.settle(entry, json.dumps(self._collect_parameters(name, columns)).encode())
            sentence = "" if ledger is None else ledger.describe_belief()
        self.release = PrivateRelease(
            name=name,
            table=declared,
            columns=columns,
            mechanism=self.mechanism,
            classes=classes,
            rows=rows,
            entry=None if entry is None else entry.number,
            sentence=sentence,
            seconds=time.perf_counter() - began,
        )
        return self

    def _resolve_columns(self, name: str, table: Table) -> tuple[GeneralizedColumn, ...]:
        names = list_published_columns(table)
        require_reviewed_names(name, table, names)
        unknown = [each for each in self._levels if each not in names]
        if unknown or not names:
            raise RequestError(
                f"anonymize: {unknown[0] if unknown else 'no column'} is published of {name}.",
                hint=f"Levels are for {', '.join(names)}."
                if names
                else "Declare columns that may be published.",
            )
        return tuple(self._resolve_column(each, table.columns[each]) for each in names)

    def _resolve_column(self, name: str, column: Column) -> GeneralizedColumn:
        spec, level = build_column_spec(name, column, self.policy), self._levels.get(name, 0)
        if level and isinstance(spec, Mask) and spec.length is None:
            raise RequestError(
                f"anonymize: the hierarchy of {name} takes the length of codes from the data, which a "
                "private release must not do.",
                hint="Declare their length: {mask: right, length: 5}.",
            )
        height = spec.build_hierarchy(spec.list_example_values()).height
        if not 0 <= level <= height:
            raise RequestError(
                f"anonymize: {name} has the levels 0 to {height}; got {level}.", hint="Name one of them."
            )
        kept = column.missing is MissingValues.CATEGORY
        return GeneralizedColumn(name=name, spec=spec, level=level, height=height, keeps_missing=kept)

    @contextmanager
    def _reserve_budget(
        self, name: str, columns: tuple[GeneralizedColumn, ...]
    ) -> Iterator[tuple[Ledger | None, Entry | None]]:
        """Reserve the charge durably before data is read; a policy without a promise has no ledger."""
        if self.policy.promise is None:
            yield None, None
            return
        if get_promise(self.policy).tail == 0:
            raise RequestError(
                "anonymize: the policy promises a tail of 0, and a sampled table needs a delta above 0.",
                hint="Promise a small tail, such as tail: 1e-6, or use another method.",
            )
        parameters = self._collect_parameters(name, columns)
        key = hashlib.sha256(json.dumps(parameters, sort_keys=True).encode()).hexdigest()
        with fault_log.log_faults(self.policy.ledger), open_ledger(self.policy) as ledger:
            who, text = resolve_analyst(self.policy, self._analyst), f"anonymize {name} by sampling"
            try:
                entry = ledger.reserve(who, f"release:{key}", text, self.mechanism.guarantee)
            except RequestError as refusal:
                hint = self._describe_affordable(ledger, who) if isinstance(refusal, BudgetError) else ""
                raise replace_verb(refusal, "anonymize", hint=hint) from None
            fault: EngineFault
            try:
                yield ledger, entry
                return
            except EngineFault as error:
                fault = EngineFault(CHARGED_FAULT_MESSAGE, incident=error.incident)
            except Exception as error:
                fault = log_fault(error, CHARGED_FAULT_MESSAGE)
            ledger.record_fault(entry, fault.incident)
            raise fault

    def _describe_affordable(self, ledger: Ledger, who: str) -> str:
        """Return a sentence with the parameters that would still fit, in two digits."""
        left = ledger.get_remaining_budget(who)
        room = float(getattr(left, "delta", 0))
        delta = float(f"{min(float(self.mechanism.guarantee.delta), 0.9 * room):.1g}")
        epsilon = float(self.mechanism.epsilon)
        while epsilon > LEAST and delta > 0:
            epsilon = float(f"{epsilon * 0.95:.2g}")
            if ledger.has_room_for(
                who, ApproximateDP(epsilon=epsilon, delta=delta, relation=Relation.PRESENCE)
            ):
                return f"What would still fit: `epsilon={epsilon:g}` `delta={delta:g}`."
        return ""

    def _collect_parameters(self, name: str, columns: tuple[GeneralizedColumn, ...]) -> dict[str, object]:
        made = self.mechanism
        return {
            "table": name,
            "levels": {each.name: each.level for each in columns},
            "epsilon": float(made.epsilon),
            "delta": float(made.guarantee.delta),
            "beta": float(made.beta),
            "k": made.k,
        }

    def _sample_classes(
        self, found: pa.Table, columns: tuple[GeneralizedColumn, ...]
    ) -> tuple[pa.Table, int]:
        """Return the published classes with their sampled rows, and the number of input rows."""
        codes, names = [], []
        for place, each in enumerate(columns):
            encoded = found.column(place).combine_chunks().dictionary_encode()
            labels = each.generalize(encoded.dictionary.to_pylist())
            known = list(dict.fromkeys(label for label in labels if label is not None))
            places = {label: number for number, label in enumerate(known)}
            at = np.array([OUT if label is None else places[label] for label in labels], np.int64)
            codes.append(
                at[encoded.indices.to_numpy(zero_copy_only=False)] if len(at) else np.zeros(0, np.int64)
            )
            names.append(known)
        counts: Integers = found.column(COUNT).to_numpy().astype(np.int64)
        inside = np.logical_and.reduce([code >= 0 for code in codes])
        groups, number = number_rows([code[inside] for code in codes], [max(len(each), 1) for each in names])
        sizes = np.bincount(groups, counts[inside], number).astype(np.int64)
        drawn = self.mechanism.release(Exact(sizes), self._random).value
        firsts = np.zeros(number, np.int64)
        firsts[groups[::-1]] = np.flatnonzero(inside)[::-1]
        kept = np.flatnonzero(drawn > 0)
        table = {
            each.name: pa.array([known[code[at]] or None for at in firsts[kept].tolist()], pa.string())
            for each, known, code in zip(columns, names, codes, strict=True)
        }
        return pa.table({**table, COUNT: pa.array(drawn[kept], pa.int64())}), int(counts.sum())


def _require_person_column(name: str, table: Table) -> str | None:
    """Return the person column; raise if a person may have several rows."""
    if table.person == "row":
        return None
    if table.person_column is None or table.rows_per_person != 1:
        raise RequestError(
            f"anonymize: sampling protects people with one row each, and {name} does not declare that.",
            hint="Publish a table with person: row, or with rows_per_person: 1.",
        )
    return table.person_column

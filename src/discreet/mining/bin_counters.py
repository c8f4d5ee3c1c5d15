"""Bin counters: models learn from grouped counts and from nothing else.

A counter knows the rows and gives `Exact` counts; it is all that mining ever sees of the data. Over arrays it
serves `fit(X, y)`, where a person is a row. Over an engine it serves a table of the policy: every call is one
statement, so rows stay where they are, and a person has at most the declared rows in it.

marginals   how many rows have each combination of bins, for several sets of columns at once
by_node     how many rows of each class every node of a tree has in each cell; a row without a class is not
            counted. A row is in one node, so over all nodes it adds 1 to one entry for each attribute.
in_nodes    how many rows of each class every node has; a row adds 1 to one entry.
residuals   what a model that adds up scores gets wrong, summed in each cell; `additive_model` bounds a row's
            part.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.core.engine import Engine
from discreet.core.errors import RequestError
from discreet.core.exact_values import Exact
from discreet.core.policy import Policy
from discreet.mechanisms.sampling import Integers
from discreet.mining import count_sql
from discreet.mining.additive_model import Scores, compute_residuals
from discreet.mining.attributes import Attribute, Codes
from discreet.mining.count_sql import COUNT, NODE, SET, RowSelection
from discreet.mining.decision_tree import Splits
from discreet.mining.schema import Schema

Progress = Callable[[float], None]
"""A callback that receives the share of work done."""

MAX_SETS = 60
"""The most keys whose GROUPING mask fits in one integer."""


class Counter(Protocol):
    """A source of exact counts over bins."""

    @property
    def schema(self) -> Schema: ...

    @property
    def rows_per_person(self) -> int:
        """The most rows that one person can have among the counted ones."""

    def count_marginals(self, sets: Sequence[tuple[str, ...]]) -> Exact[tuple[Integers, ...]]:
        """Return for each set of columns an array with one axis per column, over its bins."""

    def count_cells_by_node(self, splits: Splits) -> Exact[Integers]:
        """Return counts over (node, cell, class), for the nodes below the last level."""

    def count_by_node(self, splits: Splits) -> Exact[Integers]:
        """Return counts over (node, class), for the nodes below the last level."""

    def sum_residuals(self, scores: Scores) -> Exact[Integers]:
        """Return sums over (cell, output)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ArrayCounter:
    """A counter of rows in memory: their bins, and the target's."""

    schema: Schema
    codes: Codes = field(repr=False)
    targets: Integers = field(repr=False)
    rows_per_person: int = 1

    def count_marginals(self, sets: Sequence[tuple[str, ...]]) -> Exact[tuple[Integers, ...]]:
        attributes = index_attributes(self.schema)
        columns = [*self.codes.T, self.targets]
        places = {name: columns[place] for place, name in enumerate(attributes)}
        found = []
        for names in sets:
            shape = tuple(attributes[name].bins for name in names)
            at = np.zeros(len(self.codes), np.int64)
            for name, size in zip(names, shape, strict=True):
                at = at * size + places[name]
            found.append(np.bincount(at, minlength=math.prod(shape)).reshape(shape))
        return Exact(tuple(found))

    def count_cells_by_node(self, splits: Splits) -> Exact[Integers]:
        schema = self.schema
        kept, at = self._locate_rows(splits)
        counts = np.zeros((splits.nodes, schema.cells, schema.classes), np.int64)
        for j, attribute in enumerate(schema.attributes):
            keys = at * attribute.bins + self.codes[kept, j]
            size = splits.nodes * schema.classes * attribute.bins
            table = np.bincount(keys, minlength=size).reshape(splits.nodes, schema.classes, attribute.bins)
            counts[:, schema.offsets[j] : schema.offsets[j + 1]] = table.transpose(0, 2, 1)
        return Exact(counts)

    def count_by_node(self, splits: Splits) -> Exact[Integers]:
        shape = splits.nodes, self.schema.classes
        counts = np.bincount(self._locate_rows(splits)[1], minlength=math.prod(shape)).reshape(shape)
        return Exact(counts.astype(np.int64))

    def sum_residuals(self, scores: Scores) -> Exact[Integers]:
        kept = self.targets < self.schema.classes
        codes = self.codes[kept]
        apart = compute_residuals(scores.score_rows(codes, self.schema), self.targets[kept])
        sums = np.zeros((self.schema.cells, apart.shape[1]), np.int64)
        for j in range(codes.shape[1]):
            np.add.at(sums, self.schema.offsets[j] + codes[:, j].astype(np.int64), apart)
        return Exact(sums)

    def _locate_rows(self, splits: Splits) -> tuple[NDArray[np.bool_], Integers]:
        """Return the mask of rows with a class, and node and class of each as one number."""
        kept = self.targets < self.schema.classes
        return kept, splits.locate_rows(self.codes[kept]) * self.schema.classes + self.targets[kept]


@dataclass(frozen=True, kw_only=True, eq=False)
class EngineCounter:
    """A counter inside the engine, over a table of the prepared store.

    `max_rows_per_person` rows of each person are counted; None where the store keeps no rank, because a
    person is a row. `leaves_out_missing`: a row is not counted if it lacks a value that the policy says no
    row lacks; else it is in the first bin.
    """

    engine: Engine
    schema: Schema
    table: str
    max_rows_per_person: int | None = None
    leaves_out_missing: bool = False

    @classmethod
    def from_table(cls, engine: Engine, policy: Policy, table: str, schema: Schema) -> EngineCounter:
        """Return a counter over a table of the policy, with each person's rows bounded as declared."""
        declared = policy.tables[table]
        most = declared.rows_per_person if declared.has_person_key else None
        return cls(engine=engine, schema=schema, table=table, max_rows_per_person=most)

    @property
    def rows_per_person(self) -> int:
        return self.max_rows_per_person or 1

    def count_marginals(self, sets: Sequence[tuple[str, ...]]) -> Exact[tuple[Integers, ...]]:
        found: list[Integers] = []
        for batch in _batch_sets(sets):
            found += self._count_batch(batch)
        return Exact(tuple(found))

    def _count_batch(self, sets: Sequence[tuple[str, ...]]) -> list[Integers]:
        attributes = index_attributes(self.schema)
        used = list(dict.fromkeys(name for names in sets for name in names))
        if len(used) > MAX_SETS:
            raise RequestError(
                f"The sets name {len(used)} columns.",
                hint=f"Ask for at most {MAX_SETS} columns at once.",
            )
        rows = RowSelection(
            table=self.table,
            attributes=tuple(attributes[name] for name in used),
            max_rows_per_person=self.max_rows_per_person,
            leaves_out_missing=self.leaves_out_missing,
        )
        places = [tuple(used.index(name) for name in names) for names in sets]
        table = self.engine.count(count_sql.write_set_counts(rows, places)).secret
        return [
            _fill_counts(
                _filter_set(table, each, len(used)), [(place, rows.attributes[place]) for place in each]
            )
            for each in places
        ]

    def count_cells_by_node(self, splits: Splits) -> Exact[Integers]:
        schema, number = self.schema, len(self.schema.attributes)
        counts = np.zeros((splits.nodes, schema.cells, schema.classes), np.int64)
        table = self.engine.count(count_sql.write_node_counts(self._select_rows(), splits, cells=True)).secret
        for j, attribute in enumerate(schema.attributes):
            part = _filter_set(table, (j,), number)
            cells = schema.offsets[j] + _decode_bins(part.column(count_sql.get_column_name(j)), attribute)
            np.add.at(
                counts,
                (_get_integers(part, NODE), cells, self._decode_classes(part)),
                _get_integers(part, COUNT),
            )
        return Exact(counts)

    def count_by_node(self, splits: Splits) -> Exact[Integers]:
        table = self.engine.count(
            count_sql.write_node_counts(self._select_rows(), splits, cells=False)
        ).secret
        counts = np.zeros((splits.nodes, self.schema.classes), np.int64)
        np.add.at(
            counts, (_get_integers(table, NODE), self._decode_classes(table)), _get_integers(table, COUNT)
        )
        return Exact(counts)

    def sum_residuals(self, scores: Scores) -> Exact[Integers]:
        schema, wide = self.schema, len(scores.table)
        table = self.engine.count(count_sql.write_residual_sums(self._select_rows(), schema, scores)).secret
        sums = np.zeros((schema.cells, wide), np.int64)
        for j, attribute in enumerate(schema.attributes):
            part = _filter_set(table, (j,), len(schema.attributes))
            cells = schema.offsets[j] + _decode_bins(part.column(count_sql.get_column_name(j)), attribute)
            for output in range(wide):
                np.add.at(sums, (cells, output), _get_integers(part, count_sql.get_sum_name(output)))
        return Exact(sums)

    def _select_rows(self) -> RowSelection:
        """Return the selection of attributes and target, of the rows that have a target."""
        schema = self.schema
        assert schema.target is not None
        require_countable(schema)
        attributes = (*schema.attributes, schema.target)
        return RowSelection(
            table=self.table,
            attributes=attributes,
            max_rows_per_person=self.max_rows_per_person,
            with_target=True,
        )

    def _decode_classes(self, table: pa.Table) -> Integers:
        assert self.schema.target is not None
        return _decode_bins(
            table.column(count_sql.get_column_name(len(self.schema.attributes))), self.schema.target
        )


def require_countable(schema: Schema) -> None:
    """Refuse a model of more attributes than one statement can count, or without a target."""
    if schema.target is None or len(schema.attributes) > MAX_SETS:
        raise RequestError(
            f"train: a model needs a target and at most {MAX_SETS} attributes; there are "
            f"{len(schema.attributes)}.",
            hint="Name fewer columns as features.",
        )


def _batch_sets(sets: Sequence[tuple[str, ...]]) -> Iterator[list[tuple[str, ...]]]:
    """Divide sets of columns, in order, among statements of at most `MAX_SETS` sets and columns each."""
    batch: list[tuple[str, ...]] = []
    used: set[str] = set()
    for names in sets:
        if batch and (len(batch) == MAX_SETS or len(used.union(names)) > MAX_SETS):
            yield batch
            batch, used = [], set()
        batch.append(names)
        used.update(names)
    if batch:
        yield batch


def index_attributes(schema: Schema) -> dict[str, Attribute]:
    """Return the attributes and then the target by name."""
    every = (*schema.attributes, *([schema.target] if schema.target else []))
    return {each.name: each for each in every}


def _get_integers(table: pa.Table, name: str) -> Integers:
    return np.asarray(table.column(name).to_numpy(), np.int64)


def _filter_set(table: pa.Table, places: tuple[int, ...], column_count: int) -> pa.Table:
    wanted = count_sql.compute_grouping_mask(places, column_count)
    return table.filter(pa.array(table.column(SET).to_numpy() == wanted))


def _fill_counts(part: pa.Table, keys: list[tuple[int, Attribute]]) -> Integers:
    counts = np.zeros([attribute.bins for _, attribute in keys], np.int64)
    at = tuple(
        _decode_bins(part.column(count_sql.get_column_name(place)), attribute) for place, attribute in keys
    )
    np.add.at(counts, at, part.column(COUNT).to_numpy())
    return counts


def _decode_bins(column: pa.ChunkedArray, attribute: Attribute) -> Integers:
    """Return the bins of an engine's column, given by number or as the values of a category.

    NULL is in the bin of what is missing, which may be that of something else as well.
    """
    if not attribute.values:
        return np.asarray(column.fill_null(attribute.missing_bin).to_numpy(), np.int64)
    encoded = column.combine_chunks()
    if not isinstance(encoded, pa.DictionaryArray):
        encoded = encoded.cast(pa.string()).dictionary_encode()
    known = {value: place for place, value in enumerate(attribute.values)}
    places = np.array([known[word] for word in encoded.dictionary.to_pylist()] + [attribute.missing_bin])
    indices = encoded.indices.fill_null(len(encoded.dictionary)).to_numpy(zero_copy_only=False)
    return np.asarray(places[indices.astype(np.int64)], np.int64)

"""Bin counters: models learn from grouped counts and from nothing else.

A counter knows the rows and gives `Exact` counts; it is all that mining ever sees of the data. Over arrays it
serves `fit(X, y)`, where a person is a row. Over an engine it serves a table of the policy: every call is one
statement, so rows stay where they are, and a person has at most the declared rows in it.

marginals   how many rows have each combination of bins, for several sets of columns at once
by_node     how many rows of each class every node of a tree has in each cell; a row without a class is not
            counted. A row is in one node, so over all nodes it adds 1 to one entry for each attribute.
in_nodes    how many rows of each class every node has; a row adds 1 to one entry.
residuals   what a model that adds up scores gets wrong, summed in each cell; `scores` bounds a row's part.
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
from discreet.mining import statements
from discreet.mining.attributes import Attribute, Codes
from discreet.mining.schema import Schema
from discreet.mining.scores import Scores, residuals
from discreet.mining.splits import Splits
from discreet.mining.statements import COUNT, NODE, SET, Rows

Progress = Callable[[float], None]
"""A callback that receives the share of work done."""

SETS = 60
"""The most keys whose GROUPING mask fits in one integer."""


class Counter(Protocol):
    """A source of exact counts over bins."""

    @property
    def schema(self) -> Schema: ...

    @property
    def rows_per_person(self) -> int:
        """The most rows that one person can have among the counted ones."""

    def marginals(self, sets: Sequence[tuple[str, ...]]) -> Exact[tuple[Integers, ...]]:
        """Return for each set of columns an array with one axis per column, over its bins."""

    def by_node(self, splits: Splits) -> Exact[Integers]:
        """Return counts over (node, cell, class), for the nodes below the last level."""

    def in_nodes(self, splits: Splits) -> Exact[Integers]:
        """Return counts over (node, class), for the nodes below the last level."""

    def residuals(self, scores: Scores) -> Exact[Integers]:
        """Return sums over (cell, output)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ArrayCounter:
    """A counter of rows in memory: their bins, and the target's."""

    schema: Schema
    codes: Codes = field(repr=False)
    targets: Integers = field(repr=False)
    rows_per_person: int = 1

    def marginals(self, sets: Sequence[tuple[str, ...]]) -> Exact[tuple[Integers, ...]]:
        attributes = named(self.schema)
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

    def by_node(self, splits: Splits) -> Exact[Integers]:
        schema = self.schema
        kept, at = self._placed(splits)
        counts = np.zeros((splits.nodes, schema.cells, schema.classes), np.int64)
        for j, attribute in enumerate(schema.attributes):
            keys = at * attribute.bins + self.codes[kept, j]
            size = splits.nodes * schema.classes * attribute.bins
            table = np.bincount(keys, minlength=size).reshape(splits.nodes, schema.classes, attribute.bins)
            counts[:, schema.offsets[j] : schema.offsets[j + 1]] = table.transpose(0, 2, 1)
        return Exact(counts)

    def in_nodes(self, splits: Splits) -> Exact[Integers]:
        shape = splits.nodes, self.schema.classes
        counts = np.bincount(self._placed(splits)[1], minlength=math.prod(shape)).reshape(shape)
        return Exact(counts.astype(np.int64))

    def residuals(self, scores: Scores) -> Exact[Integers]:
        kept = self.targets < self.schema.classes
        codes = self.codes[kept]
        apart = residuals(scores.of_rows(codes, self.schema), self.targets[kept])
        sums = np.zeros((self.schema.cells, apart.shape[1]), np.int64)
        for j in range(codes.shape[1]):
            np.add.at(sums, self.schema.offsets[j] + codes[:, j].astype(np.int64), apart)
        return Exact(sums)

    def _placed(self, splits: Splits) -> tuple[NDArray[np.bool_], Integers]:
        """Return the mask of rows with a class, and node and class of each as one number."""
        kept = self.targets < self.schema.classes
        return kept, splits.places(self.codes[kept]) * self.schema.classes + self.targets[kept]


@dataclass(frozen=True, kw_only=True, eq=False)
class EngineCounter:
    """A counter inside the engine, over a table of the prepared store.

    `most` rows of each person are counted; None where the store keeps no rank, because a person is a row.
    """

    engine: Engine
    schema: Schema
    table: str
    most: int | None = None

    @classmethod
    def of_table(cls, engine: Engine, policy: Policy, table: str, schema: Schema) -> EngineCounter:
        """Return a counter over a table of the policy, with each person's rows bounded as declared."""
        declared = policy.tables[table]
        most = declared.rows_per_person if declared.has_person_key else None
        return cls(engine=engine, schema=schema, table=table, most=most)

    @property
    def rows_per_person(self) -> int:
        return self.most or 1

    def marginals(self, sets: Sequence[tuple[str, ...]]) -> Exact[tuple[Integers, ...]]:
        found: list[Integers] = []
        for batch in _batch_sets(sets):
            found += self._marginals(batch)
        return Exact(tuple(found))

    def _marginals(self, sets: Sequence[tuple[str, ...]]) -> list[Integers]:
        attributes = named(self.schema)
        used = list(dict.fromkeys(name for names in sets for name in names))
        if len(used) > SETS:
            raise RequestError(
                f"mine: the sets name {len(used)} columns.", hint=f"Ask for at most {SETS} columns at once."
            )
        rows = Rows(table=self.table, attributes=tuple(attributes[name] for name in used), most=self.most)
        places = [tuple(used.index(name) for name in names) for names in sets]
        table = self.engine.count(statements.count_sets(rows, places)).secret
        return [
            _filled(_of_set(table, each, len(used)), [(place, rows.attributes[place]) for place in each])
            for each in places
        ]

    def by_node(self, splits: Splits) -> Exact[Integers]:
        schema, number = self.schema, len(self.schema.attributes)
        counts = np.zeros((splits.nodes, schema.cells, schema.classes), np.int64)
        table = self.engine.count(statements.count_nodes(self._rows(), splits, cells=True)).secret
        for j, attribute in enumerate(schema.attributes):
            part = _of_set(table, (j,), number)
            cells = schema.offsets[j] + _codes(part.column(statements.key(j)), attribute)
            np.add.at(counts, (_integers(part, NODE), cells, self._classes(part)), _integers(part, COUNT))
        return Exact(counts)

    def in_nodes(self, splits: Splits) -> Exact[Integers]:
        table = self.engine.count(statements.count_nodes(self._rows(), splits, cells=False)).secret
        counts = np.zeros((splits.nodes, self.schema.classes), np.int64)
        np.add.at(counts, (_integers(table, NODE), self._classes(table)), _integers(table, COUNT))
        return Exact(counts)

    def residuals(self, scores: Scores) -> Exact[Integers]:
        schema, wide = self.schema, len(scores.table)
        table = self.engine.count(statements.sum_residuals(self._rows(), schema, scores)).secret
        sums = np.zeros((schema.cells, wide), np.int64)
        for j, attribute in enumerate(schema.attributes):
            part = _of_set(table, (j,), len(schema.attributes))
            cells = schema.offsets[j] + _codes(part.column(statements.key(j)), attribute)
            for output in range(wide):
                np.add.at(sums, (cells, output), _integers(part, statements.sum_of(output)))
        return Exact(sums)

    def _rows(self) -> Rows:
        """Return the selection of attributes and target, of the rows that have a target."""
        schema = self.schema
        assert schema.target is not None
        require_countable(schema)
        attributes = (*schema.attributes, schema.target)
        return Rows(table=self.table, attributes=attributes, most=self.most, with_target=True)

    def _classes(self, table: pa.Table) -> Integers:
        assert self.schema.target is not None
        return _codes(table.column(statements.key(len(self.schema.attributes))), self.schema.target)


def require_countable(schema: Schema) -> None:
    """Refuse a model of more attributes than one statement can count, or without a target."""
    if schema.target is None or len(schema.attributes) > SETS:
        raise RequestError(
            f"mine: a model needs a target and at most {SETS} attributes; there are "
            f"{len(schema.attributes)}.",
            hint="Name fewer columns as features.",
        )


def _batch_sets(sets: Sequence[tuple[str, ...]]) -> Iterator[list[tuple[str, ...]]]:
    """Divide sets of columns, in order, among statements of at most `SETS` sets and columns each."""
    batch: list[tuple[str, ...]] = []
    used: set[str] = set()
    for names in sets:
        if batch and (len(batch) == SETS or len(used.union(names)) > SETS):
            yield batch
            batch, used = [], set()
        batch.append(names)
        used.update(names)
    if batch:
        yield batch


def named(schema: Schema) -> dict[str, Attribute]:
    """Return the attributes and then the target by name."""
    every = (*schema.attributes, *([schema.target] if schema.target else []))
    return {each.name: each for each in every}


def _integers(table: pa.Table, name: str) -> Integers:
    return np.asarray(table.column(name).to_numpy(), np.int64)


def _of_set(table: pa.Table, places: tuple[int, ...], number: int) -> pa.Table:
    wanted = statements.mask(places, number)
    return table.filter(pa.array(table.column(SET).to_numpy() == wanted))


def _filled(part: pa.Table, keys: list[tuple[int, Attribute]]) -> Integers:
    counts = np.zeros([attribute.bins for _, attribute in keys], np.int64)
    at = tuple(_codes(part.column(statements.key(place)), attribute) for place, attribute in keys)
    np.add.at(counts, at, part.column(COUNT).to_numpy())
    return counts


def _codes(column: pa.ChunkedArray, attribute: Attribute) -> Integers:
    """Return the bins of an engine's column, given by number or as the values of a category.

    NULL is in the bin of what is missing, which may be that of something else as well.
    """
    if not attribute.values:
        return np.asarray(column.fill_null(attribute.nowhere).to_numpy(), np.int64)
    encoded = column.combine_chunks()
    if not isinstance(encoded, pa.DictionaryArray):
        encoded = encoded.cast(pa.string()).dictionary_encode()
    known = {value: place for place, value in enumerate(attribute.values)}
    places = np.array([known[word] for word in encoded.dictionary.to_pylist()] + [attribute.nowhere])
    indices = encoded.indices.fill_null(len(encoded.dictionary)).to_numpy(zero_copy_only=False)
    return np.asarray(places[indices.astype(np.int64)], np.int64)

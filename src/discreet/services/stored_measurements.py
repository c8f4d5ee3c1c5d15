"""The stored form of what an entry of the ledger released: keys, noisy integers with their law, picks.

One Arrow stream for each aggregation over people's rows; several of them are the rows of another stream.
Only what a mechanism drew is stored: what is combined or computed of it is computed anew.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.accounting.entries import Entry, build_damaged_ledger_error
from discreet.core.neighbor_relations import Relation
from discreet.mechanisms.combined_noise import CombinedNoise
from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.noise_laws import IntegerNoise
from discreet.mechanisms.sampling import Integers
from discreet.sql.cell_maps import KeyForm
from discreet.sql.interval_estimates import ReleasedPrimitive
from discreet.sql.releases import MeasuredCore

if TYPE_CHECKING:
    from discreet.sql.core_planning import CorePlan
    from discreet.sql.measurement_slices import Pins

STATEMENT_SEPARATOR = ";\n"
"""What is between questions that were planned together, in the text of their entry."""
PARTS = "cores"
"""The column of an entry that stores several cores."""
INT64 = range(-(1 << 63), 1 << 63)
Keys = Mapping[str, pa.ChunkedArray]


@dataclass(frozen=True, kw_only=True)
class ShownCells:
    """Cells of an entry that a question has shown, those whose keys have the pinned values."""

    question: str
    pins: Pins

    def overlaps(self, pins: Pins) -> bool:
        """Return True if some cell may have these values of keys, too."""
        return all(pins.get(key, value) == value for key, value in self.pins.items())


@dataclass(frozen=True, kw_only=True)
class StoredCells:
    """The family and the conditions of a stored measurement, of whose cells others may be made.

    `family` and `conditions` are those of `measurement_identity.CellIdentity`. The cells are those of the
    policy as it is if what they read of it, the columns of `tables`, still has the `version`.
    """

    family: str
    conditions: frozenset[str]
    tables: Mapping[str, tuple[str, ...]]
    version: str

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {
            "family": self.family,
            "conditions": sorted(self.conditions),
            "tables": {table: sorted(columns) for table, columns in self.tables.items()},
            "version": self.version,
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> StoredCells:
        """Return the description in a JSON object."""
        return cls(
            family=str(stored["family"]),
            conditions=frozenset(map(str, stored["conditions"])),
            tables={table: tuple(columns) for table, columns in stored["tables"].items()},
            version=str(stored["version"]),
        )


@dataclass(frozen=True, kw_only=True)
class CellDescription:
    """The keys of a core's cells by identity, and what each of its measurements may make up."""

    keys: Mapping[str, KeyForm] = field(default_factory=dict)
    measurements: Mapping[str, StoredCells] = field(default_factory=dict)

    @property
    def families(self) -> frozenset[str]:
        """The families of its measurements."""
        return frozenset(each.family for each in self.measurements.values())

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {
            "keys": {identity: each.to_json() for identity, each in self.keys.items()},
            "measurements": {identity: each.to_json() for identity, each in self.measurements.items()},
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> CellDescription:
        """Return the description in a JSON object, which earlier versions did not store."""
        return cls(
            keys={key: KeyForm.from_json(each) for key, each in stored.get("keys", {}).items()},
            measurements={
                key: StoredCells.from_json(each) for key, each in stored.get("measurements", {}).items()
            },
        )


@dataclass(frozen=True, kw_only=True)
class StoredMeasurements:
    """The release of one entry: keys, primitives and selected values, by identity.

    `table` is the released table that it was measured for. `bought_pins` are the cells that the question of
    the entry showed, `pins` those that are left here, of `cells` in all. `shown` are the cells that questions
    have shown before. Where these are groups that are made of cells, they may have been chosen among
    `choices` after these were seen; `has_chosen_cells` if they need not be all cells that agree in some keys.
    """

    entry_id: int
    entry: int
    """The number of the entry, as its analyst sees it."""
    question: str
    keys: Keys
    primitives: Mapping[str, ReleasedPrimitive]
    selected_values: Mapping[str, pa.ChunkedArray]
    epsilons: Mapping[str, Fraction]
    """The epsilon at which each value was selected."""
    bought_pins: Pins
    cells: int
    table: str = ""
    pins: Pins = field(default_factory=dict)
    shown: tuple[ShownCells, ...] = ()
    description: CellDescription = field(default_factory=CellDescription, repr=False)
    choices: int = 0
    has_chosen_cells: bool = False

    def shares_cells(self, other: StoredMeasurements) -> bool:
        """Return True if the noise in some cell may be the same."""
        same = self.source == other.source
        return same and all(other.pins.get(key, value) == value for key, value in self.pins.items())

    @property
    def source(self) -> tuple[int, str]:
        """The entry and the released table that it was measured for."""
        return self.entry_id, self.table

    def select_cells(self, pins: Pins) -> Self:
        """Return the cells whose keys have the pinned values."""
        rows = find_cells(self.keys, pins)
        if rows is None:
            return self
        places = pa.array(rows)
        return replace(
            self,
            keys={key: each.take(places) for key, each in self.keys.items()},
            primitives={
                key: replace(each, numbers=each.numbers[rows]) for key, each in self.primitives.items()
            },
            selected_values={key: each.take(places) for key, each in self.selected_values.items()},
            pins=pins,
            choices=self.cells << len(pins),  # as totals over some of its keys, too
        )

    def was_shown(self, question: str) -> bool:
        """Return True if another question has shown some of these cells, and not one planned with it."""
        own, together = {question}, self.question.split(STATEMENT_SEPARATOR)
        if question in together:
            own |= {self.question, *together}
        texts = set(map(hash_question, own))
        first = ShownCells(question=hash_question(self.question), pins=self.bought_pins)
        return any(each.question not in texts and each.overlaps(self.pins) for each in (first, *self.shown))

    def has(self, identity: str) -> bool:
        return identity in self.primitives or identity in self.selected_values


def hash_question(question: str) -> str:
    """Return a short text that is equal for equal questions."""
    return hashlib.sha256(question.encode()).hexdigest()


def find_cells(keys: Keys, pins: Pins) -> Integers | None:
    """Return the rows in which keys have the pinned values; None for all."""
    if not pins:
        return None
    wanted = [pc.equal(keys[key], value).fill_null(False) for key, value in pins.items()]
    return np.flatnonzero(np.all([each.to_numpy() for each in wanted], axis=0))


CoreParts = tuple["CorePlan", Mapping[str, str], MeasuredCore, "Pins", CellDescription]
"""A core, the identities of its measurements by name, their numbers, the cells that its question shows."""


def serialize_cores(parts: Sequence[CoreParts]) -> bytes:
    """Return the bytes that store what was released of some cores."""
    streams = [_serialize_core(*each) for each in parts]
    if len(streams) == 1:
        return streams[0]
    table = pa.table({PARTS: pa.array(streams, pa.binary())})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _numbers_to_array(numbers: Integers) -> pa.Array:
    """Return noisy integers as an array: of texts if wide noise made one of them exceed 64 bits."""
    if numbers.dtype != object:
        return pa.array(numbers)
    values = [int(each) for each in numbers]
    return pa.array(values if all(each in INT64 for each in values) else map(str, values))


def _array_to_numbers(column: pa.ChunkedArray) -> Integers:
    if pa.types.is_string(column.type):
        return np.array([int(each) for each in column.to_pylist()], dtype=object)
    return np.asarray(column.to_numpy(), dtype=np.int64)


def _serialize_core(
    core: CorePlan,
    identities: Mapping[str, str],
    measured: MeasuredCore,
    pins: Pins,
    description: CellDescription,
) -> bytes:
    columns: dict[str, Any] = {
        f"key {identity}": measured.keys[name] for name, identity in core.identity.key_identities.items()
    }
    laws = {}
    for name, released in measured.primitives.items():
        identity = identities[name]
        columns[f"noisy {identity}"] = _numbers_to_array(released.numbers)
        assert not isinstance(released.noise, CombinedNoise)
        laws[identity] = {
            **noise_to_json(released.noise),
            "weight_denominator": released.weight_denominator,
        }
    epsilons = {}
    for name, values in measured.selected_values.items():
        columns[f"value {identities[name]}"] = values
        guarantee = core.value_selections[name].guarantee
        epsilons[identities[name]] = str(Fraction(guarantee.epsilon))
    sink = io.BytesIO()
    noted = {
        "laws": json.dumps(laws),
        "epsilons": json.dumps(epsilons),
        "pins": json.dumps(dict(pins)),
        "cells": json.dumps(description.to_json()),
        "table": core.table,
    }
    table = pa.table(columns).replace_schema_metadata(noted)
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def noise_to_json(noise: IntegerNoise) -> dict[str, str | int]:
    """Return the law of noise as a JSON object."""
    if isinstance(noise, DiscreteLaplace):
        return {
            "mechanism": "DiscreteLaplace",
            "epsilon": str(noise.epsilon),
            "sensitivity": noise.sensitivity,
            "relation": noise.relation.value,
        }
    return {
        "mechanism": "DiscreteGaussian",
        "variance": str(noise.variance),
        "squared_sensitivity": str(noise.squared_sensitivity),
        "places": noise.places,
        "relation": noise.relation.value,
    }


def noise_from_json(stored: Mapping[str, Any]) -> IntegerNoise:
    """Return the law that a JSON object states."""
    relation = Relation(stored["relation"])
    if stored["mechanism"] == "DiscreteLaplace":
        return DiscreteLaplace(
            epsilon=Fraction(stored["epsilon"]), sensitivity=int(stored["sensitivity"]), relation=relation
        )
    if stored["mechanism"] != "DiscreteGaussian":
        raise ValueError(stored["mechanism"])
    return DiscreteGaussian(
        variance=Fraction(stored["variance"]),
        squared_sensitivity=Fraction(stored["squared_sensitivity"]),
        places=int(stored["places"]),
        relation=relation,
    )


def parse_entry(content: bytes, entry: Entry) -> tuple[StoredMeasurements, ...]:
    """Return what an entry stores of each core, or raise an error if it cannot be read."""
    try:
        table = pa.ipc.open_stream(io.BytesIO(content)).read_all()
    except (pa.ArrowException, ValueError, OSError):
        raise build_damaged_ledger_error() from None
    if table.column_names != [PARTS]:
        return (_parse_measurements(table, entry),)
    return tuple(part for each in table[PARTS].to_pylist() for part in parse_entry(each, entry))


def _parse_measurements(table: pa.Table, entry: Entry) -> StoredMeasurements:
    """Return what an entry stores of one core."""
    try:
        laws = json.loads(table.schema.metadata[b"laws"])
        epsilons = json.loads(table.schema.metadata[b"epsilons"])
        pins = json.loads(table.schema.metadata.get(b"pins", b"{}"))
        described = CellDescription.from_json(json.loads(table.schema.metadata.get(b"cells", b"{}")))
        measured = table.schema.metadata.get(b"table", b"").decode()
        columns: dict[str, dict[str, pa.ChunkedArray]] = {"key": {}, "noisy": {}, "value": {}}
        for name in table.column_names:
            kind, identity = name.split(" ")
            columns[kind][identity] = table[name]
        primitives = {
            identity: ReleasedPrimitive(
                numbers=_array_to_numbers(column),
                noise=noise_from_json(laws[identity]),
                weight_denominator=int(laws[identity]["weight_denominator"]),
            )
            for identity, column in columns["noisy"].items()
        }
        selected = {identity: Fraction(epsilon) for identity, epsilon in epsilons.items()}
    except (pa.ArrowException, ValueError, TypeError, KeyError, AttributeError, OSError, ArithmeticError):
        raise build_damaged_ledger_error() from None
    return StoredMeasurements(
        entry_id=entry.id,
        entry=entry.number,
        question=entry.question,
        keys=columns["key"],
        primitives=primitives,
        selected_values=columns["value"],
        epsilons=selected,
        bought_pins=pins,
        cells=table.num_rows,
        description=described,
        table=measured,
    )

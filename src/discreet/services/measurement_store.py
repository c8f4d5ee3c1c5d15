"""The measurement store: what was measured for an analyst is never charged to that analyst again.

Stored      Each ledger entry of a question keeps what it released: for every group the noisy integers, as
            they were released and with their noise, and selected values. Whatever a question makes of them
            is computed anew, and is free.
Identity    A measurement is found by `sql.measurement_identity`, the version of the data, and the entries of
            the policy that it reads: adding a column or an analyst to the policy changes no other identity.
Good enough A stored measurement serves if its noise is no wider than the planned one, and the answer states
            the error of what serves. What is missing is charged, and nothing else.
Slices      A stored measurement by month and disease serves a question about one disease: see
            `sql.measurement_slices`. Which cells a question has shown is noted where it was not all of them:
            an analyst who saw cells may ask about one because of its noise, and error bars say so.
Undeclared  Where partition selection chooses the groups, everything of a question comes from one entry: other
            entries chose other groups.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.accounting.entries import Entry, build_damaged_ledger_error
from discreet.accounting.measurement_index import MeasurementIndex
from discreet.core.neighbor_relations import Relation
from discreet.core.policy import Policy
from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.noise_laws import IntegerNoise
from discreet.mechanisms.sampling import Integers
from discreet.services.bounded_cache import BoundedCache
from discreet.services.policy_version import compute_policy_version
from discreet.services.question_request import Reuse
from discreet.sql.interval_estimates import ReleasedPrimitive
from discreet.sql.measurement_identity import MeasurementIdentity
from discreet.sql.measurement_slices import SLACK, Pins, find_slices
from discreet.sql.releases import MeasuredCore, MeasuredCores

if TYPE_CHECKING:
    from discreet.sql.measurement_slices import FinerCore
    from discreet.sql.planner import CorePlan, QueryPlan

PARTS = "cores"
"""The column of an entry that stores several cores."""
KIND = "measurements"
"""The kind of a stored answer, in the metadata of its entry."""
MAX_CACHED_ENTRIES = 64
INT64 = range(-(1 << 63), 1 << 63)
Keys = Mapping[str, pa.ChunkedArray]


@dataclass(frozen=True, kw_only=True)
class StoredMeasurements:
    """The release of one entry: keys, primitives and selected values, by identity."""

    entry_id: int
    entry: int
    """The number of the entry, as its analyst sees it."""
    question: str
    keys: Keys
    primitives: Mapping[str, ReleasedPrimitive]
    selected_values: Mapping[str, pa.ChunkedArray]
    epsilons: Mapping[str, Fraction]
    """The epsilon at which each value was selected."""
    pins: Pins = field(default_factory=dict)
    """The cells that its question showed: those whose keys have these values."""
    cells: int = 0

    def has(self, identity: str) -> bool:
        return identity in self.primitives or identity in self.selected_values


@dataclass(frozen=True, kw_only=True)
class Shown:
    """Cells of an entry that a question has shown, those whose keys have the pinned values."""

    question: str
    pins: Pins

    def overlaps(self, pins: Pins) -> bool:
        """Return True if some cell may have these values of keys, too."""
        return all(pins.get(key, value) == value for key, value in self.pins.items())


@dataclass(frozen=True, kw_only=True)
class Serving:
    """A stored measurement that serves a plan: the pinned cells of it, or all.

    `shown` are the cells of its entry that questions have shown before.
    """

    part: StoredMeasurements
    identity: str
    pins: Pins = field(default_factory=dict)
    shown: tuple[Shown, ...] = ()

    @property
    def entry(self) -> int:
        return self.part.entry

    @property
    def primitive(self) -> ReleasedPrimitive:
        return self.part.primitives[self.identity]

    def was_shown(self, question: str) -> bool:
        """Return True if another question has shown some of its cells."""
        text = _hash_question(question)
        return any(each.question != text and each.overlaps(self.pins) for each in self.shown)


@dataclass(frozen=True, kw_only=True)
class FoundMeasurements:
    """The stored measurements that serve a plan, by name, and the names of those that are missing."""

    cores: tuple[CorePlan, ...]
    identities: Mapping[str, str] = field(repr=False)
    stored: Mapping[str, Serving]
    missing: tuple[str, ...]
    known_entries: frozenset[int] = frozenset()
    """The ids of all entries that released a missing measurement, with wider noise."""
    finer_cores: Mapping[str, FinerCore] = field(default_factory=dict)
    """The finer cores that are measured for what is missing, by table."""

    @property
    def entries(self) -> tuple[int, ...]:
        """The numbers of the entries that serve."""
        return tuple(sorted({each.entry for each in self.stored.values()}))

    def apply_noise(self, plan: QueryPlan, policy: Policy, question: str) -> QueryPlan:
        """Return the plan with the noise that stored measurements have, so that it states their errors.

        An earlier answer that was another question showed them, and may be why this one is asked.
        """
        cores = tuple(self._apply_core_noise(core, policy, question) for core in plan.cores)
        was_shown = any(each.was_shown(question) for each in self.stored.values())
        return replace(plan, cores=cores, was_shown=was_shown)

    def _apply_core_noise(self, core: CorePlan, policy: Policy, question: str) -> CorePlan:
        noisy, selections = dict(core.noisy_primitives), dict(core.value_selections)
        finer = self.finer_cores.get(core.table)
        if finer is not None:
            noisy = {
                name: replace(each, noise=finer.core.noisy_primitives[name].noise)
                for name, each in noisy.items()
            }
        cells = 0
        for name in core.charged_names:
            if name not in self.stored:
                continue
            stored = self.stored[name]
            if name in noisy:
                noise = stored.primitive.noise
                assert isinstance(noise, IntegerNoise)
                noisy[name] = replace(noisy[name], noise=noise)
            else:
                epsilon = stored.part.epsilons[stored.identity]
                selections[name] = core.replan_selection(name, epsilon, policy)
            if stored.pins and stored.was_shown(question):  # as totals over some of its keys, too
                cells = max(cells, stored.part.cells << len(stored.pins))
        return replace(core, noisy_primitives=noisy, value_selections=selections, shown_cells=cells)

    def get_measured_core(self, core: CorePlan) -> CorePlan:
        """Return the core that is measured for one of the plan: a finer one, or itself."""
        return self.finer_cores[core.table].core if core.table in self.finer_cores else core

    @property
    def sources(self) -> tuple[tuple[str, int], ...]:
        """The entry that serves for each measurement."""
        return tuple((name, each.entry) for name, each in self.stored.items())

    def combine(self, measured: MeasuredCores) -> dict[str, MeasuredCore]:
        """Return everything that the plan needs: for each core, over the groups in the order of its keys."""
        return {core.table: self._combine_core(core, measured.get(core.table)) for core in self.cores}

    def _combine_core(self, core: CorePlan, measured: MeasuredCore | None) -> MeasuredCore:
        if measured is not None and core.table in self.finer_cores:
            measured = _select_cells(core, self.finer_cores[core.table], measured)
        stored = {name: each for name, each in self.stored.items() if name in core.charged_names}
        keys = {} if measured is None else measured.keys
        primitives = {} if measured is None else dict(measured.primitives)
        selected = {} if measured is None else dict(measured.selected_values)
        for name, each in stored.items():
            own, rows = _read_keys(core, each)
            keys = keys or _order_keys(core, own)
            places = _find_places(own, keys)
            chosen = rows if places is None else places if rows is None else rows[places]
            if each.identity in each.part.primitives:
                primitives[name] = _take_numbers(each.primitive, chosen)
            else:
                values = each.part.selected_values[each.identity]
                selected[name] = values if chosen is None else values.take(pa.array(chosen))
        return MeasuredCore(keys=keys, primitives=primitives, selected_values=selected)


def _read_keys(core: CorePlan, serving: Serving) -> tuple[dict[str, pa.ChunkedArray], Integers | None]:
    """Return the keys of the cells that serve a core, and the rows of these cells; None for all."""
    rows = _find_cells(serving.part.keys, serving.pins)
    found = {name: serving.part.keys[identity] for name, identity in core.identity.key_identities.items()}
    return (found if rows is None else {name: each.take(rows) for name, each in found.items()}), rows


def _find_cells(keys: Keys, pins: Pins) -> Integers | None:
    """Return the rows in which keys have the pinned values; None for all."""
    if not pins:
        return None
    is_wanted = np.all(
        [np.asarray(pc.equal(keys[key], value).fill_null(False)) for key, value in pins.items()], axis=0
    )
    return np.flatnonzero(is_wanted)


def _select_cells(core: CorePlan, finer: FinerCore, measured: MeasuredCore) -> MeasuredCore:
    """Return the cells of a finer core that a core asks for."""
    identities = finer.core.identity.key_identities
    rows = _find_cells({identity: measured.keys[name] for name, identity in identities.items()}, finer.pins)
    assert rows is not None
    names = {identity: name for name, identity in identities.items()}
    return MeasuredCore(
        keys={
            name: measured.keys[names[identity]].take(rows)
            for name, identity in core.identity.key_identities.items()
        },
        primitives={name: _take_numbers(each, rows) for name, each in measured.primitives.items()},
        selected_values={},
    )


def _order_keys(core: CorePlan, own: Mapping[str, pa.ChunkedArray]) -> dict[str, pa.ChunkedArray]:
    """Return the keys in the order of the plan, whatever the order was when they were measured."""
    ranks = {
        name: pc.index_in(values, pa.array(core.key_orders[name], values.type))
        if name in core.key_orders
        else values
        for name, values in own.items()
    }
    if not ranks:
        return dict(own)
    places = pc.sort_indices(pa.table(ranks), [(name, "ascending") for name in ranks])
    return {name: values.take(places) for name, values in own.items()}


@dataclass(frozen=True, kw_only=True)
class MeasurementStore:
    """The stored measurements of one analyst under one policy and version of the data."""

    index: MeasurementIndex
    policy: Policy
    _entries: BoundedCache[int, tuple[StoredMeasurements, ...]] = field(
        default_factory=lambda: BoundedCache(MAX_CACHED_ENTRIES), repr=False
    )
    _versions: dict[str, str] = field(default_factory=dict, repr=False)

    def find(self, plan: QueryPlan, reuse: Reuse = Reuse.PRECISE) -> FoundMeasurements:
        """Return what is stored for a plan, and what is missing."""
        identities = {
            name: self._complete(each) for core in plan.cores for name, each in core.identities.items()
        }
        entries = self._find_entries(identities.values())
        stored: dict[str, Serving] = {}
        for core in plan.cores if reuse is not Reuse.NOTHING else ():
            own = {name: identities[name] for name in core.charged_names}
            if core.partition_selection is not None:
                stored |= self._find_one_entry(core, own, entries, reuse)
                continue
            for name, identity in own.items():
                best = self._find_best(core, name, identity, entries.get(identity, []), reuse)
                if best is not None:
                    stored[name] = best
            stored |= self._find_slices(core, [name for name in own if name not in stored], reuse)
        missing = tuple(name for name in identities if name not in stored)
        finer_cores = {
            core.table: plan.finer_cores[core.table]
            for core in plan.cores
            if core.table in plan.finer_cores and {*core.charged_names} <= {*missing}
        }
        finer = {
            name: self._complete(each)
            for measured in finer_cores.values()
            for name, each in measured.core.identities.items()
        }
        entries |= self._find_entries(finer.values())
        identities |= finer
        known = {entry for name in missing for entry in entries.get(identities[name], [])}
        return FoundMeasurements(
            cores=plan.cores,
            identities=identities,
            stored=stored,
            missing=missing,
            known_entries=frozenset(known),
            finer_cores=finer_cores,
        )

    def note_shown(self, found: FoundMeasurements, question: str) -> None:
        """Note which cells a question shows of entries of which not everything was shown at first."""
        text = _hash_question(question)
        for each in found.stored.values():
            if each.part.pins and Shown(question=text, pins=each.pins) not in each.shown:
                noted = json.dumps({"question": text, "pins": dict(each.pins)}, sort_keys=True)
                self.index.note_shown(each.part.entry_id, noted)

    def _find_entries(self, identities: Iterable[str]) -> dict[str, list[int]]:
        """Return the ids of the entries that released these measurements, oldest first."""
        wanted, found = set(identities), dict[str, list[int]]()
        for identity, entry in self.index.find(wanted) if wanted else []:
            found.setdefault(identity, []).append(entry)
        return found

    def _find_slices(self, core: CorePlan, names: Sequence[str], reuse: Reuse) -> dict[str, Serving]:
        """Return finer measurements of which some cells are what is missing."""
        slices = {
            name: [
                (self._complete(each.identity), each.pins) for each in find_slices(core, name, self.policy)
            ]
            for name in names
            if name in core.noisy_primitives
        }
        entries = self._find_entries(identity for each in slices.values() for identity, _ in each)
        found: dict[str, Serving] = {}
        for name, candidates in slices.items():
            for identity, pins in candidates:
                best = self._find_best(core, name, identity, entries.get(identity, []), reuse, pins)
                if best is not None:
                    found[name] = best
                    break
        return found

    def reserve(self, plan: QueryPlan, found: FoundMeasurements, text: str) -> Entry | None:
        """Charge what is missing; None if some of it has been released meanwhile, and is to be found."""
        # two cores of one statement may be the same in other words
        missing = sorted({found.identities[name] for name in found.missing})
        _, guarantee = plan.compute_charge(found.missing)
        key = hashlib.sha256(repr((KIND, missing, guarantee)).encode()).hexdigest()
        return self.index.reserve(key, text, guarantee, identities=missing, known=found.known_entries)

    def serialize(self, found: FoundMeasurements, measured: MeasuredCores) -> bytes:
        """Return what was measured as the bytes that its entry stores."""
        parts = [
            _serialize_core(
                found.get_measured_core(core),
                found.identities,
                measured[core.table],
                found.finer_cores[core.table].pins if core.table in found.finer_cores else {},
            )
            for core in found.cores
            if core.table in measured
        ]
        if len(parts) == 1:
            return parts[0]
        table = pa.table({PARTS: pa.array(parts, pa.binary())})
        sink = io.BytesIO()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return sink.getvalue()

    def _complete(self, identity: MeasurementIdentity) -> str:
        """Return an identity with the version of the data, and of what it reads of the policy."""
        return hashlib.sha256(
            f"{identity.text}:{self._compute_version(identity.tables)}:{self.policy.data_version}".encode()
        ).hexdigest()

    def _compute_version(self, tables: Mapping[str, Collection[str]]) -> str:
        key = repr(sorted((table, sorted(columns)) for table, columns in tables.items()))
        if key not in self._versions:
            self._versions[key] = compute_policy_version(select_read_entries(self.policy, tables))
        return self._versions[key]

    def _find_best(
        self,
        core: CorePlan,
        name: str,
        identity: str,
        entries: Sequence[int],
        reuse: Reuse,
        pins: Pins | None = None,
    ) -> Serving | None:
        """Return the stored measurement with the least noise; None if that is wider than allowed."""

        def rank(each: StoredMeasurements) -> float:
            if identity in each.primitives:
                return _get_variance(each.primitives[identity].noise)
            return 1 / float(each.epsilons[identity])

        if name in core.value_selections:
            planned = 1 / float(core.value_selections[name].guarantee.epsilon)
        else:
            planned = _get_variance(core.noisy_primitives[name].noise)
        found = [each for entry in entries for each in self._load(entry) if each.has(identity)]
        best = min(found, key=rank, default=None)
        if best is None or (reuse is not Reuse.ANY and rank(best) > planned * SLACK):
            return None
        return Serving(part=best, identity=identity, pins=pins or {}, shown=self._list_shown(best))

    def _list_shown(self, part: StoredMeasurements) -> tuple[Shown, ...]:
        """Return which cells of an entry questions have shown; the first one showed its pinned cells."""
        first = Shown(question=_hash_question(part.question), pins=part.pins)
        noted = [json.loads(each) for each in self.index.list_shown(part.entry_id)] if part.pins else []
        return (first, *(Shown(question=each["question"], pins=each["pins"]) for each in noted))

    def _find_one_entry(
        self,
        core: CorePlan,
        identities: Mapping[str, str],
        entries: Mapping[str, Sequence[int]],
        reuse: Reuse,
    ) -> dict[str, Serving]:
        """Return one entry for all measurements, or nothing."""
        lists = [set(entries.get(identity, ())) for identity in identities.values()]
        for entry in sorted(set.intersection(*lists)) if lists else []:
            serves = {
                name: self._find_best(core, name, identity, [entry], reuse)
                for name, identity in identities.items()
            }
            if all(each is not None for each in serves.values()):
                return {name: each for name, each in serves.items() if each is not None}
        return {}

    def _load(self, entry: int) -> tuple[StoredMeasurements, ...]:
        """Return what an entry released, of each core."""

        def read() -> tuple[StoredMeasurements, ...]:
            stored = self.index.get_answer(entry)
            return _parse_entry(stored.answer, stored.entry)

        return self._entries.get_or_compute(entry, read)


def select_read_entries(policy: Policy, tables: Mapping[str, Collection[str]]) -> Policy:
    """Return the part of a policy that a measurement reads: some columns of some tables.

    The columns that name people and link tables are a part of every table.
    """
    read = {}
    for name, columns in tables.items():
        table = policy.tables[name]
        kept = {*columns, *table.links, *([table.person_column] if table.person_column else [])}
        own = {column: entry for column, entry in table.columns.items() if column in kept}
        read[name] = table.model_copy(update={"columns": own})
    return policy.model_copy(update={"tables": read, "hierarchies": {}})


def _hash_question(question: str) -> str:
    return hashlib.sha256(question.encode()).hexdigest()


def _get_variance(noise: object) -> float:
    assert isinstance(noise, IntegerNoise)
    return float(noise.variance)


# -- Groups in one order ------------------------------------------------------------------------------------


def _find_places(keys: Keys, wanted: Keys) -> Integers | None:
    """Return the rows of `keys` in the order of `wanted`; None if they are in that order already."""
    if all(keys[name].equals(wanted[name]) for name in wanted):
        return None
    rows = zip(*(keys[name].to_pylist() for name in wanted), strict=True)
    places = {key: place for place, key in enumerate(rows)}
    try:
        found = [places[key] for key in zip(*(each.to_pylist() for each in wanted.values()), strict=True)]
    except KeyError:
        raise build_damaged_ledger_error() from None
    return np.array(found, dtype=np.int64)


def _take_numbers(released: ReleasedPrimitive, places: Integers | None) -> ReleasedPrimitive:
    if places is None:
        return released
    return ReleasedPrimitive(
        numbers=released.numbers[places],
        noise=released.noise,
        weight_denominator=released.weight_denominator,
    )


# -- Stored form --------------------------------------------------------------------------------------------


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
    core: CorePlan, identities: Mapping[str, str], measured: MeasuredCore, pins: Pins
) -> bytes:
    columns: dict[str, Any] = {
        f"key {identity}": measured.keys[name] for name, identity in core.identity.key_identities.items()
    }
    laws = {}
    for name, released in measured.primitives.items():
        identity = identities[name]
        columns[f"noisy {identity}"] = _numbers_to_array(released.numbers)
        assert isinstance(released.noise, IntegerNoise)
        laws[identity] = {
            **_noise_to_json(released.noise),
            "weight_denominator": released.weight_denominator,
        }
    epsilons = {}
    for name, values in measured.selected_values.items():
        columns[f"value {identities[name]}"] = values
        guarantee = core.value_selections[name].guarantee
        epsilons[identities[name]] = str(Fraction(guarantee.epsilon))
    sink = io.BytesIO()
    noted = {"laws": json.dumps(laws), "epsilons": json.dumps(epsilons), "pins": json.dumps(dict(pins))}
    table = pa.table(columns).replace_schema_metadata(noted)
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _noise_to_json(noise: IntegerNoise) -> dict[str, str | int]:
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


def _noise_from_json(stored: Mapping[str, Any]) -> IntegerNoise:
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


def _parse_entry(content: bytes, entry: Entry) -> tuple[StoredMeasurements, ...]:
    """Return what an entry stores of each core, or raise an error if it cannot be read."""
    try:
        table = pa.ipc.open_stream(io.BytesIO(content)).read_all()
    except (pa.ArrowException, ValueError, OSError):
        raise build_damaged_ledger_error() from None
    if table.column_names != [PARTS]:
        return (_parse_measurements(table, entry),)
    return tuple(part for each in table[PARTS].to_pylist() for part in _parse_entry(each, entry))


def _parse_measurements(table: pa.Table, entry: Entry) -> StoredMeasurements:
    """Return what an entry stores of one core."""
    try:
        laws = json.loads(table.schema.metadata[b"laws"])
        epsilons = json.loads(table.schema.metadata[b"epsilons"])
        pins = json.loads(table.schema.metadata.get(b"pins", b"{}"))
        columns: dict[str, dict[str, pa.ChunkedArray]] = {"key": {}, "noisy": {}, "value": {}}
        for name in table.column_names:
            kind, identity = name.split(" ")
            columns[kind][identity] = table[name]
        primitives = {
            identity: ReleasedPrimitive(
                numbers=_array_to_numbers(column),
                noise=_noise_from_json(laws[identity]),
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
        pins=pins,
        cells=table.num_rows,
    )
